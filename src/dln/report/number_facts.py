"""A circuit that predicts a number + test rows -> what its report shows.

Further keys of the page's JSON object (`content.py`):

| key | content |
| --- | --- |
| `rules` | per rule also `mean` and `elsewhere`: the mean of the actual numbers where it fires, and elsewhere |
| `errors` | `mae` and `mse`: mean absolute and squared error; `variance` of the actual numbers; `points`: [predicted, actual] of a sample of the rows, or null; `groups`: means by prediction; `residuals`: histogram of actual minus predicted |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.data.number_target import read_numbers
from dln.data.table import Table
from dln.evaluate.number_scores import error_by_prediction, tally_numbers
from dln.explain.number_evidence import mean_text
from dln.explain.number_rules import describe_number_rules
from dln.report.content import make_content
from dln.report.facts import Facts
from dln.report.rows import LabelledRows, read_rows, short

_MOST_POINTS = 800
"""Of more rows, a random sample is plotted."""
_N_BINS = 24
_SEED = 0


@dataclass(frozen=True)
class NumberRows(LabelledRows):
    """Test rows with their actual numbers; `target` holds these, and `answers` the predictions."""

    answers: NDArray[np.float64]

    @property
    def errors(self) -> NDArray[np.float64]:
        """Predicted minus actual numbers."""
        return np.asarray(self.answers - self.target)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which rows have an error among the largest tenth; if not all fit, these come first."""
        sizes = np.abs(self.errors)
        return np.asarray(sizes > np.sort(sizes)[int(0.9 * (len(sizes) - 1))])

    def target_cell(self, row: int) -> float | int:
        """Return the actual number of a row."""
        return short(float(self.target[row]), 12)

    def typical_row(self, among: Sequence[int]) -> int:
        """Return the row with the median absolute error; -1 if there are no rows."""
        if not among:
            return -1
        sizes = np.abs(self.errors)[np.asarray(among)]
        return int(among[int(np.argsort(sizes, kind="stable")[(len(sizes) - 1) // 2])])


def measure_number(
    circuit: Circuit, table: Table, y: Any, *, row_word: str, with_rows: bool
) -> Facts:
    """Measure a circuit on rows."""
    target = read_numbers(y, table.n_rows)
    evaluation = circuit.evaluate(table, wires=circuit.readout.wires)
    predicted = evaluation.answers
    errors = tally_numbers(target, predicted)
    groups = error_by_prediction(target, predicted)
    points = _points(target, predicted) if with_rows else None
    no_labels = np.zeros(len(target), dtype=np.int64)
    plain = read_rows(table, no_labels, evaluation)
    rows = NumberRows(
        plain.columns, plain.raw, plain.cells, target, plain.winners, plain.votes, predicted
    )
    rules = describe_number_rules(circuit, evaluation, target)
    figures = (
        {
            "text": rule.text,
            "share": _rounded(rule.evidence.share if rule.evidence else None),
            "mean": _rounded(rule.evidence.mean_target if rule.evidence else None),
            "elsewhere": _rounded(rule.evidence.mean_elsewhere if rule.evidence else None),
        }
        for rule in rules.rules
    )
    content = make_content(
        circuit, rows, figures, ["rows"], no_labels, row_word=row_word, with_rows=with_rows
    )
    content["errors"] = {
        "mae": _rounded(errors.mae.value, 12),
        "mse": _rounded(errors.squared.mean, 12),
        "variance": _rounded(float(target.var()), 12) if errors.r2 else 0,
        "points": points,
        "groups": [
            {"predicted": _rounded(group.mean_prediction), "actual": _rounded(group.mean_target)}
            for group in groups
        ],
        "residuals": _histogram(target - predicted),
    }
    context = {
        "errors": errors,
        "groups": groups,
        "points_note": _points_note(points, len(target), row_word),
        "mean_text": mean_text,
    }
    return Facts(circuit.number_readout.name, content, rows, rules, context)


def _points_note(points: Sequence[Any] | None, total: int, row_word: str) -> str:
    """Say what a point of the plot is."""
    if points is None:
        return f"Each point is the mean of a group of {row_word}s."
    if len(points) < total:
        return f"Each point is a {row_word}: {len(points):,} of {total:,}, chosen at random."
    return f"Each point is a {row_word}."


def _points(target: NDArray[np.float64], predicted: NDArray[np.float64]) -> list[list[float | int]]:
    """Return the predicted and the actual number of a sample of rows."""
    rows = np.arange(len(target))
    if len(target) > _MOST_POINTS:
        rows = np.random.default_rng(_SEED).choice(rows, _MOST_POINTS, replace=False)
    kept = rows[np.isfinite(predicted[rows])]
    return [[short(float(predicted[row]), 5), short(float(target[row]), 5)] for row in kept]


def _histogram(residuals: NDArray[np.float64]) -> dict[str, Any]:
    """Count the residuals; edges are rounded, so they are not those of single rows."""
    inside = residuals[np.isfinite(residuals)]
    low, high = (float(inside.min()), float(inside.max())) if len(inside) else (0.0, 0.0)
    size = max(abs(low), abs(high)) or 1.0
    step = 10.0 ** np.floor(np.log10(size) - 1)
    first, last = np.floor(low / step) * step, (np.floor(high / step) + 1) * step
    counts, edges = np.histogram(inside, bins=_N_BINS, range=(first, last))
    return {"edges": [_rounded(edge) for edge in edges.tolist()], "counts": counts.tolist()}


def _rounded(value: float | None, digits: int = 6) -> float | int | None:
    """Return a figure with some digits; None if there is none, or if it is infinite."""
    return None if value is None or not np.isfinite(value) else short(value, digits)
