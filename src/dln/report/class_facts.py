"""A circuit that predicts classes + test rows -> what its report shows.

Further keys of the page's JSON object (`content.py`):

| key | content |
| --- | --- |
| `rules` | per rule also `precision` and `lift`, for each class |
| `confusion` | rows by true class (outer) and predicted class (inner) |
| `curves` | per class against the rest: see `curves.py` |
| `test` | also `wrong`: number of rows that are predicted wrongly |
"""

from __future__ import annotations

from typing import Any

from dln._util.colours import class_colour
from dln._util.messages import list_names, percent
from dln.core.circuit import Circuit
from dln.data.table import Table
from dln.data.target import class_numbers
from dln.evaluate.scores import tally
from dln.explain.rules import describe_rules
from dln.report.content import make_content
from dln.report.curves import make_curves, mean_auc
from dln.report.facts import Facts
from dln.report.intervals import accuracy, balanced_accuracy, by_class
from dln.report.rows import read_rows


def measure_classes(
    circuit: Circuit, table: Table, y: Any, *, row_word: str, with_rows: bool
) -> Facts:
    """Measure a circuit on rows."""
    target = class_numbers(y, circuit.classes, table.n_rows)
    evaluation = circuit.evaluate(table, wires=circuit.readout.wires)
    counted = tally(target, evaluation.winners, evaluation.probabilities)
    curves = make_curves(evaluation.probabilities, target)
    rows = read_rows(table, target, evaluation)
    rules = describe_rules(circuit, evaluation, target)
    figures = (
        {
            "text": rule.text,
            "share": _short(rule.share),
            "precision": [_short(value) for value in rule.precision or ()],
            "lift": [_short(value) for value in rule.lift or ()],
        }
        for rule in rules.rules
    )
    classes = [str(label) for label in circuit.classes]
    content = make_content(
        circuit, rows, figures, classes, target, row_word=row_word, with_rows=with_rows
    )
    content |= {
        "confusion": counted.confusion.tolist(),
        "curves": [curve.to_json() for curve in curves],
        "test": {**content["test"], "wrong": int(rows.wrong.sum())},
    }
    context = {
        "colours": [class_colour(number) for number in range(circuit.n_classes)],
        "tally": counted,
        "accuracy": accuracy(counted),
        "balanced_accuracy": balanced_accuracy(counted),
        "auc": mean_auc(curves),
        "by_class": by_class(counted),
        "f1": counted.f1.tolist(),
        "aucs": [curve.auc for curve in curves],
        "percent": percent,
    }
    return Facts(_title(circuit, classes), content, rows, rules, context)


def _title(circuit: Circuit, classes: list[str]) -> str:
    shown = list_names(classes, most=4)
    return shown if circuit.origin is None else f"{circuit.origin.target}: {shown}"


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
