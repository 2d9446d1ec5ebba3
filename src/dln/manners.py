"""What the scikit-learn faces share: reading what users give, and warning of what they get."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from dln.circuit import Circuit
from dln.errors import ColumnTypeError, OptionError, TableError
from dln.labels import plain_labels
from dln.literals import Column
from dln.table import Table, read_table
from dln.target import read_target, row_weights
from dln.train.fit import Problem
from dln.wording import some

_log = logging.getLogger("dln")

_FEW_ROWS = 100_000
"""Rows that are looked at before all are: among so many, nearly every class wins one."""


def read_problem(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> tuple[Problem, NDArray[Any]]:
    """Read what to learn; gives it, rows of weight 0 among it, and the classes."""
    table = read_features(estimator, X, reset=True)
    target, classes = read_target(y, table.n_rows)
    weight = row_weights(target, classes, sample_weight, class_weight)
    return Problem(table, target, weight, plain_labels(classes)), classes


def read_features(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Read a table, and remember its columns (`reset`) or hold it to those of the fit."""
    table = read_table(X)
    try:
        # Within narwhals' wrapping scikit-learn would not see the names.
        bare = nw.to_native(X, pass_through=True)
        validate_data(estimator, bare, reset=reset, skip_check_array=True)
    except ValueError as error:  # scikit-learn's words on missing, extra or reordered columns
        raise TableError(str(error)) from error
    except TypeError as error:  # and on names that are partly text
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


def warn_of_mixtures(columns: Iterable[Column]) -> None:
    """Tell of columns of numbers that a little text turned into categories."""
    for column in columns:
        texts = [category for category in column.categories if isinstance(category, str)]
        truths = [category for category in column.categories if isinstance(category, bool)]
        if 0 < len(texts) < len(column.categories) - len(texts) - len(truths):
            _log.warning(
                "column %r holds numbers, but also %r, so every number is a category of its own; "
                "replace such text by numbers or missing cells",
                column.name,
                texts[0],
            )


def warn_of_lost_classes(circuit: Circuit, problem: Problem, class_weight: Any) -> None:
    """Tell of classes that win none of the rows that the circuit was trained on."""
    lost = [repr(circuit.classes[number]) for number in _lost_classes(circuit, problem)]
    if lost and not circuit.rules:
        _log.warning(
            "the circuit has no rules: it was trained too little, or nothing in the table tells "
            "the classes apart; train longer, or look for numbers or dates that were read as text"
        )
    elif lost:
        first = "" if class_weight == "balanced" else "balanced class weights, "
        _log.warning(
            "no training row is predicted to be %s, although there are such rows; "
            "try %smore or wider layers, more networks or more epochs",
            some(lost, most=4),
            first,
        )


def _lost_classes(circuit: Circuit, problem: Problem) -> list[int]:
    """Find the classes that have rows and win none."""
    table, lost = problem.table, set(np.unique(problem.target).tolist())
    if table.n_rows > _FEW_ROWS:
        few = np.arange(0, table.n_rows, -(-table.n_rows // _FEW_ROWS))
        lost.difference_update(circuit.winners(table.take(few)).tolist())
    if lost:
        lost.difference_update(circuit.winners(table).tolist())
    return sorted(lost)


def draw_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn calls a random state."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise OptionError(
            f"random_state is {random_state!r}, expected an integer of at least 0, "
            "a RandomState or None"
        ) from None
