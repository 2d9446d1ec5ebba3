"""A value of the user's table -> text or a JSON value."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from dln.core.conditions import Cell
from dln.core.labels import label_to_json
from dln.core.literals import Column, format_category, format_value

_NUMBERS = Column("", "number")


def cell_text(cell: Cell) -> str:
    """Format a value as a user would write it, without rounding.

    >>> cell_text(None), cell_text(54.0), cell_text(datetime.datetime(2020, 1, 2)), cell_text("7")
    ('missing', '54', '2020-01-02', "'7'")
    """
    if cell is None:
        return "missing"
    if isinstance(cell, np.datetime64):
        return str(cell)
    if isinstance(cell, datetime.datetime):
        midnight = cell.time() == datetime.time()
        return cell.date().isoformat() if midnight else cell.isoformat()
    if isinstance(cell, float):
        return format_value(cell, _NUMBERS)
    return format_category(cell)


def cell_to_json(cell: Cell) -> Any:
    """Return a value as JSON: null if missing, dates and infinities as in class labels."""
    if cell is None:
        return None
    if isinstance(cell, np.datetime64):
        return {"moment": str(cell)}
    return label_to_json(cell)
