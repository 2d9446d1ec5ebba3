"""What constraints cost in accuracy: the same training without them, on the same test rows."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from dln.cli.fit_results import Split, measure_test_rows
from dln.cli.fitting import fit_with_messages
from dln.cli.measure import Measure
from dln.cli.output import print_message
from dln.errors import OptionError
from dln.estimators.plan import CONSTRAINTS


def check_price(model: Any, test: float) -> None:
    """Refuse to measure a price without constraints or without test rows."""
    if all(getattr(model, name, None) is None for name in CONSTRAINTS):
        raise OptionError("--price compares with and without constraints, but there are none")
    if test == 0:
        raise OptionError("--price compares accuracies on test rows; --test 0 keeps none")


def measure_price(model: Any, split: Split, *, quiet: bool) -> float:
    """Return the balanced accuracy, on the test rows, of a model without the constraints."""
    free = clone(model).set_params(**dict.fromkeys(CONSTRAINTS), path=False)
    prepared, rows = split.prepared, split.rows
    if not quiet:
        print_message("training again without the constraints")
    X, y = prepared.X.take(rows), prepared.y[rows]
    fit_with_messages(free, X, y, groups=prepared.groups_of(rows), quiet=quiet)
    measured = measure_test_rows(free.circuit_, split)
    assert isinstance(measured, Measure)
    return float(measured.tally.balanced_accuracy)
