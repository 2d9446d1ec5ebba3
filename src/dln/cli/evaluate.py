"""`dln evaluate`: how good a model is on a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from dln.circuit import Circuit
from dln.cli.files import load_model
from dln.cli.layout import Layout
from dln.cli.measure import Measure, measure
from dln.cli.options import Data, Encoding, Json, Model, Separator, Target
from dln.cli.talk import show, show_json
from dln.errors import TableError


def evaluate(
    model: Model,
    data: Data,
    target: Target,
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    json: Json = False,
) -> None:
    """Measure a model on a table whose classes are known.

    Prints balanced accuracy, the area under the ROC curve, the confusion matrix, precision, recall
    and F1 of each class, and how far the probabilities are from what came true (the expected
    calibration error).

    Example: dln evaluate heart.json test.csv --target disease
    """
    from dln.cli.holdout import tell_of_own_rows
    from dln.cli.labels import class_numbers
    from dln.cli.read import open_table, read_for
    from dln.cli.strange import StrangeCells

    circuit = load_model(model)
    strange = StrangeCells(circuit)
    with open_table(data, Layout(encoding, separator)) as source:
        source.check_column(target)
        parts = []
        for part in read_for(circuit, source, [target]):
            strange.count(part.typed)
            classes = class_numbers(part.written.column(target), circuit, target, part.first_row)
            parts.append(measure(circuit, part.table, classes))
        total = reduce(add, parts)
        if not total.n_rows:
            raise TableError(f"{source.name} has a header but no rows")
    strange.tell()
    tell_of_own_rows(circuit, data)
    if json:
        show_json(score_document(total, circuit))
    else:
        show(score_text(total, circuit))


def score_document(measured: Measure, circuit: Circuit) -> dict[str, Any]:
    """Write scores for programs; what is not defined is null."""
    total = measured.tally
    by_class = zip(
        circuit.classes, total.precision, total.recall, total.f1, total.support, strict=True
    )
    return {
        "rows": measured.n_rows,
        "balanced_accuracy": total.balanced_accuracy,
        "accuracy": total.accuracy,
        "roc_auc": _defined(measured.ranking.area),
        "confusion": {"classes": list(circuit.classes), "counts": total.confusion.tolist()},
        "classes": [
            {
                "class": label,
                "precision": _defined(precision),
                "recall": _defined(recall),
                "f1": _defined(f1),
                "support": int(support),
            }
            for label, precision, recall, f1, support in by_class
        ],
        "expected_calibration_error": total.calibration_error,
        "reliability": total.reliability(),
    }


def score_text(measured: Measure, circuit: Circuit) -> str:
    """Write scores for people."""
    total = measured.tally
    names = [str(label) for label in circuit.classes]
    figures = zip(total.precision, total.recall, total.f1, strict=True)
    by_class = [
        [name, *map(_percent, row), f"{support:,}"]
        for name, row, support in zip(names, figures, total.support, strict=True)
    ]
    confusion = [
        [name, *(f"{count:,}" for count in row)]
        for name, row in zip(names, total.confusion.tolist(), strict=True)
    ]
    bins = [
        [
            f"{bin['from']:.1f} to {bin['to']:.1f}",
            f"{bin['rows']:,}",
            _percent(bin["mean_probability"]),
            _percent(bin["accuracy"]),
        ]
        for bin in total.reliability()
    ]
    area = measured.ranking.area
    return "\n".join(
        [
            f"Balanced accuracy on {measured.n_rows:,} rows: {_percent(total.balanced_accuracy)}",
            f"Accuracy: {_percent(total.accuracy)}",
            f"Area under the ROC curve: {'-' if math.isnan(area) else f'{area:.3f}'}",
            "",
            "Rows by true class (down) and predicted class (across)",
            table_text(["", *names], confusion),
            "",
            table_text(["class", "precision", "recall", "F1", "support"], by_class),
            "",
            f"Expected calibration error: {_percent(total.calibration_error)}",
            table_text(["probability", "rows", "mean", "came true"], bins),
        ]
    )


def table_text(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align the first column to the left and the others to the right.

    >>> print(table_text(["", "no"], [["yes", "10"]]))
         no
    yes  10
    """
    cells = [list(headings), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in cells
    )


def _percent(part: float) -> str:
    return "-" if math.isnan(part) else f"{100 * part:.1f} %"


def _defined(part: float) -> float | None:
    return None if math.isnan(part) else float(part)
