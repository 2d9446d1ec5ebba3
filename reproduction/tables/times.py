"""Seconds of the DLN columns, and hours that the authors' program would need."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reproduction.datasets import NAMES
from reproduction.models.registry import MODELS
from reproduction.protocol import HELD_BACK, MAX_EPOCHS, SEEDS, TRIALS, batch_size, make_folds
from reproduction.published import published
from reproduction.run.results import Result
from reproduction.tables.formats import ABSENT
from reproduction.tables.sheet import Section, Sheet

_TIMED = ("paper", "program", "dln")
_ON_GPU = "on a GPU"
SECONDS_A_STEP = (0.0063, 0.0154)
"""Milliseconds per step of the authors' program on one core: 112 and 585 gates, batch of 64."""


def n_steps(n_rows: int, n_classes: int) -> int:
    """Return the number of training steps of a search and a final fit without early stopping.

    >>> n_steps(219, 2)
    258000
    """
    batch = batch_size(n_classes)
    # Assumes classes of equal size; real sizes change a fold by a row or two.
    folds = make_folds(np.arange(n_rows) % n_classes, seed=0)
    of_folds = sum(max(1, len(train) // batch) for train, _ in folds)
    final = max(1, int(n_rows * (1 - HELD_BACK)) // batch)
    return MAX_EPOCHS * (TRIALS * of_folds + final)


def time_sheet(results: Sequence[Result]) -> Sheet:
    """Make the table: seconds per seed, and hours of the authors' program."""
    rows = [_row(name, results) for name in NAMES]
    total = ("all, four seeds", *_total(results), f"{_steps_of_all():.3g}", _hours(_steps_of_all()))
    header = (
        "dataset",
        *(f"{MODELS[column].heading}, seconds" for column in _TIMED),
        "steps at most",
        "authors' program, hours",
    )
    low, high = (1000 * seconds for seconds in SECONDS_A_STEP)
    note = (
        "Seconds for search, fit and simplification, the mean over seeds. dln-small uses the "
        "search of dln. In brackets: processor seconds, which are more reliable on a shared "
        f"machine. Runs {_ON_GPU} shared it with a dozen others. Steps are those of the paper's "
        f"protocol if no trial stops early. Hours assume {low:.1f} to {high:.1f} ms a step, the "
        "program's speed on one core with 112 and 585 gates."
    )
    return Sheet((note,), (Section("Time of the DLN columns", header, (*rows, total)),))


def _row(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    shape = published()["tables"][name]
    steps = n_steps(shape["train"], shape["classes"])
    cells = (_seconds(results, name, column) for column in _TIMED)
    return (name, *cells, f"{steps:.3g}", _hours(steps))


def _seconds(results: Sequence[Result], name: str, model: str) -> str:
    own = [result for result in results if (result.dataset, result.model) == (name, model)]
    return _by_engine(own, _mean_seconds)


def _mean_seconds(results: Sequence[Result]) -> str:
    cpu = [result.parts["cpu"] for result in results if "cpu" in result.parts]
    shown = f"{np.mean([result.seconds for result in results]):.0f}"
    return shown + (f" ({np.mean(cpu):.0f})" if cpu else "")


def _total(results: Sequence[Result]) -> list[str]:
    """Return the total seconds of the cells, and their number."""
    return [
        _by_engine([x for x in results if x.model == column and x.dataset in NAMES], _sum_seconds)
        for column in _TIMED
    ]


def _sum_seconds(results: Sequence[Result]) -> str:
    cpu = [result.parts["cpu"] for result in results if "cpu" in result.parts]
    shown = f"{sum(result.seconds for result in results):.0f}"
    shown += f" ({sum(cpu):.0f})" if len(cpu) == len(results) else ""
    whole = len(results) == len(SEEDS) * len(NAMES)
    return shown if whole else f"{shown}, {len(results)} cells"


def _by_engine(results: Sequence[Result], show: Callable[[Sequence[Result]], str]) -> str:
    """Show seconds on a GPU separately: they must not be added to seconds on a CPU."""
    here = [result for result in results if result.engine != "cuda"]
    there = [result for result in results if result.engine == "cuda"]
    parts = [show(here)] if here else []
    parts += [f"{_ON_GPU} {show(there)}"] if there else []
    return "; ".join(parts) or ABSENT


def _steps_of_all() -> int:
    shapes = [published()["tables"][name] for name in NAMES]
    return len(SEEDS) * sum(n_steps(shape["train"], shape["classes"]) for shape in shapes)


def _hours(steps: int) -> str:
    low, high = (steps * seconds / 3600 for seconds in SECONDS_A_STEP)
    return f"{low:.2g} to {high:.2g}" if high < 10 else f"{low:.0f} to {high:.0f}"
