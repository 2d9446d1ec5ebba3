"""What the scikit-learn estimators share: they read the user's input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from dln._util.messages import list_names, type_name
from dln._util.progress import live_bars
from dln._util.storage import Storage
from dln.core.labels import plain_labels
from dln.data.batches import is_batched, read_batches
from dln.data.number_target import (
    check_domain,
    name_of_target,
    rate_name,
    read_exposure,
    read_numbers,
)
from dln.data.soft import SoftTarget, is_soft, read_soft
from dln.data.table import RawColumn, Table, read_table
from dln.data.target import class_shares, read_groups, read_target, row_weights
from dln.errors import ColumnTypeError, OptionError, TableError
from dln.train.problem import NumberProblem, Problem


def read_problem(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weight: Any,
    groups: Any = None,
    storage: Storage | None = None,
) -> tuple[Problem, NDArray[Any]]:
    """Read the training data; return it (including rows of weight 0) and the classes.

    If X is read in batches, `y`, `sample_weight` and `groups` are names of its columns.
    """
    if is_batched(X):
        named = {"y": y, "sample_weight": sample_weight, "groups": groups}
        X, columns = read_batched(estimator, X, named, storage)
        y, sample_weight, groups = columns["y"].raw, columns["sample_weight"], columns["groups"]
    table = read_features(estimator, X, reset=True).narrow()
    numbers = None if groups is None else read_groups(groups, table.n_rows)
    if is_soft(y):
        soft = read_soft(y, table.n_rows)
        return _soft_problem(table, soft, sample_weight, class_weight, numbers), soft.classes
    target, classes = read_target(y, table.n_rows)
    weight = row_weights(target, classes, sample_weight, class_weight)
    shares = class_shares(target, len(classes), sample_weight)
    return Problem(table, target, weight, plain_labels(classes), shares, numbers), classes


def read_number_problem(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    loss: str,
    groups: Any = None,
    exposure: Any = None,
    storage: Storage | None = None,
) -> NumberProblem:
    """Read the training data of a target of numbers, including rows of weight 0.

    If X is read in batches, the others are names of its columns.

    With an exposure, the target becomes a rate. The likelihood of Poisson counts with the logarithm
    of the exposure as offset is that of rates weighted by the exposure; for gamma, the weights stay
    the same.
    """
    if is_batched(X):
        named = {"y": y, "sample_weight": sample_weight, "groups": groups, "exposure": exposure}
        X, columns = read_batched(estimator, X, named, storage)
        y, sample_weight, groups, exposure = (columns[name] for name in named)
    table = read_features(estimator, X, reset=True).narrow()
    target = read_numbers(y, table.n_rows)
    own = None if groups is None else read_groups(groups, table.n_rows)
    everyone = np.zeros(len(target), dtype=np.int32)
    weight = row_weights(everyone, np.zeros(1), sample_weight, None)
    check_domain(target, loss)
    name = name_of_target(y)
    if exposure is not None:
        exposures = read_exposure(exposure, table.n_rows, loss)
        target = target / exposures
        name = rate_name(name, getattr(exposure, "name", None) or "exposure")
        if loss == "poisson":
            given = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            weight = row_weights(everyone, np.zeros(1), exposures * given, None)
    if float(target.min()) == float(target.max()):
        raise TableError(
            f"the target is {target[0]:g} in every row ({len(target)} sample(s)); "
            "a regressor needs at least two different numbers"
        )
    return NumberProblem(table, target, weight, own, name)


@dataclass(frozen=True)
class _NamedColumn:
    """A column of a table that is read in batches, used as a column of a frame is."""

    name: str
    raw: RawColumn

    def to_numpy(self) -> NDArray[Any]:
        return self.raw.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.raw.values, dtype=dtype)


def read_batched(
    estimator: Any, X: Any, given: Mapping[str, Any], storage: Storage | None = None
) -> tuple[Table, dict[str, Any]]:
    """Read a table in batches; return the features, and the columns that parameters name."""
    with live_bars(enabled=bool(estimator.verbose)) as show:
        table = read_batches(X, show, storage=storage)
    names = table.column_names()
    columns: dict[str, Any] = dict.fromkeys(given)
    for parameter, name in given.items():
        if name is None and parameter != "y":
            continue
        if not isinstance(name, str) or name not in names:
            found = repr(name) if isinstance(name, str) else type_name(name)
            raise TableError(
                f"{parameter} is {found}, expected the name of a column, because the table is read "
                f"in batches; its columns are {list_names(names)}"
            )
        columns[parameter] = _NamedColumn(name, table.read(names.index(name)))
    used = {column.name for column in columns.values() if column is not None}
    places = [place for place, name in enumerate(names) if name not in used]
    features = replace(
        table,
        n_columns=len(places),
        names=tuple(names[place] for place in places),
        read=lambda index: table.read(places[index]),
    )
    return features, columns


def _soft_problem(
    table: Table,
    soft: SoftTarget,
    sample_weight: Any,
    class_weight: Any,
    groups: NDArray[np.int64] | None,
) -> Problem:
    """Make a problem whose rows have one class each; folds do not separate the parts of a row."""
    top = soft.most_probable()
    # Checks the weights of the rows. They are multiplied by the probabilities then.
    plain = row_weights(soft.target[top], soft.classes, sample_weight, None)
    parts = plain[soft.rows] * soft.probability
    weight = row_weights(soft.target, soft.classes, parts, class_weight)
    shares = class_shares(soft.target, len(soft.classes), parts)
    labels = plain_labels(soft.classes)
    if soft.is_hard:
        return Problem(table, soft.target, weight, labels, shares, groups)
    own = soft.rows if groups is None else groups[soft.rows]
    return Problem(table.take(soft.rows), soft.target, weight, labels, shares, own, top)


def read_features(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Read a table; remember its columns (`reset`) or compare them with those of the fit."""
    table = read_table(X)
    try:
        if isinstance(X, Table):  # scikit-learn cannot read it
            estimator.n_features_in_ = table.n_columns
            estimator.feature_names_in_ = np.array(table.column_names(), dtype=object)
        else:
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


def name_of_accuracy(class_weight: Any) -> str:
    """Name the accuracy that weights rows as training does."""
    if class_weight is None:
        return "accuracy"
    return "balanced accuracy" if class_weight == "balanced" else "weighted accuracy"


def draw_seed(random_state: Any) -> int:
    """Draw a seed from scikit-learn's random_state."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise OptionError(
            f"random_state is {random_state!r}, expected an integer of at least 0, "
            "a RandomState or None"
        ) from None
