"""Class labels: plain Python values that survive JSON, and arrays of them.

Text, integers, numbers, booleans, dates and moments are kept with their type.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import type_name
from dln.core.literals import format_text
from dln.errors import TableError

Label = str | int | float | bool | datetime.date | datetime.datetime

DATE = re.compile(r"\d{4,}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d)?)?", re.ASCII)
"""A date or a moment as `label_text` writes it."""

_ARRAY_KINDS = {str: "U", int: "i", float: "f", bool: "b"}
_LONGEST_TEXT = 256
"""Longest label of a text array, in which every label takes the memory of the longest."""


def plain_labels(classes: Iterable[Any]) -> tuple[Label, ...]:
    """Convert NumPy scalars and similar types to plain Python labels.

    >>> plain_labels(np.array([1, 2]))
    (1, 2)
    """
    return tuple(_plain(label) for label in classes)


def _plain(label: Any) -> Label:
    if isinstance(label, np.datetime64):
        label = label.astype("datetime64[us]").item()
    elif isinstance(label, np.generic):
        label = label.item()
    elif isinstance(label, datetime.datetime):  # includes pandas.Timestamp
        label = datetime.datetime.fromisoformat(label.isoformat())
    if is_label(label):
        plain: Label = label
        return plain
    raise TableError(
        f"class label {label!r} is {type_name(label)}; expected text, a number, a boolean or a date"
    )


def is_label(value: object) -> bool:
    """Check whether a value can be a class label; NaN cannot, as it does not equal itself."""
    return isinstance(value, (str, bool, int, float, datetime.date)) and value == value


def label_array(labels: Sequence[Label]) -> NDArray[Any]:
    """Make an array whose elements equal the labels; of type object only if needed."""
    types = {type(label) for label in labels}
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    if len(types) == 1 and longest <= _LONGEST_TEXT:
        array = np.array(labels)
        # NumPy drops trailing NULs of text and converts integers beyond 64 bits to floats.
        if array.dtype.kind == _ARRAY_KINDS.get(types.pop()) and array.tolist() == list(labels):
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
    if isinstance(label, float) and math.isinf(label):  # JSON has no infinities
        return {"number": str(label)}
    return label


def label_from_json(value: Any) -> Label:
    """Read a label from a JSON value; raises ValueError for anything else."""
    match value:
        case {"moment": str(text), **rest} if not rest:
            return datetime.datetime.fromisoformat(text)
        case {"date": str(text), **rest} if not rest:
            return datetime.date.fromisoformat(text)
        case {"number": "inf" | "-inf" as text, **rest} if not rest:
            return float(text)
        case float() if not math.isfinite(value):
            raise ValueError("a number is too large for float64")
        case str() | bool() | int() | float():
            return value
    raise ValueError("expected text, a number, true, false or a date")


def label_text(label: Label) -> str:
    """Write a class label for people.

    Text that could be read as a date or as a comment is quoted.

    >>> label_text("not ill"), label_text(1), label_text("2020-01-02")
    ("'not ill'", '1', "'2020-01-02'")
    """
    if not isinstance(label, str):
        return str(label)
    return repr(label) if label.startswith("#") or DATE.fullmatch(label) else format_text(label)
