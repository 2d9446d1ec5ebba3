"""A circuit that predicts a number + test rows -> what its report shows.

The page's JSON object has the keys of `content.py`, with these differences:

| key | content |
| --- | --- |
| `classes` | one word, for the bars of features |
| `rules` | per rule also `mean` and `elsewhere`: the mean of the actual numbers where it fires, and elsewhere |
| `errors` | `mae`; `points`: [predicted, actual] of a sample of the rows, or null; `groups`: means by prediction; `residuals`: histogram of actual minus predicted |
| `test` | without `wrong`; a row has its actual number in place of its class |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.gates import GATES
from dln.data.number_target import read_numbers
from dln.data.table import Table
from dln.evaluate.number_scores import Group, NumberTally, error_by_prediction, tally_numbers
from dln.explain.effects import rule_columns
from dln.explain.number_evidence import mean_text
from dln.explain.number_rules import NumberRuleTable, describe_number_rules
from dln.report.features import describe_features
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


@dataclass(frozen=True)
class NumberFacts:
    """Everything that the report of a number says about its test rows."""

    content: dict[str, Any]
    rows: NumberRows
    rules: NumberRuleTable
    errors: NumberTally
    groups: list[Group]

    def context(self, *, with_rows: bool, row_word: str) -> dict[str, Any]:
        """Return the variables of the template."""
        n_points = len(self.content["errors"]["points"] or ())
        total = len(self.rows.target)
        note = f"Each point is a {row_word}."
        if not with_rows:
            note = f"Each point is the mean of a group of {row_word}s."
        elif n_points < total:
            note = f"Each point is a {row_word}: {n_points:,} of {total:,}, chosen at random."
        return {
            "errors": self.errors,
            "groups": self.groups,
            "points_note": note,
            "mean_text": mean_text,
        }


def measure_numbers(
    circuit: Circuit, table: Table, y: Any, *, row_word: str, with_rows: bool
) -> NumberFacts:
    """Measure a circuit on rows, and make the page's object, still without rows."""
    target = read_numbers(y, table.n_rows)
    evaluation = circuit.evaluate(table, wires=circuit.readout.wires)
    predicted = evaluation.answers
    errors = tally_numbers(target, predicted)
    groups = error_by_prediction(target, predicted)
    plain = read_rows(table, np.zeros(len(target), dtype=np.int64), evaluation)
    rows = NumberRows(
        plain.columns, plain.raw, plain.cells, target, plain.winners, plain.votes, predicted
    )
    rules = describe_number_rules(circuit, evaluation, target)
    content = {
        "target": circuit.number_readout.name,
        "classes": ["rows"],
        "gates": {gate.name: gate.table for gate in GATES},
        "rules": [
            {
                "text": rule.text,
                "columns": sorted(columns),
                "share": _rounded(rule.evidence.share if rule.evidence else None),
                "mean": _rounded(rule.evidence.mean_target if rule.evidence else None),
                "elsewhere": _rounded(rule.evidence.mean_elsewhere if rule.evidence else None),
            }
            for rule, columns in zip(rules.rules, rule_columns(circuit), strict=True)
        ],
        "parts": [list(part) for part in rules.parts],
        "features": describe_features(circuit, rows.cells, plain.target, rows=with_rows),
        "errors": {
            "mae": _rounded(errors.mae.value),
            "points": _points(target, predicted) if with_rows else None,
            "groups": [
                {
                    "predicted": _rounded(group.mean_prediction),
                    "actual": _rounded(group.mean_target),
                }
                for group in groups
            ],
            "residuals": _histogram(target - predicted),
        },
        "test": {"total": len(target), "word": row_word, "rows": None, "start": None},
    }
    return NumberFacts(content, rows, rules, errors, groups)


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


def _rounded(value: float | None) -> float | int | None:
    """Return a figure with six digits; None if there is none, or if it is infinite."""
    return None if value is None or not np.isfinite(value) else short(value, 6)
