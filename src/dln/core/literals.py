"""Columns of the user's table, and the literals that turn a row into bits.

There are three kinds of literals: a number above a cutoff, a category in a set, a missing value.
Everything else is a negation. Missing values fail the first two.

Every kind states its number, its cutoffs, its categories and what it is for missing values. Code
that treats kinds differently matches all of them and ends in `assert_never`, so that mypy lists the
places that a new kind must be added to.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar
from typing import Literal as OneOf

from dln.core.value_range import ValueRange
from dln.errors import CircuitError

ColumnKind = OneOf["number", "integer", "boolean", "date", "category"]
Category = str | int | float | bool

COLUMN_KINDS: tuple[ColumnKind, ...] = ("number", "integer", "boolean", "date", "category")
_EPOCH = datetime.datetime(1970, 1, 1)
_MISREAD = re.compile(
    r"""[<>="'{},]|\b(and|or|xor|not|always|never|is missing)\b|^[(+-]"""
    r"""|^(true|false|nan|inf|[\d._]+(e[+-]?\d+)?)$""",
    re.IGNORECASE,
)
"""Text that could be mistaken for a part of a rule; it is quoted."""


@dataclass(frozen=True)
class Column:
    """One feature: its name in the user's table, its kind and its known categories.

    Numbers, integers, booleans (0 or 1) and dates (seconds since 1970) are compared as float64.

    Attributes
    ----------
    name
        The name in the user's table.
    kind
        "number", "integer", "boolean", "date" or "category".
    categories
        The categories in the training rows. Literals refer to them by number.
    binary
        Whether a column of numbers or integers held only 0 and 1 in the training rows. Its rules
        print as `= 1` and `!= 1`; the circuit computes the same without it.
    immutable
        Whether nobody can change the value, such as an age. `Circuit.changes` never proposes to.
        It is saved but not compared.
    range
        The values in the training rows, if known. Examples of rows take values from it; predictions
        do not use it. It is saved but not compared.

    Examples
    --------
    >>> Column("hue", "category", ("blue", "red")).is_numeric, Column("age", "integer").is_numeric
    (False, True)
    """

    name: str
    kind: ColumnKind
    categories: tuple[Category, ...] = ()
    binary: bool = False
    immutable: bool = field(default=False, compare=False)
    range: ValueRange | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.range is not None and self.range.quantiles and not self.is_numeric:
            raise CircuitError(f"column {self.name!r} has categories, but its range has quantiles")

    @property
    def is_numeric(self) -> bool:
        """Whether values are compared with cutoffs; otherwise they are matched with categories."""
        return self.kind != "category"


class LiteralKind(IntEnum):
    """The number of each kind of literal, as `literal_kinds.h` has it for native code and CUDA."""

    ABOVE = 0
    AMONG = 1
    MISSING = 2


@dataclass(frozen=True)
class Above:
    """True if the value of `column` is a number greater than `cutoff`.

    >>> Above(0, 54.0).describe((Column("age", "integer"),), negated=True)
    'age <= 54'
    >>> Above(0, 0.0).describe((Column("sex", "integer", binary=True),))
    'sex = 1'
    """

    column: int
    cutoff: float

    kind: ClassVar = LiteralKind.ABOVE
    categories: ClassVar[tuple[int, ...]] = ()
    true_if_missing: ClassVar = False

    @property
    def cutoffs(self) -> tuple[float, ...]:
        """The numbers that values are compared with."""
        return (self.cutoff,)

    def describe(self, columns: tuple[Column, ...], *, negated: bool = False) -> str:
        """Write the literal, or its negation, in the user's words."""
        column = columns[self.column]
        name = format_name(column.name)
        if 0 <= self.cutoff < 1:
            if column.kind == "boolean":
                return f"not {name}" if negated else name
            # A number between 0 and 1 is above 0 only, so other cutoffs are written out.
            if column.binary and (column.kind == "integer" or self.cutoff == 0):
                # "!= 1" rather than "= 0": a missing value is not above the cutoff.
                return f"{name} {'!=' if negated else '='} 1"
        return f"{name} {'<=' if negated else '>'} {format_value(self.cutoff, column)}"


@dataclass(frozen=True)
class Among:
    """True if the value of `column` is one of `categories` (indices into the column's).

    >>> Among(0, (0, 2)).describe((Column("hue", "category", ("blue", "green", "red")),))
    'hue in {blue, red}'
    """

    column: int
    categories: tuple[int, ...]

    kind: ClassVar = LiteralKind.AMONG
    cutoffs: ClassVar[tuple[float, ...]] = ()
    true_if_missing: ClassVar = False

    def describe(self, columns: tuple[Column, ...], *, negated: bool = False) -> str:
        """Write the literal, or its negation, in the user's words."""
        column = columns[self.column]
        name = format_name(column.name)
        shown = [format_category(column.categories[index]) for index in self.categories]
        if len(shown) == 1:
            return f"{name} {'!=' if negated else '='} {shown[0]}"
        return f"{name} {'not in' if negated else 'in'} {{{', '.join(shown)}}}"


@dataclass(frozen=True)
class Missing:
    """True if the value of `column` is missing.

    >>> Missing(0).describe((Column("age", "integer"),))
    'age is missing'
    """

    column: int

    kind: ClassVar = LiteralKind.MISSING
    cutoffs: ClassVar[tuple[float, ...]] = ()
    categories: ClassVar[tuple[int, ...]] = ()
    true_if_missing: ClassVar = True

    def describe(self, columns: tuple[Column, ...], *, negated: bool = False) -> str:
        """Write the literal, or its negation, in the user's words."""
        name = format_name(columns[self.column].name)
        return f"{name} is {'not ' if negated else ''}missing"


Literal = Above | Among | Missing


def sorted_cutoffs(literals: Iterable[Literal]) -> list[float]:
    """List the different cutoffs of some literals, ascending."""
    return sorted({cutoff for literal in literals for cutoff in literal.cutoffs})


def format_value(value: float, column: Column) -> str:
    """Format a number of this column as a user would write it, without rounding.

    >>> format_value(54.0, Column("age", "integer")), format_value(86400.0, Column("d", "date"))
    ('54', '1970-01-02')
    """
    if column.kind == "date":
        return _format_date(value)
    return repr(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(float(value))


def _format_date(seconds: float) -> str:
    try:
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
        exact = (moment - _EPOCH).total_seconds() == seconds
    except OverflowError:
        exact = False
    if not exact:  # before year 1, after year 9999, or between two microseconds
        return f"{float(seconds)!r} s since 1970"
    return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat()


def format_category(category: Category) -> str:
    """Format a category: text by `format_text`, numbers and booleans by `repr`."""
    return format_text(category) if isinstance(category, str) else repr(category)


def format_name(name: str) -> str:
    """Format the name of a column; an empty name, as R gives row numbers, becomes "(unnamed)".

    >>> print(format_name("age"), format_name(""), format_name("(unnamed)"))
    age (unnamed) '(unnamed)'
    """
    return format_text(name) if name else "(unnamed)"


def format_text(text: str) -> str:
    """Format a name or a category; it is quoted only if it could be misread.

    >>> print(format_text("petal length (cm)"), format_text("salt and pepper"), format_text("7"))
    petal length (cm) 'salt and pepper' '7'
    """
    plain = text.isprintable() and text == text.strip() != "" and not _MISREAD.search(text)
    return text if plain and _is_balanced(text) else repr(text)


def _is_balanced(text: str) -> bool:
    """Check whether the parentheses in the text are balanced."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0
