"""`dln bench`: the paper's experiment, resumed where it stopped, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dln.cli.options import EngineChoice
from dln.cli.talk import say, show
from dln.errors import OptionError


def bench(
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Where results are and go; bench unless given, bench-quick with --quick.",
        ),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="By commas; all of the paper's unless given."),
    ] = None,
    models: Annotated[
        str | None, typer.Option(metavar="NAMES", help="By commas; the paper's unless given.")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Splits to run, by commas; 0,1,2,3 unless given, 0 with --quick.",
        ),
    ] = None,
    engine: EngineChoice = "native",
    jobs: Annotated[int, typer.Option(min=1, help="Cells to run side by side.")] = 1,
    budget_minutes: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="MINUTES", help="When to begin no further cell."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smoke test in seconds, on embedded tables unless given."),
    ] = False,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run what is missing, or only write the tables.")
    ] = True,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Run the ablations instead of the models.")
    ] = False,
) -> None:
    """Run the paper's experiment, one file for each (dataset, model, seed), and write its tables.

    A run that was stopped goes on where it stopped. The tables of the paper are read from the
    folder that the variable DLN_DATA names; --quick needs none. A folder of results is of one
    budget: those of --quick do not mix with others. Tables and plots go to the folder tables in it.

    Example: dln bench --results bench --datasets Heart,Liver --models dt,paper,dln
    """
    from dln.bench.ablation_runner import run_ablations
    from dln.bench.choose import choose_cells
    from dln.bench.experiment import FULL, QUICK, make_budget, write_everything
    from dln.bench.runner import Plan
    from dln.bench.runner import run as run_cells

    of_models = {"--models": models is not None, "--seeds": seeds is not None, "--jobs": jobs > 1}
    if ablations:
        _refuse("--ablations", {**of_models, "--quick": quick})
    if not run:
        others = {
            "--datasets": datasets is not None,
            "--engine": engine != "native",
            "--budget-minutes": budget_minutes is not None,
            "--ablations": ablations,
        }
        _refuse("--no-run", {**of_models, **others})
    usual = QUICK if quick else FULL
    names = usual.datasets if datasets is None else _split("datasets", datasets)
    chosen = usual.models if models is None else _split("models", models)
    splits = usual.seeds if seeds is None else _numbers("seeds", seeds)
    folder = Path("bench-quick" if quick else "bench") if results is None else results
    cells = choose_cells(names, chosen, splits)
    budget = replace(make_budget(quick=quick, jobs=jobs), engine=engine)
    seconds = None if budget_minutes is None else 60 * budget_minutes
    failed = 0
    if run and ablations:
        left = run_ablations(
            names, folder, say, threads=budget.threads, engine=engine, seconds=seconds
        )
        say(f"{left} left")
    elif run:
        summary = run_cells(Plan(cells, folder, budget, jobs, seconds), say)
        failed = summary.n_failed
        say(f"{summary.n_done} run, {failed} failed, {summary.n_left} left")
    for path in write_everything(folder, budget):
        show(str(path))
    if failed:
        raise typer.Exit(1)


def _refuse(beside: str, given: Mapping[str, bool]) -> None:
    """Refuse options that would do nothing."""
    idle = [name for name, is_given in given.items() if is_given]
    if idle:
        raise OptionError(f"{', '.join(idle)} would do nothing beside {beside}; leave out one")


def _split(option: str, text: str) -> tuple[str, ...]:
    """Read what stands between commas, each once."""
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise OptionError(f"{option} are {text!r}, expected one or more, by commas")
    return parts


def _numbers(option: str, text: str) -> tuple[int, ...]:
    parts = _split(option, text)
    try:
        return tuple(dict.fromkeys(map(int, parts)))
    except ValueError:
        raise OptionError(
            f"{option} are {text!r}, expected numbers by commas, such as 0,1"
        ) from None
