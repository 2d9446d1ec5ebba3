"""The values of a column as a person would write them."""

from __future__ import annotations

from typing import Any

from dln.core.conditions import Cell
from dln.core.literals import Column
from dln.core.moments import moment_of
from dln.data.table import RawColumn, is_missing


def readable_cells(column: Column, raw: RawColumn) -> list[Cell]:
    """Return the values of a column as a person would write them; None if missing."""
    return [_readable(column, value) for value in raw.values.tolist()]


def _readable(column: Column, value: Any) -> Cell:
    if is_missing(value):
        return None
    if column.kind == "date":
        return moment_of(value)
    if column.kind == "integer" and float(value).is_integer():
        return int(value)
    if column.kind == "boolean" and value in (0, 1):
        return bool(value)
    found: Cell = value
    return found
