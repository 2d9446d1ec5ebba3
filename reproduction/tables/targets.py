"""The targets of the experiment, and whether they are met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.datasets import NAMES
from reproduction.models.registry import BASELINES
from reproduction.published import Measure, figures
from reproduction.run.results import Result
from reproduction.tables.formats import ABSENT
from reproduction.tables.means import (
    average_ranks,
    complete,
    geometric_mean,
    make_grid,
    published_figures,
    whole_figures,
)
from reproduction.tables.sheet import Section, Sheet

_PAPER_MEAN = float(np.mean([figures("accuracy")[name]["DLN"] for name in NAMES]))


@dataclass(frozen=True)
class Found:
    """A figure and the number of datasets behind it."""

    value: float | None
    n_datasets: int


@dataclass(frozen=True)
class Target:
    """A figure that a column should reach; `reached` is evaluated for complete results only."""

    column: str
    wanted: str
    find: Callable[[Sequence[Result], str], Found]
    reached: Callable[[float], bool]

    def row(self, results: Sequence[Result]) -> tuple[str, ...]:
        """Return the figure found, and whether it meets the target."""
        found = self.find(results, self.column)
        shown = ABSENT if found.value is None else f"{found.value:.2f}"
        if found.value is None or found.n_datasets < len(NAMES):
            verdict = f"open: {found.n_datasets} of {len(NAMES)} tables are whole"
        else:
            verdict = "met" if self.reached(found.value) else "missed"
        return (self.column, self.wanted, shown, verdict)


def _figures(results: Sequence[Result], measure: Measure) -> dict[str, dict[str, float]]:
    return whole_figures(make_grid(results, measure))


def _mean(results: Sequence[Result], column: str) -> Found:
    table = _figures(results, "accuracy")
    names = complete(table, [column])
    mean = float(np.mean([table[name][column] for name in names])) if names else None
    return Found(mean, len(names))


def _rank(results: Sequence[Result], column: str) -> Found:
    """Rank among eight models run here."""
    table, eight = _figures(results, "accuracy"), (*BASELINES, column)
    names = complete(table, eight)
    return Found(average_ranks(table, eight, names, "accuracy").get(column), len(names))


def _place(results: Sequence[Result], column: str) -> Found:
    """Return the position among eight models by average rank."""
    table, eight = _figures(results, "accuracy"), (*BASELINES, column)
    names = complete(table, eight)
    ranks = average_ranks(table, eight, names, "accuracy")
    place = 1.0 + sum(rank < ranks[column] for rank in ranks.values()) if ranks else None
    return Found(place, len(names))


def _size(results: Sequence[Result], column: str) -> Found:
    """Return the mean ratio of gate-level operations to the paper's DLN."""
    table, paper = _figures(results, "gate_operations"), published_figures("gate_operations")
    names = complete(table, [column])
    ratios = [table[name][column] / paper[name][column] for name in names]
    return Found(geometric_mean(ratios) if ratios else None, len(names))


TARGETS = (
    Target(
        "paper",
        f"mean accuracy within a point of {_PAPER_MEAN:.1f}",
        _mean,
        lambda mean: abs(mean - _PAPER_MEAN) <= 1.0,
    ),
    Target("paper", "average rank among eight at most 2.3", _rank, lambda rank: rank <= 2.3),
    Target("dln", "mean accuracy 81.5 or above", _mean, lambda mean: mean >= 81.5),
    Target("dln", "first of eight by average rank", _place, lambda place: place == 1.0),
    Target(
        "dln-small",
        f"mean accuracy {_PAPER_MEAN:.1f} or above",
        _mean,
        lambda mean: mean >= _PAPER_MEAN,
    ),
    Target(
        "dln-small",
        "gate-level operations at most the paper's (geometric mean of ratios)",
        _size,
        lambda ratio: ratio <= 1.0,
    ),
)


def target_sheet(results: Sequence[Result]) -> Sheet:
    """Make the table of targets."""
    rows = tuple(target.row(results) for target in TARGETS)
    return Sheet((), (Section("Targets", ("column", "target", "found", "verdict"), rows),))
