"""`dln evaluate`: measure the accuracy of a model on a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import percent, plain_text
from dln.cli.files import load_model
from dln.cli.holdout import target_of
from dln.cli.layout import DETECT, Layout
from dln.cli.measure import AnyMeasure, NumberMeasure, measure_groups
from dln.cli.options import AllRows, Data, Json, KnownTarget, Model, Quiet
from dln.cli.output import print_json, print_message, print_result
from dln.cli.table_options import reads_table
from dln.core.circuit import Circuit
from dln.errors import TableError
from dln.evaluate.number_scores import error_by_prediction
from dln.evaluate.scores import Tally

if TYPE_CHECKING:
    from dln.cli.own_rows import Choice
    from dln.cli.unknown_categories import UnknownCategories


@reads_table
def evaluate(
    model: Model,
    data: Data,
    target: KnownTarget = None,
    all_rows: AllRows = False,
    layout: Layout = DETECT,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure a model on a table whose classes or numbers are known.

    For classes: accuracy, AUC, log loss, Brier score, calibration error, the confusion matrix, and
    sensitivity, specificity and precision of each class. For numbers: R², the mean absolute error,
    the root mean squared error, and the mean of predicted and actual numbers in ten groups of rows,
    ordered by prediction. Rows that the model was trained on are left out.

    Example: dln evaluate heart.json test.csv
    """
    from dln.cli.unknown_categories import UnknownCategories

    circuit = load_model(model)
    unknown = UnknownCategories(circuit)
    total, choice = _measure(circuit, data, layout, target_of(circuit, target), unknown, all_rows)
    if not quiet:
        unknown.print_notes()
        if choice.note:
            print_message(choice.note)
    if json:
        print_json({**score_document(total, circuit), **choice.document()})
    else:
        print_result(score_text(total, circuit))


def _measure(
    circuit: Circuit,
    data: str,
    layout: Layout,
    target: str,
    unknown: UnknownCategories,
    all_rows: bool,
) -> tuple[AnyMeasure, Choice]:
    """Measure a circuit on the rows of a table that it was not trained on, chunk by chunk.

    Which rows are used is known only after the last chunk, so three groups are measured
    separately: new rows, recognised rows, and rows that cannot be checked.
    """
    from dln.cli.exposure import target_columns
    from dln.cli.labels import find_targets, rows_without_class
    from dln.cli.own_rows import RowChooser, nothing_left, own_rows
    from dln.cli.read import open_table, read_for

    own = own_rows(circuit, data, layout, target, "training")
    with open_table(data, layout) as source:
        needed = target_columns(circuit, target)
        for name in needed:
            source.check_column(name)
        chooser = RowChooser(
            circuit,
            source,
            own,
            part="training",
            purpose="Accuracy is measured on",
            all_rows=all_rows,
        )
        chunks, n_rows = [], 0
        for part in read_for(circuit, source, [*needed, *chooser.columns]):
            labelled = find_targets(part.written, source, circuit, target)
            n_rows += len(labelled.known)
            part = part.take(labelled.known)
            unknown.count(part.table)
            found, unchecked = chooser.find(part.typed, labelled.targets)
            groups = found + 2 * unchecked
            chunks.append(measure_groups(circuit, part.table, labelled.targets, groups, 3))
        new, *others = (reduce(add, group) for group in zip(*chunks, strict=True))
        total = reduce(add, others, new)
        if not n_rows:
            raise TableError(f"{source.name} has a header but no rows")
    unlabelled = rows_without_class(target, n_rows - total.n_rows, n_rows)
    choice = chooser.decide().after(unlabelled)
    if not choice.n_left_out:
        return total, choice
    if not new.n_rows:
        return total, nothing_left(choice, "training").after(unlabelled)
    return new, choice


def score_document(measured: AnyMeasure, circuit: Circuit) -> dict[str, Any]:
    """Return scores for programs; null where a score is not defined."""
    if isinstance(measured, NumberMeasure):
        groups = error_by_prediction(measured.target, measured.predicted)
        return {
            "rows": measured.n_rows,
            **measured.tally.to_dict(),
            "by_prediction": [asdict(group) for group in groups],
        }
    total = measured.tally
    by_class = zip(
        circuit.classes,
        total.precision,
        total.recall,
        _specificity(total),
        total.f1,
        total.support,
        strict=True,
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
                "specificity": _defined(specificity),
                "f1": _defined(f1),
                "support": int(support),
            }
            for label, precision, recall, specificity, f1, support in by_class
        ],
        "log_loss": total.log_loss,
        "brier_score": total.brier_score,
        "expected_calibration_error": total.calibration_error,
        "reliability": total.reliability(),
    }


def score_text(measured: AnyMeasure, circuit: Circuit) -> str:
    """Write scores as text."""
    if isinstance(measured, NumberMeasure):
        return _number_text(measured)
    total = measured.tally
    names = [str(label) for label in circuit.classes]
    figures = zip(total.recall, _specificity(total), total.precision, total.f1, strict=True)
    by_class = [
        [name, *map(percent, row), f"{support:,}"]
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
            percent(bin["mean_probability"]),
            percent(bin["accuracy"]),
        ]
        for bin in total.reliability()
    ]
    area = measured.ranking.area
    return "\n".join(
        [
            f"Balanced accuracy on {measured.n_rows:,} rows: {percent(total.balanced_accuracy)}",
            f"Accuracy: {percent(total.accuracy)}",
            f"AUC: {'-' if math.isnan(area) else f'{area:.3f}'}",
            "",
            "Confusion matrix (rows: true class, columns: predicted class)",
            table_text(["", *names], confusion),
            "",
            table_text(
                ["class", "sensitivity", "specificity", "precision", "F1", "rows"], by_class
            ),
            "",
            f"Log loss: {total.log_loss:.3f}",
            f"Brier score: {total.brier_score:.3f}",
            f"Calibration error: {percent(total.calibration_error)}",
            table_text(["probability", "rows", "mean", "accuracy"], bins),
        ]
    )


def _number_text(measured: NumberMeasure) -> str:
    """Write errors of predicted numbers as text, with 95 % confidence intervals."""
    tally = measured.tally
    groups = [
        [
            f"{_short(group.lowest)} to {_short(group.highest)}",
            f"{group.n_rows:,}",
            *map(_short, (group.mean_prediction, group.mean_target, group.mae)),
        ]
        for group in error_by_prediction(measured.target, measured.predicted)
    ]
    return "\n".join(
        [
            f"R² on {measured.n_rows:,} rows: {tally.r2 or '-'}",
            f"Mean absolute error: {tally.mae}",
            f"Root mean squared error: {tally.rmse}",
            f"Mean of actual minus predicted: {-tally.mean_error}",
            "",
            table_text(["prediction", "rows", "mean", "mean true", "mean absolute error"], groups),
        ]
    )


def _short(number: float) -> str:
    return plain_text(number, 4, thousands=True)


def _specificity(total: Tally) -> NDArray[np.float64]:
    """Return the share of the other classes' rows that are not predicted to be of each class.

    NaN where the other classes have no rows.
    """
    support = total.support
    others = support.sum() - support
    wrong = total.confusion.sum(axis=0) - total.confusion.diagonal()
    return np.where(others > 0, 1 - wrong / np.maximum(others, 1), np.nan)


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


def _defined(part: float) -> float | None:
    return None if math.isnan(part) else float(part)
