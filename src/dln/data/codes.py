"""Columns of a table -> the numbers and category codes that a circuit's literals test.

Columns are found by name, or by position if the table has no names. Promise: text is never read
as numbers, and dates are read as neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import Column, ColumnKind
from dln.data.coded import coded
from dln.data.table import RawColumn, Table, read_numbers
from dln.errors import ColumnTypeError, MissingColumnError, TableError

MISSING_CODE, UNSEEN_CODE = -1, -2
"""Codes of values that are none of a column's categories."""

NATIVE_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
"""Float types that the native code reads without conversion."""

_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,299})")

_KIND_WORDS: dict[ColumnKind, str] = {
    "number": "numbers",
    "integer": "integers",
    "boolean": "booleans",
    "date": "dates",
    "category": "categories",
}


def places_of(table: Table, columns: Sequence[Column], used: Sequence[int]) -> dict[int, int]:
    """Return the position of each used column in this table."""
    if table.names is None:
        if table.n_columns != len(columns):
            raise TableError(
                f"the table has {table.n_columns} columns, the circuit was trained on "
                f"{len(columns)}; give all of them, in the same order, or a data frame with names"
            )
        return {index: index for index in used}
    where = {name: place for place, name in enumerate(table.names)}
    missing = [columns[index].name for index in used if columns[index].name not in where]
    if missing:
        raise MissingColumnError(
            f"the circuit reads {missing}, but the table has only {list(table.names)}; "
            "rename the columns or refit on this table"
        )
    return {index: where[columns[index].name] for index in used}


def encode_cells(raw: RawColumn, column: Column) -> NDArray[Any]:
    """Turn the values of one column into numbers, or into category codes (int32).

    Raises `ColumnTypeError` if a number was expected and text was found, or the reverse.
    """
    if not column.is_numeric:
        return _category_codes(raw, column)
    if raw.kind == "category":
        text = next((cell for cell in raw.values if isinstance(cell, str)), None)
        if text is not None:
            raise _wrong_kind(repr(text), column)
        raw = read_numbers(raw, column.name)  # a table may declare numbers as categories
    if (raw.kind == "date") == (column.kind == "date"):
        return native_numbers(raw.values)
    if np.isnan(raw.values).all():  # a column without values may be of any kind
        return np.full(len(raw.values), np.nan)
    raise _wrong_kind(_KIND_WORDS[raw.kind], column)


def _wrong_kind(found: str, column: Column) -> ColumnTypeError:
    return ColumnTypeError(
        f"column {column.name!r} holds {found}, expected {_KIND_WORDS[column.kind]}; "
        "convert the column, and replace other values by missing values"
    )


def _category_codes(raw: RawColumn, column: Column) -> NDArray[np.int32]:
    if raw.kind != "category":
        return _category_codes_of_numbers(raw, column)
    own = coded(raw)
    codes: dict[Any, int] = {category: code for code, category in enumerate(column.categories)}
    if _holds_text(column):
        # Text and numbers together come from tables without types, where 1 may be read as "1".
        for category, code in tuple(codes.items()):
            codes.setdefault(str(category), code)
    elif column.categories:
        text = next((cell for cell in own.counts() if isinstance(cell, str)), None)
        if text is not None:
            raise _other_categories(f"the text {text!r}", column, "numbers")
    found = [codes.get(category, UNSEEN_CODE) for category in own.distinct]
    # The code of a missing value is -1 here, too: the last one.
    return np.array([*found, MISSING_CODE], dtype=np.int32)[own.codes]


def _category_codes_of_numbers(raw: RawColumn, column: Column) -> NDArray[np.int32]:
    """Find numbers among the categories; a column of text and numbers may contain only numbers."""
    missing = np.isnan(raw.values)
    numbers: dict[Any, int] = {
        category: code
        for code, category in enumerate(column.categories)
        if not isinstance(category, str)
    }
    if not missing.all() and (raw.kind == "date" or not numbers):
        raise _other_categories(_KIND_WORDS[raw.kind], column, "text")
    if _holds_text(column):
        for code, category in enumerate(column.categories):
            if isinstance(category, str) and _WHOLE_NUMBER.fullmatch(category):
                numbers.setdefault(int(category), code)
    found = (numbers.get(cell, UNSEEN_CODE) for cell in raw.values.tolist())
    codes = np.fromiter(found, dtype=np.int32, count=len(raw.values))
    codes[missing] = MISSING_CODE
    return codes


def _holds_text(column: Column) -> bool:
    return any(isinstance(category, str) for category in column.categories)


def _other_categories(found: str, column: Column, convert_to: str) -> ColumnTypeError:
    known = ", ".join(repr(category) for category in column.categories[:3]) or "none"
    return ColumnTypeError(
        f"column {column.name!r} holds {found}, expected categories such as "
        f"those it was trained on ({known}); convert the column to {convert_to}"
    )


def native_numbers(numbers: NDArray[Any]) -> NDArray[Any]:
    """Convert float types that the native code does not read: half and extended precision."""
    odd = numbers.dtype.kind == "f" and numbers.dtype not in NATIVE_FLOATS
    return numbers.astype(np.float64) if odd else numbers
