"""What the scikit-learn faces share: reading a table, a target and a random state as users do."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from dln.errors import OptionError, TableError
from dln.labels import plain_labels
from dln.table import Table, read_table
from dln.target import read_target, row_weights
from dln.train.fit import Problem


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
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:  # scikit-learn's words on missing, extra or reordered columns
        raise TableError(str(error)) from error
    if table.n_rows == 0 and reset:
        raise TableError("the table has 0 rows (0 sample(s)); a minimum of 1 is required")
    if table.n_columns == 0:
        raise TableError(
            f"the table has 0 columns: 0 feature(s) (shape=({table.n_rows}, 0)) while a "
            "minimum of 1 is required."
        )
    named = reset or hasattr(estimator, "feature_names_in_")
    return table if named else table.without_names()


def draw_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn calls a random state."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise OptionError(
            f"random_state is {random_state!r}, expected an integer of at least 0, "
            "a RandomState or None"
        ) from None
