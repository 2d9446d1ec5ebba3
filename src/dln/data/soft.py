"""Soft targets: class probabilities of each row -> rows of one class each, with weights.

A row becomes one row for each class of positive probability, and the probability is its weight. So
the loss of a row is the cross-entropy between its probabilities and those of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.labels import plain_labels
from dln.data.target import check_length, label_values, read_target
from dln.errors import TableError

_TOLERANCE = 1e-3
"""How far the sum of a row may be from 1; sums of rounded numbers are."""


@dataclass(frozen=True, eq=False)
class SoftTarget:
    """Class probabilities as weighted rows.

    Attributes
    ----------
    classes
        The classes, sorted.
    rows, target, probability
        (n,): the row of the table, the number of a class, and its probability in that row.
    """

    classes: NDArray[Any]
    rows: NDArray[np.int64]
    target: NDArray[np.int32]
    probability: NDArray[np.float64]

    @property
    def is_hard(self) -> bool:
        """Whether every row has one class."""
        return len(np.unique(self.rows)) == len(self.rows)

    def most_probable(self) -> NDArray[np.bool_]:
        """Return which rows have the most probable class of their row of the table (n,)."""
        best = np.zeros(int(self.rows[-1]) + 1)
        np.maximum.at(best, self.rows, self.probability)
        # The first one, if several classes are equally probable.
        places = np.flatnonzero(self.probability == best[self.rows])
        _, first = np.unique(self.rows[places], return_index=True)
        found = np.zeros(len(self.rows), dtype=bool)
        found[places[first]] = True
        return found


def is_soft(y: Any) -> bool:
    """Return whether a target has several columns of numbers, which are read as probabilities.

    >>> is_soft([[0.2, 0.8], [1.0, 0.0]]), is_soft([[1], [0]]), is_soft([1, 0])
    (True, False, False)
    """
    if y is None:
        return False
    values = label_values(y)
    return values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind in "fiub"


def read_soft(y: Any, n_rows: int) -> SoftTarget:
    """Read class probabilities (n_rows, n_classes); a frame's column names are the classes.

    The columns of an array are the classes 0, 1, and so on.

    >>> soft = read_soft([[0.25, 0.75], [1.0, 0.0]], 2)
    >>> soft.rows.tolist(), soft.target.tolist(), soft.probability.tolist()
    ([0, 0, 1], [0, 1, 0], [0.25, 0.75, 1.0])
    """
    given = label_values(y).astype(np.float64)
    check_length(given, n_rows)
    read_as = f"the target has {given.shape[1]} columns, so it is read as class probabilities"
    for bad, what, expected in (
        (~np.isfinite(given).all(axis=1), "has a missing or infinite value", "numbers"),
        ((given < 0).any(axis=1), "has a negative value", "numbers of at least 0"),
        (abs(given.sum(axis=1) - 1) > _TOLERANCE, "does not sum to 1", "rows that sum to 1"),
    ):
        if bad.any():
            raise TableError(f"{read_as}, but row {int(bad.argmax())} {what}; expected {expected}")
    # The columns of a pyarrow table are its values, not its names.
    attribute = "column_names" if hasattr(y, "column_names") else "columns"
    labels = np.empty(given.shape[1], dtype=object)
    labels[:] = list(getattr(y, attribute, range(given.shape[1])))
    order, classes = read_target(labels, len(labels))
    if len(classes) < len(labels):
        raise TableError(f"{read_as}, but two columns have the same name; name each class once")
    ordered = np.empty_like(given)
    ordered[:, order] = given / given.sum(axis=1, keepdims=True)
    rows, target = np.nonzero(ordered)
    if len(np.unique(target)) < 2:
        only = plain_labels(classes)[target[0]]
        raise TableError(
            f"{read_as}, but only the class {only!r} has any; a classifier needs at least two"
        )
    return SoftTarget(
        classes, rows.astype(np.int64), target.astype(np.int32), ordered[rows, target]
    )
