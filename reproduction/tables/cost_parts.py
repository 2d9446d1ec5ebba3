"""Where the gate-level operations of a DLN come from: bounds that follow from its totals.

The paper prints totals only. With T feature tests, L gates, V votes and K classes it counts
T + L + K operations, a value and an index for each test, at least two indices for each gate, and an
index for each vote. So there are at most parameters - 2 (operations - K) votes, of 14 gates each. A
comparison costs 183 gates, every other test or gate at most 3. The rest must be comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reproduction.datasets import NAMES
from reproduction.published import Measure, published
from reproduction.run.results import Result
from reproduction.tables.formats import ABSENT, change, short
from reproduction.tables.means import Figures, make_grid, published_figures, whole_figures
from reproduction.tables.sheet import Section, Sheet

_COMPARISON, _VOTE, _MOST_OF_OTHERS = 183, 14, 3
_MEASURES: tuple[Measure, ...] = ("operations", "gate_operations", "parameters")
_COLUMN = "paper"
_NOTE = (
    "Gate-level operations of DLN (paper), here and as published, and what they consist of. A "
    "comparison of a threshold costs 183, a vote 14, any other test or gate at most 3. The bounds "
    "follow from operations, gate-level operations and parameters (reproduction/tables/"
    "cost_parts.py); published figures are rounded, so their bounds may be off by one."
)


@dataclass(frozen=True)
class Parts:
    """Bounds on the number of comparisons and on the number of votes."""

    least_comparisons: float
    most_comparisons: float
    most_votes: float


def bound_parts(
    operations: float, gate_operations: float, parameters: float, n_classes: int, *, numeric: bool
) -> Parts:
    """Bound the parts of a cost; `numeric` says whether the table has continuous columns.

    Two tests, one of them a comparison, a gate and a vote:

    >>> parts = bound_parts(5, 201, 8, 2, numeric=True)
    >>> round(parts.least_comparisons, 1), round(parts.most_comparisons, 1), parts.most_votes
    (0.9, 1.1, 2)
    """
    others = operations - n_classes
    most_votes = parameters - 2 * others
    rest = gate_operations - _VOTE * most_votes - _MOST_OF_OTHERS * others
    return Parts(
        least_comparisons=max(0.0, rest / _COMPARISON) if numeric else 0.0,
        most_comparisons=gate_operations / _COMPARISON if numeric else 0.0,
        most_votes=most_votes,
    )


def parts_sheet(results: Sequence[Result]) -> Sheet:
    """Make the table that compares the parts of the DLN here and in the paper."""
    here = {measure: whole_figures(make_grid(results, measure)) for measure in _MEASURES}
    paper = {measure: published_figures(measure) for measure in _MEASURES}
    rows, more, fewer = [], 0, 0
    for name in NAMES:
        if name not in here["operations"] or _COLUMN not in here["operations"][name]:
            rows.append((name, *[ABSENT] * 5))
            continue
        ours, theirs = (_bound(figures, name) for figures in (here, paper))
        more += ours.least_comparisons > theirs.most_comparisons
        fewer += ours.most_comparisons < theirs.least_comparisons
        total, published_total = (x["gate_operations"][name][_COLUMN] for x in (here, paper))
        ratio = change(total, published_total, "gate_operations")
        rows.append(
            (
                name,
                f"{short(total)} ({short(published_total)}, {ratio})",
                _range(ours),
                _range(theirs),
                f"{ours.most_votes:.0f}",
                f"{theirs.most_votes:.0f}",
            )
        )
    header = (
        "dataset",
        "gate-level operations (paper, ratio)",
        "comparisons here",
        "comparisons in the paper",
        "votes at most, here",
        "votes at most, in the paper",
    )
    summary = f"More comparisons here for certain: {more} tables. Fewer: {fewer}."
    return Sheet((_NOTE, summary), (Section("Parts of the cost of the DLN", header, tuple(rows)),))


def _bound(figures: Mapping[Measure, Figures], name: str) -> Parts:
    operations, gate_operations, parameters = (
        figures[measure][name][_COLUMN] for measure in _MEASURES
    )
    shape = published()["tables"][name]
    return bound_parts(
        operations,
        gate_operations,
        parameters,
        shape["classes"],
        numeric=shape["continuous"] > 0,
    )


def _range(parts: Parts) -> str:
    low, high = math.ceil(parts.least_comparisons), math.floor(parts.most_comparisons)
    return f"{low} to {high}" if low < high else f"{high}"
