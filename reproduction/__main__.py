"""The command line: run or resume the experiment, and write its tables.

    python -m reproduction run --datasets Heart,Liver --models dt,paper,dln
    python -m reproduction ablations --datasets Heart,Liver
    python -m reproduction tables
    python -m reproduction describe
    python -m reproduction refit
    python -m reproduction keep
    python -m reproduction download Heart tables

`describe` counts what the tables of results need beside them: the rows and columns of the datasets,
and the inputs of the stored LGNs. It also does what `refit` does: fit stored cells of DLN (paper)
again, to see how far they converge and to draw three of them.
Results of a run that was killed are in the folder `running`. They are used like the others; `keep`
moves them into their files. The environment variable DLN_DATA names the folder of the paper's
tables; `download` fills one with those that are public, and `run --quick` needs none.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from dln import DlnError, DlnWarning, OptionError
from reproduction.ablations.runner import run_ablations
from reproduction.datasets import NAMES, download
from reproduction.experiment import (
    FULL,
    QUICK,
    RESULTS,
    describe_everything,
    keep_everything,
    make_budget,
    refit_everything,
    write_everything,
)
from reproduction.models.outcome import EngineName
from reproduction.run.cells import choose_cells
from reproduction.run.runner import Plan, run

QUICK_RESULTS = Path("build/quick-results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options = _parser().parse_args(arguments)
    # Poor models are part of a search; a warning for each would hide the progress.
    warnings.simplefilter("ignore", DlnWarning)
    try:
        status: int = options.command(options)
    except (DlnError, OSError) as error:
        print(f"reproduction: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command continues", file=sys.stderr)
        return 130
    return status


def _run(options: argparse.Namespace) -> int:
    usual = QUICK if options.quick else FULL
    cells = choose_cells(
        usual.datasets if options.datasets is None else _split("datasets", options.datasets),
        usual.models if options.models is None else _split("models", options.models),
        usual.seeds if options.seeds is None else _numbers("seeds", options.seeds),
    )
    budget = replace(make_budget(quick=options.quick, jobs=options.jobs), engine=options.engine)
    seconds = None if options.minutes is None else 60 * options.minutes
    summary = run(Plan(cells, _folder(options), budget, options.jobs, seconds), _say)
    _say(f"{summary.n_done} run, {summary.n_failed} failed, {summary.n_left} left")
    return _keep(options) or _tables(options) or int(summary.n_failed > 0)


def _ablations(options: argparse.Namespace) -> int:
    left = run_ablations(
        NAMES if options.datasets is None else _split("datasets", options.datasets),
        _folder(options),
        _say,
        jobs=options.jobs,
        engine=options.engine,
        seconds=None if options.minutes is None else 60 * options.minutes,
    )
    _say(f"{left} left")
    return _keep(options) or _tables(options)


def _keep(options: argparse.Namespace) -> int:
    folder = _folder(options)
    if moved := keep_everything(folder):
        _say(f"{moved} new results are now in {folder}")
    return 0


def _tables(options: argparse.Namespace) -> int:
    folder, budget = _folder(options), make_budget(quick=options.quick, jobs=1)
    for path in write_everything(folder, budget, folder / "tables"):
        print(path)
    return 0


def _describe(options: argparse.Namespace) -> int:
    for path in describe_everything(_folder(options)):
        print(path)
    return 0


def _refit(options: argparse.Namespace) -> int:
    for path in refit_everything(_folder(options)):
        print(path)
    return _tables(options)


def _download(options: argparse.Namespace) -> int:
    print(download(options.name, options.folder))
    return 0


def _folder(options: argparse.Namespace) -> Path:
    folder: Path | None = options.results
    return folder or (QUICK_RESULTS if options.quick else RESULTS)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="run the cells that have no result; write the tables")
    runs.set_defaults(command=_run)
    runs.add_argument("--models", metavar="NAMES", help="default: the paper's models")
    runs.add_argument("--seeds", metavar="NUMBERS", help="default: 0,1,2,3, or 0 with --quick")
    ablations = commands.add_parser("ablations", help="run the ablations; write the tables")
    ablations.set_defaults(command=_ablations, quick=False)
    for each in (runs, ablations):
        each.add_argument("--jobs", type=_positive, default=1, metavar="N", help="runs at a time")
        each.add_argument("--datasets", metavar="NAMES", help="default: the paper's tables")
        each.add_argument("--engine", choices=get_args(EngineName), default="native")
        each.add_argument("--minutes", type=float, help="time after which nothing more starts")
    tables = commands.add_parser("tables", help="write the tables and plots of stored results")
    tables.set_defaults(command=_tables)
    counts = commands.add_parser("describe", help="count what tables show besides results")
    counts.set_defaults(command=_describe, quick=False)
    refits = commands.add_parser("refit", help="fit stored cells again: convergence and diagrams")
    refits.set_defaults(command=_refit, quick=False)
    keeps = commands.add_parser("keep", help="move the results of stopped runs into their files")
    keeps.set_defaults(command=_keep)
    for each in (runs, tables, keeps):
        each.add_argument("--quick", action="store_true", help="a smoke test that takes seconds")
    for each in (runs, ablations, tables, counts, refits, keeps):
        each.add_argument("--results", type=Path, metavar="FOLDER", help="folder of results")
    fetch = commands.add_parser("download", help="download a public table into a folder")
    fetch.set_defaults(command=_download)
    fetch.add_argument("name")
    fetch.add_argument("folder", type=Path)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


if __name__ == "__main__":
    sys.exit(main())
