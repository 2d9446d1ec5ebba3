"""Read the class of each row, for training or for comparison, and the row weights."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks
from dln.core.labels import Label, plain_labels
from dln.data.coded import CodedColumn, is_missing_in
from dln.data.table import RawColumn, is_missing
from dln.errors import OptionError, TableError

ClassWeight = OneOf["balanced", "smoothed"]
"""Weights of classes that depend on their rows: the inverse of the number of rows of a class, or of
that number plus 0.1 (the authors' program)."""

SMOOTHING = 0.1
"""What "smoothed" adds to the number of rows of a class."""


def row_weights(
    target: NDArray[np.int32], classes: NDArray[Any], sample_weight: Any, class_weight: Any
) -> NDArray[np.float32]:
    """Multiply the weights of rows and classes; their mean is 1."""
    from sklearn.utils.validation import _check_sample_weight  # slow to load

    rows = np.broadcast_to(np.zeros(1), (len(target), 1))  # only its shape counts
    try:
        weight = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
    except (ValueError, TypeError) as error:
        raise TableError(f"sample_weight cannot be used: {error}") from error
    if not weight.any():
        raise TableError("all sample weights are zero; at least one must be positive")
    if sample_weight is not None:
        weight = weight / weight.max()  # so that sums stay within range
    of_class = _class_weights(class_weight, classes, target, weight)
    for part in row_blocks(len(target)):  # large tables leave no room for temporary arrays
        weight[part] *= of_class[target[part]]
    if not weight.any():
        raise OptionError(f"class_weight is {class_weight!r}, which gives every row the weight 0")
    # Scaling by a power of two rounds nothing and keeps the mean in range.
    np.ldexp(weight, -np.frexp(weight.max())[1], out=weight)
    weight /= weight.mean()
    return np.asarray(weight.astype(np.float32))


def class_shares(
    target: NDArray[np.int32], n_classes: int, sample_weight: Any
) -> tuple[float, ...]:
    """Return the class frequencies of rows with these weights, which are known to be valid.

    >>> class_shares(np.array([0, 1, 1, 1], dtype=np.int32), 2, None)
    (0.25, 0.75)
    """
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    scaled = None if weight is None else np.broadcast_to(weight / weight.max(), target.shape)
    mass = np.bincount(target, scaled, minlength=n_classes)
    return tuple((mass / mass.sum()).tolist())


def read_target(y: Any, n_rows: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the index of each row's class, and the classes; missing classes are refused."""
    from sklearn.utils.multiclass import check_classification_targets  # slow to load
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise TableError("requires y to be passed, but the target y is None")
    if isinstance(y, RawColumn):
        return _read_column(y)
    labels = label_values(y)
    if labels.dtype.kind == "c":
        raise TableError("Complex data not supported: class labels cannot be complex numbers")
    if labels.ndim == 1:
        check_no_missing(labels)
    try:
        labels = column_or_1d(labels, warn=True)
    except ValueError as error:
        raise TableError(f"the target cannot be used: {error}") from error
    check_length(labels, n_rows)
    check_no_missing(labels)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise TableError("Input y contains infinity; class labels must be finite")
    if labels.dtype == object:
        labels = _labels_of_one_type(labels)
    if str(getattr(y, "dtype", "")) != "category":
        _check_not_measured(labels)
    try:
        if labels.dtype != object:
            check_classification_targets(labels)
    except (ValueError, TypeError) as error:
        raise TableError(
            f"{error} If the target is a measurement, use DLNRegressor. If it holds classes, "
            "convert labels that are not whole numbers to text"
        ) from error
    classes, target = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        only = plain_labels(classes)[0]
        raise TableError(
            f"the target has only one class ({only!r}); a classifier needs at least two"
        )
    return target.astype(np.int32), classes


def _read_column(column: RawColumn) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Read the classes of a column that may be larger than the memory, from its distinct values."""
    if column.kind == "date":
        raise TableError("the target holds dates; convert them to text, or to numbers")
    blocks = list(row_blocks(len(column)))
    missing = [is_missing_in(column, rows) for rows in blocks]
    if any(part.any() for part in missing):
        raise _missing_target(np.concatenate(missing))
    if isinstance(column, CodedColumn):
        distinct = np.empty(len(column.distinct), dtype=object)
        distinct[:] = column.distinct
    else:
        distinct = np.unique(np.concatenate([np.unique(column.values[rows]) for rows in blocks]))
    # The checks compare the number of classes with half of the rows.
    enough = max(1, min(2, len(column) // len(distinct)))
    numbers, classes = read_target(np.tile(distinct, enough), enough * len(distinct))
    target = np.empty(len(column), dtype=np.int32)
    for rows in blocks:
        part = column.take(rows)
        places = (
            part.codes if isinstance(part, CodedColumn) else np.searchsorted(distinct, part.values)
        )
        target[rows] = numbers[places]
    return target, classes


_FEW_NUMBERS = 20
"""Up to this many different numbers, a target of whole numbers holds classes."""


def _check_not_measured(labels: NDArray[Any]) -> None:
    """Refuse whole numbers that look like a measurement: many, and not counted from 0 or 1."""
    if labels.dtype.kind not in "iuf" or np.any(labels != np.rint(labels)):
        return
    numbers = np.unique(labels)
    if len(numbers) <= _FEW_NUMBERS:
        return
    first, last = float(numbers[0]), float(numbers[-1])
    is_code = first in (0.0, 1.0) and last - first + 1 == len(numbers)
    if is_code and len(numbers) <= len(labels) // 2:
        return
    raise TableError(
        f"the target has {len(numbers)} different numbers, such as {numbers[0]} and {numbers[-1]}, "
        "which look like measurements; use DLNRegressor. If they are classes, convert them to text "
        'or to categories, y.astype("category")'
    )


def read_groups(groups: Any, n_rows: int) -> NDArray[np.int64]:
    """Return the number of each row's group.

    >>> read_groups(["Ada", "Ben", "Ada"], 3).tolist()
    [0, 1, 0]
    """
    values = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
    if values.shape != (n_rows,):
        raise TableError(
            f"groups have the shape {values.shape}, expected ({n_rows},): one value for each row"
        )
    cells = values.tolist()
    if any(is_missing(cell) for cell in cells):
        raise TableError("a group is missing; give each row a group, its own if it is alone")
    first: dict[Any, int] = {}
    return np.array([first.setdefault(cell, len(first)) for cell in cells], dtype=np.int64)


def class_numbers(y: Any, classes: Sequence[Label], n_rows: int) -> NDArray[np.int64]:
    """Find each row's class among known ones; a label that is not among them is refused.

    >>> class_numbers(["yes", "no", "yes"], ("no", "yes"), 3).tolist()
    [1, 0, 1]
    """
    if y is None:
        raise TableError("the target y is None; expected the class of each row")
    # NumPy would turn a list such as [1, "a"] into text.
    labels = label_values(y, object if isinstance(y, (list, tuple)) else None)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise TableError(
            f"the target has {labels.ndim} dimensions, expected 1: one class for each row"
        )
    check_length(labels, n_rows)
    # Every distinct label is checked once. Missing ones come first: they may not equal themselves.
    cells = labels.tolist() if labels.dtype.kind != "M" else list(labels)
    first: dict[Any, int] = {}
    places = [first.setdefault(cell, len(first)) for cell in cells]
    for cell, place in first.items():
        if is_missing(cell):
            raise TableError(f"the target is missing in row {places.index(place)}; drop such rows")
    return _find_classes(first, classes)[places]


def _find_classes(labels: Iterable[Any], classes: Sequence[Label]) -> NDArray[np.int64]:
    """Return the index of each label's class."""
    numbers = {label: number for number, label in enumerate(classes)}
    found = plain_labels(labels)
    unknown = next((label for label in found if label not in numbers), None)
    if unknown is not None:
        raise TableError(
            f"the target holds {unknown!r}, but the circuit's classes are {list(classes)}; "
            "use only classes that it was trained on"
        )
    return np.array([numbers[label] for label in found], dtype=np.int64)


def label_values(y: Any, dtype: type[object] | None = None) -> NDArray[Any]:
    """Return a target as an array."""
    # With `to_numpy`, pandas' nullable integers stay integers.
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y, dtype=dtype)
    if labels.dtype.kind == "f" and isinstance(y, (list, tuple)) and {type(x) for x in y} == {int}:
        return np.asarray(y, dtype=object)  # NumPy makes floats of integers beyond 64 bits
    return labels


def check_length(labels: NDArray[Any], n_rows: int) -> None:
    """Raise an error if a target has another number of rows than the table."""
    if len(labels) != n_rows:
        raise TableError(f"the table has {n_rows} rows, but the target has {len(labels)}")


def check_no_missing(labels: NDArray[Any]) -> None:
    """Refuse a target with missing values."""
    if labels.dtype.kind in "fM":
        missing = labels != labels
    elif labels.dtype == object:
        missing = np.array([is_missing(label) for label in labels], dtype=bool)
    else:
        return
    if missing.any():
        raise _missing_target(missing)


def _missing_target(missing: NDArray[np.bool_]) -> TableError:
    return TableError(
        f"Input y contains NaN or None: the target is missing in {missing.sum()} of "
        f"{len(missing)} rows, first in row {int(np.argmax(missing))}; drop those rows"
    )


def _labels_of_one_type(labels: NDArray[Any]) -> NDArray[Any]:
    """Refuse mixed types, which have no order; numbers become an array of numbers."""
    types = {type(label) for label in labels}
    if all(issubclass(kind, str) for kind in types):
        return labels
    if len(types) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in types))
        raise TableError(
            f"Unknown label type: the target mixes {names}; convert all labels to one type"
        )
    if all(issubclass(kind, datetime.date) for kind in types):
        return labels
    numbers = np.array(labels.tolist())
    # NumPy makes floats of integers beyond 64 bits, which confuses classes.
    return labels if types == {int} and numbers.dtype.kind == "f" else numbers


def _class_weights(
    class_weight: Any, classes: NDArray[Any], target: NDArray[np.int32], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of each class; those of `ClassWeight` depend on the weights of its rows."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight in get_args(ClassWeight):
        mass = np.bincount(target, weights=weight, minlength=len(classes))
        finite = np.maximum(mass, np.finfo(np.float64).tiny)  # so that its inverse is finite
        if class_weight == "smoothed":
            finite = finite + SMOOTHING
        return np.divide(1.0, finite, out=np.zeros(len(classes)), where=mass > 0)
    if not isinstance(class_weight, Mapping):
        raise OptionError(
            f"class_weight is {class_weight!r}, expected 'balanced', 'smoothed', None or a dict"
        )
    known = list(classes)
    unknown = [label for label in class_weight if label not in known]
    # As in scikit-learn, the rows of a fold may lack a class, but then all others need a weight.
    if unknown and not all(label in class_weight for label in known):
        raise OptionError(f"class_weight names {unknown}, but the classes are {classes.tolist()}")
    for given in class_weight.values():
        if not isinstance(given, (int, float, np.number)) or not 0 <= given < np.inf:
            raise OptionError(f"class_weight holds {given!r}, expected numbers of at least 0")
    return np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
