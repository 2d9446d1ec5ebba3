"""Columns of the user's table, and the literals that turn a row into bits.

One literal form each: a number above a cutoff, a category in a set, a missing cell. Everything
else is a negation. A missing cell is above no cutoff and in no set of categories.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal as OneOf

ColumnKind = OneOf["number", "integer", "boolean", "date", "category"]
Category = str | int | float | bool

COLUMN_KINDS: tuple[ColumnKind, ...] = ("number", "integer", "boolean", "date", "category")
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Column:
    """One feature: its name in the user's table, what it holds and its known categories.

    Numbers, integers, booleans (0 or 1) and dates (seconds since 1970) are compared as float64.
    """

    name: str
    kind: ColumnKind
    categories: tuple[Category, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether cells are compared with cutoffs; otherwise they are matched with categories."""
        return self.kind != "category"


@dataclass(frozen=True)
class Above:
    """True where the cell of `column` is a number greater than `cutoff`."""

    column: int
    cutoff: float

    def describe(self, columns: tuple[Column, ...], *, negated: bool = False) -> str:
        """Say the literal, or its negation, in the user's words."""
        column = columns[self.column]
        if column.kind == "boolean" and 0 <= self.cutoff < 1:
            return f"not {column.name}" if negated else column.name
        return f"{column.name} {'<=' if negated else '>'} {format_value(self.cutoff, column)}"


@dataclass(frozen=True)
class Among:
    """True where the cell of `column` is one of `categories` (indices into the column's)."""

    column: int
    categories: tuple[int, ...]

    def describe(self, columns: tuple[Column, ...], *, negated: bool = False) -> str:
        """Say the literal, or its negation, in the user's words."""
        column = columns[self.column]
        names = [format_category(column.categories[index]) for index in self.categories]
        if len(names) == 1:
            return f"{column.name} {'!=' if negated else '='} {names[0]}"
        shown = ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])}, … {len(names)}"
        return f"{column.name} {'not in' if negated else 'in'} {{{shown}}}"


@dataclass(frozen=True)
class Missing:
    """True where the cell of `column` is missing."""

    column: int

    def describe(self, columns: tuple[Column, ...], *, negated: bool = False) -> str:
        """Say the literal, or its negation, in the user's words."""
        return f"{columns[self.column].name} is {'not ' if negated else ''}missing"


Literal = Above | Among | Missing


def format_value(value: float, column: Column) -> str:
    """Write a number of this column the way its user would.

    >>> format_value(54.0, Column("age", "integer")), format_value(86400.0, Column("d", "date"))
    ('54', '1970-01-02')
    """
    if column.kind == "date":
        try:
            moment = _EPOCH + datetime.timedelta(seconds=value)
        except OverflowError:
            return f"{value!r} s since 1970"
        return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat()
    return repr(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(float(value))


def format_category(category: Category) -> str:
    """Write a category; text is quoted only where a bare word could be misread."""
    if not isinstance(category, str):
        return repr(category)
    plain = category.isprintable() and category == category.strip() and category != ""
    return category if plain and not set(category) & set("\"',{}") else repr(category)
