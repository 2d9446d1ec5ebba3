"""`dln bench`: the paper's experiment, resumed where it stopped, and its tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dln.cli.options import EngineChoice
from dln.cli.talk import say, show
from dln.errors import OptionError


def bench(
    results: Annotated[
        Path, typer.Option("--results", metavar="FOLDER", help="Where results are and go.")
    ] = Path("bench"),
    datasets: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="By commas; all of the paper's unless given."),
    ] = None,
    models: Annotated[
        str | None, typer.Option(metavar="NAMES", help="By commas; the paper's unless given.")
    ] = None,
    seeds: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Splits to run, by commas.")
    ] = "0,1,2,3",
    engine: EngineChoice = "native",
    jobs: Annotated[int, typer.Option(min=1, help="Cells to run side by side.")] = 1,
    budget_minutes: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="MINUTES", help="When to begin no further cell."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke test in seconds, on embedded tables.")
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
    folder that the variable DLN_DATA names; --quick needs none. Tables and plots go to the folder
    tables among the results.

    Example: dln bench --results bench --datasets Heart,Liver --models dt,paper,dln
    """
    from dln.bench.ablation_runner import run_ablations
    from dln.bench.choose import choose_cells
    from dln.bench.experiment import DEFAULT_MODELS, QUICK, make_budget, write_everything
    from dln.bench.runner import Plan
    from dln.bench.runner import run as run_cells
    from dln.datasets.dataset import HONEST, NAMES

    names = _names(datasets) or (QUICK.datasets if quick else (*NAMES, HONEST))
    chosen = _names(models) or (QUICK.models if quick else DEFAULT_MODELS)
    cells = choose_cells(names, chosen, QUICK.seeds if quick else _numbers(seeds))
    budget = replace(make_budget(quick=quick, jobs=jobs), engine=engine)
    seconds = None if budget_minutes is None else 60 * budget_minutes
    failed = 0
    if run and ablations:
        left = run_ablations(
            names, results, say, threads=budget.threads, engine=engine, seconds=seconds
        )
        say(f"{left} left")
    elif run:
        summary = run_cells(Plan(cells, results, budget, jobs, seconds), say)
        failed = summary.n_failed
        say(f"{summary.n_done} run, {failed} failed, {summary.n_left} left")
    for path in write_everything(results):
        show(str(path))
    if failed:
        raise typer.Exit(1)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in _names(text))
    except ValueError:
        raise OptionError(f"seeds are {text!r}, expected numbers by commas, such as 0,1") from None
