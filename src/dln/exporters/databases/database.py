"""What differs between databases, as data: types, numbers, quotes and limits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from dln.core.literals import ColumnKind
from dln.errors import OptionError
from dln.exporters.answer import Arithmetic
from dln.exporters.dialect import Dialect
from dln.exporters.text import has_utf8

Around = OneOf["lateral", "struct", "subquery", "chain"]
Unit = OneOf["bytes", "characters"]
ValueType = OneOf["bit", "integer", "number"]
"""What a column of a stage holds: a wire, votes, or a float64."""

LOGIC = Dialect(
    both="({a} AND {b})",
    either="({a} OR {b})",
    differ="({a} <> {b})",
    invert="(NOT {a})",
    never="FALSE",
    always="TRUE",
)
"""A wire is TRUE or FALSE, never NULL, so that SQL's three-valued logic does not apply."""
BITS = Dialect(
    both="({a} & {b})",
    either="({a} | {b})",
    differ="({a} ^ {b})",
    invert="(1 ^ {a})",
    never="0",
    always="1",
)
"""A wire is 1 or 0, for databases that have no truth values in columns."""


@dataclass(frozen=True)
class StageColumn:
    """A column that a stage of the statement computes."""

    name: str
    value: str
    type: ValueType = "bit"


@dataclass(frozen=True)
class TextFunctions:
    """How a database joins texts, for the column `explanation`.

    Attributes
    ----------
    cast
        Writes an integer `{x}` as text.
    tail
        The text `{x}` without its first character.
    join
        Joins a few texts.
    """

    cast: str = "CAST({x} AS TEXT)"
    tail: str = "substr({x}, 2)"
    join: Callable[[Sequence[str]], str] = " || ".join


@dataclass(frozen=True)
class Limits:
    """What a database can run.

    Attributes
    ----------
    deepest
        The most gates that are nested in one expression.
    stages
        The most stages, each computed from the one before.
    columns
        The most columns of a stage.
    name
        The longest name, in `name_unit`.
    bad_name
        Finds what a name may not contain.
    empty_names
        Whether a name may be empty.
    """

    deepest: int
    stages: int
    columns: int
    name: int
    name_unit: Unit = "bytes"
    bad_name: re.Pattern[str] = re.compile("\0")
    empty_names: bool = False


@dataclass(frozen=True)
class Database:
    """A kind of database.

    Attributes
    ----------
    title
        Its name in messages.
    cells
        Reads a column `{x}` of each kind as a float64 number or seconds, NULL if missing.
    text
        Reads a column `{x}` as text that is compared byte by byte.
    number
        Writes a finite float64 exactly.
    infinity
        Writes infinity. "NULL" if the database has none.
    exp
        Computes the exponential function of a float64 column `{x}`: 0 or infinity out of range.
    quote
        Writes text without special characters as a literal.
    types
        The type that a column of each kind must have.
    notes
        Further comments on the table.
    around
        How outputs are added to a row: "lateral" joins each row with a subquery that reads it,
        "struct" carries the row through the stages as one value, "subquery" computes each output
        by a separate subquery, "chain" joins each row with one stage after the other.
    limits
        What it can run.
    logic
        How it writes gates and truth values.
    wire
        Turns a condition `{test}`, which may be NULL, into a wire.
    holds
        Turns a wire `{wire}` into a condition.
    labels
        The labels False and True.
    strict_text
        Like `text`, but fails with the text `{message}` if the type is one of `{types}`. Empty for
        databases that cannot compare the type of a column.
    other_types
        The types other than text, by kind, with the names that `strict_text` compares.
    mark
        Ends each text before texts are compared, for databases that ignore blanks at the end.
    special
        Finds characters that `quote` cannot write.
    character
        An expression for such a character `{code}`; empty if text cannot hold it.
    integer
        The type of a 64-bit integer in CAST.
    texts
        How it joins texts.
    name_quotes
        The marks around a name. The second is doubled inside names.
    whole
        "struct" only: the row `{row}` as one value.
    stage
        "chain" only: writes a join with the columns of a stage, and the name of the stage.
    fence
        Ends a stage so that the planner does not copy its expressions into the next.
    stored_every
        Every n-th stage is MATERIALIZED, which keeps planning fast; 0 for none.
    greatest
        Writes the largest of at least two integers.
    refuses_duplicates
        Whether it refuses a view with two columns of one name.
    folds_case
        Whether names that differ only in letter case are the same name.
    stored
        The name of a column that is named without quotes, as the output columns are.
    """

    title: str
    cells: dict[ColumnKind, str]
    text: str
    number: Callable[[float], str]
    infinity: str
    exp: str
    quote: Callable[[str], str]
    types: dict[ColumnKind, str]
    notes: tuple[str, ...]
    around: Around
    limits: Limits
    logic: Dialect = LOGIC
    wire: str = "COALESCE({test}, FALSE)"
    holds: str = "{wire}"
    labels: tuple[str, str] = ("FALSE", "TRUE")
    strict_text: str = ""
    other_types: dict[ColumnKind, tuple[str, ...]] | None = None
    mark: str = ""
    special: re.Pattern[str] = re.compile("(\0)")
    character: str = ""
    integer: str = "BIGINT"
    texts: TextFunctions = TextFunctions()
    name_quotes: tuple[str, str] = ('"', '"')
    whole: str = ""
    stage: Callable[[Sequence[StageColumn], str], str] | None = None
    fence: str = ""
    stored_every: int = 0
    greatest: Callable[[Sequence[str]], str] = lambda values: f"GREATEST({', '.join(values)})"
    refuses_duplicates: bool = True
    folds_case: bool = True
    stored: Callable[[str], str] = str

    def literal(self, text: str) -> str | None:
        """Write text as an expression, or return None if no text of the database equals it."""
        if not has_utf8(text):
            return None
        parts = self.special.split(text)
        if len(parts) == 1:
            return self.quote(text)
        if not self.character:
            return None
        written = [
            self.character.format(code=ord(part)) if odd else self.quote(part)
            for place, part in enumerate(parts)
            if (odd := place % 2) or part
        ]
        return f"({self.texts.join(written)})" if len(written) > 1 else written[0]

    def read_text(self, x: str, name: str, categories: Sequence[str]) -> str:
        """Write an expression that reads a column as text.

        The query fails if the column has a type whose text would differ from the categories. For
        example, a database may read yes and no in a CSV file as booleans.
        """
        refused = [
            self.quote(other)
            for kind, types in (self.other_types or {}).items()
            if not all(_SPELLED[kind].fullmatch(category) for category in categories)
            for other in types
        ]
        plain = self.text.format(x=x)
        if not refused:
            return plain
        shown = self.literal(f"column {name!r} must be {self.types['category']}, not ")
        return self.strict_text.format(x=x, types=", ".join(refused), message=shown, plain=plain)

    def name(self, name: str) -> str:
        """Quote a name. Raises OptionError if the database does not allow it."""
        limits = self.limits
        if not has_utf8(name) or limits.bad_name.search(name) or not (name or limits.empty_names):
            raise OptionError(f"{self.title} cannot name a column or table {name!r}; rename it")
        size = len(name.encode() if limits.name_unit == "bytes" else name)
        if size > limits.name:
            raise OptionError(
                f"{self.title} limits names to {limits.name} {limits.name_unit}, and {name!r} has "
                f"{size}; rename it"
            )
        first, last = self.name_quotes
        return first + name.replace(last, last * 2) + last

    def read(self, stage: str, column: str) -> str:
        """Write a column of a stage. In a chain, columns of the table have the same scope."""
        return f"{stage}.{column}" if self.around == "chain" else column

    @property
    def arithmetic(self) -> Arithmetic:
        """How it computes with float64."""
        return Arithmetic(f"CAST({{x}} AS {self.types['number']})", self.exp, self.float64)

    def float64(self, value: float) -> str:
        """Write a number."""
        if math.isinf(value):
            return self.infinity if value > 0 else f"(-{self.infinity})"
        return self.number(value)


def quote(text: str) -> str:
    """Write text as in standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def number_with_exponent(value: float) -> str:
    """Write a number as a float: without an exponent, some databases read a decimal.

    >>> number_with_exponent(0.1), number_with_exponent(-1e300)
    ('0.1e0', '-1e+300')
    """
    text = repr(value)
    return text if "e" in text else f"{text}e0"


LARGEST_EXP = 709.782712893384
"""The exponential function of a larger number is infinite in float64."""

_SPELLED: dict[ColumnKind, re.Pattern[str]] = {
    "boolean": re.compile("true|false"),
    "integer": re.compile("0|-?[1-9][0-9]*"),
    "number": re.compile("(?!)"),  # never matches: a database may print 1.10 or 1.1
    "date": re.compile("(?!)"),
}
"""Patterns of the texts that all databases write for values of other types."""
