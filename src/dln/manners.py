"""What the scikit-learn estimators share: they read the user's input and warn about the result."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from dln.circuit import Circuit
from dln.errors import ColumnTypeError, DlnWarning, OptionError, TableError
from dln.labels import plain_labels
from dln.literals import Column
from dln.table import Table, read_table
from dln.target import read_target, row_weights
from dln.train.fit import Problem
from dln.wording import some

_FEW_ROWS = 100_000
"""Number of rows to try first. In such a sample nearly every class wins at least one row."""


def read_problem(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> tuple[Problem, NDArray[Any]]:
    """Read the training data; return it (including rows of weight 0) and the classes."""
    table = read_features(estimator, X, reset=True)
    target, classes = read_target(y, table.n_rows)
    weight = row_weights(target, classes, sample_weight, class_weight)
    return Problem(table, target, weight, plain_labels(classes)), classes


def read_features(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Read a table; remember its columns (`reset`) or compare them with those of the fit."""
    table = read_table(X)
    try:
        # scikit-learn does not see the names of a frame that narwhals wraps.
        bare = nw.to_native(X, pass_through=True)
        validate_data(estimator, bare, reset=reset, skip_check_array=True)
    except ValueError as error:  # scikit-learn's message on missing, extra or reordered columns
        raise TableError(str(error)) from error
    except TypeError as error:  # its message on names that are only partly text
        raise ColumnTypeError(str(error)) from error
    if table.n_rows == 0 and reset:
        raise TableError("the table has 0 rows (0 sample(s)); a minimum of 1 is required")
    if table.n_columns == 0:
        raise TableError(
            f"the table has 0 columns: 0 feature(s) (shape=({table.n_rows}, 0)) while a "
            "minimum of 1 is required."
        )
    named = reset or hasattr(estimator, "feature_names_in_")
    return table if named else table.without_names()


def warn_user(message: str) -> None:
    """Warn at the line that called into dln, directly or through scikit-learn."""
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in ("dln", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DlnWarning, stacklevel=level)


def warn_of_mixtures(columns: Iterable[Column]) -> None:
    """Warn of columns of numbers that a few texts turned into categories."""
    for column in columns:
        texts = [category for category in column.categories if isinstance(category, str)]
        truths = [category for category in column.categories if isinstance(category, bool)]
        if 0 < len(texts) < len(column.categories) - len(texts) - len(truths):
            warn_user(
                f"Column {column.name!r} holds numbers, but also {texts[0]!r}, so each number "
                "became a separate category. Replace such text with numbers or missing values."
            )


def warn_of_lost_classes(circuit: Circuit, problem: Problem, class_weight: Any) -> None:
    """Warn of classes that have training rows but are never predicted for them."""
    lost = [repr(circuit.classes[number]) for number in _lost_classes(circuit, problem)]
    if lost and not circuit.rules:
        warn_user(
            "The model has no rules, so it predicts the same class for every row. Try more epochs. "
            "If that does not help, check that numbers and dates were not read as text."
        )
    elif lost:
        weights = "" if class_weight == "balanced" else "balanced class weights, "
        warn_user(
            f"The model never predicts {some(lost, most=4)}. "
            f"Try {weights}more epochs, more or wider layers, or more networks."
        )


def _lost_classes(circuit: Circuit, problem: Problem) -> list[int]:
    """Find the classes that have rows but are never predicted."""
    table, lost = problem.table, set(np.unique(problem.target).tolist())
    if table.n_rows > _FEW_ROWS:
        few = np.arange(0, table.n_rows, -(-table.n_rows // _FEW_ROWS))
        lost.difference_update(circuit.winners(table.take(few)).tolist())
    if lost:
        lost.difference_update(circuit.winners(table).tolist())
    return sorted(lost)


def draw_seed(random_state: Any) -> int:
    """Draw a seed from scikit-learn's random_state."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise OptionError(
            f"random_state is {random_state!r}, expected an integer of at least 0, "
            "a RandomState or None"
        ) from None
