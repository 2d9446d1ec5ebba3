"""Class labels: plain Python values that survive JSON, and arrays of them.

Text, integers, numbers, booleans, dates and moments are kept with their type.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.errors import TableError

Label = str | int | float | bool | datetime.date | datetime.datetime


def plain_labels(classes: Iterable[Any]) -> tuple[Label, ...]:
    """Turn NumPy scalars and other spellings into plain Python labels.

    >>> plain_labels(np.array([1, 2]))
    (1, 2)
    """
    return tuple(_plain(label) for label in classes)


def _plain(label: Any) -> Label:
    if isinstance(label, np.datetime64):
        label = label.astype("datetime64[us]").item()
    elif isinstance(label, np.generic):
        label = label.item()
    elif isinstance(label, datetime.datetime):  # pandas.Timestamp among them
        label = datetime.datetime.fromisoformat(label.isoformat())
    if isinstance(label, (str, bool, int, float, datetime.date)):
        return label
    raise TableError(
        f"class label {label!r} is a {type(label).__name__}; "
        "expected text, a number, a boolean or a date"
    )


def label_array(labels: Sequence[Label]) -> NDArray[Any]:
    """Make an array whose elements compare equal to the labels, of objects only if need be."""
    kinds = {type(label) for label in labels}
    if kinds in ({str}, {int}, {float}, {bool}):
        array = np.array(labels)
        if array.dtype.kind in "Uifb":
            return array
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def label_to_json(label: Label) -> Any:
    """Write a label as a JSON value."""
    if isinstance(label, datetime.datetime):
        return {"moment": label.isoformat()}
    if isinstance(label, datetime.date):
        return {"date": label.isoformat()}
    return label


def label_from_json(value: Any) -> Label:
    """Read a label back; raises ValueError for anything else."""
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, dict) and len(value) == 1:
        if isinstance(value.get("moment"), str):
            return datetime.datetime.fromisoformat(value["moment"])
        if isinstance(value.get("date"), str):
            return datetime.date.fromisoformat(value["date"])
    raise ValueError(f"{value!r} is not a class label")
