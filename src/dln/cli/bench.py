"""`dln bench`: run or resume the paper's experiment and write its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dln.cli.options import EngineChoice, Quiet
from dln.cli.talk import message_writer, show
from dln.errors import OptionError


def bench(
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FOLDER",
            help="Folder of results. Default: bench, or bench-quick with --quick.",
        ),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Comma-separated names. Default: all tables of the paper."
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Comma-separated names. Default: the paper's models."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Comma-separated seeds. Default: 0,1,2,3, or 0 with --quick.",
        ),
    ] = None,
    engine: EngineChoice = "native",
    jobs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of cells to run in parallel.")
    ] = 1,
    budget_minutes: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="MINUTES", help="Time limit after which no further cell starts."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smoke test that takes seconds, on tables of scikit-learn."),
    ] = False,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run missing cells, or only write the tables.")
    ] = True,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Run the ablations instead of the models.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's experiment and write its tables.

    Each cell (dataset, model, seed) has its own result file, so a stopped run can be resumed. The
    environment variable DLN_DATA names the folder of the paper's tables; --quick needs none. All
    results in a folder have the same budget, so --quick uses another folder. Tables and plots are
    written to the subfolder tables.

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
    write_message = message_writer(quiet)
    if run and ablations:
        left = run_ablations(
            names, folder, write_message, threads=budget.threads, engine=engine, seconds=seconds
        )
        write_message(f"{left} left")
    elif run:
        summary = run_cells(Plan(cells, folder, budget, jobs, seconds), write_message)
        failed = summary.n_failed
        write_message(f"{summary.n_done} run, {failed} failed, {summary.n_left} left")
    for path in write_everything(folder, budget):
        show(str(path))
    if failed:
        raise typer.Exit(1)


def _refuse(beside: str, given: Mapping[str, bool]) -> None:
    """Raise an error for options that would have no effect."""
    idle = [name for name, is_given in given.items() if is_given]
    if idle:
        raise OptionError(f"{', '.join(idle)} cannot be combined with {beside}; leave one out")


def _split(option: str, text: str) -> tuple[str, ...]:
    """Split a comma-separated list; drop repeated items."""
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise OptionError(f"{option} are {text!r}, expected a comma-separated list")
    return parts


def _numbers(option: str, text: str) -> tuple[int, ...]:
    parts = _split(option, text)
    try:
        return tuple(dict.fromkeys(map(int, parts)))
    except ValueError:
        raise OptionError(
            f"{option} are {text!r}, expected comma-separated numbers such as 0,1"
        ) from None
