"""The differences between databases, as data: types, numbers, quotes and limits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal as OneOf

from dln.core.literals import ColumnKind
from dln.errors import OptionError
from dln.exporters.answer import Arithmetic
from dln.exporters.dialect import Dialect
from dln.exporters.text import has_utf8

DatabaseName = OneOf["sqlite", "duckdb", "postgresql"]
Around = OneOf["lateral", "struct", "subquery"]

_EXACT_INTEGER = 2**53
_EXACT_TENS = 15
_STEP = 40
_MOST_ARGUMENTS = 100

_LOGIC = Dialect(
    both="({a} AND {b})",
    either="({a} OR {b})",
    differ="({a} <> {b})",
    invert="(NOT {a})",
    never="FALSE",
    always="TRUE",
)
"""A wire is TRUE or FALSE, never NULL, so that SQL's three-valued logic does not apply."""
# SQLite reads TRUE and FALSE as columns if the table has columns of those names.
_SQLITE_LOGIC = replace(_LOGIC, never="0", always="1")


@dataclass(frozen=True)
class Database:
    """A kind of database.

    Attributes
    ----------
    title
        Its name in messages.
    logic
        How it writes gates and truth values.
    cells
        Reads a column `{x}` of each kind as a float64 number or seconds, NULL if missing.
    text
        Reads a column `{x}` as text that is compared byte by byte.
    strict_text
        The same, but fails with the text `{message}` if the type is one of `{types}`. Empty for
        databases whose columns have no types.
    other_types
        The types other than text, by kind, with the names that `strict_text` compares.
    number
        Writes a finite float64 exactly.
    infinity
        Writes infinity.
    exp
        Computes the exponential function of a float64 column `{x}`: 0 or infinity out of range.
    nul
        An expression for the character NUL in text; None if text cannot hold it.
    quote
        Writes text without NULs as a literal.
    types
        The type that a column of each kind must have.
    notes
        Further comments on the table.
    around
        How outputs are added to a row: "lateral" joins each row with a subquery that reads it,
        "struct" carries the row through the stages as one value, "subquery" computes each output
        by a separate subquery.
    fence
        Ends a stage so that the planner does not copy its expressions into the next.
    stored_every
        Every n-th stage is MATERIALIZED, which keeps planning fast; 0 for none.
    greatest
        Writes the largest of at least two integers.
    deepest
        The most gates that are nested in one expression.
    most_stages
        The most stages that the database can run, each computed from the one before.
    most_columns
        The most columns of a stage.
    most_bytes
        The most bytes of a name.
    refuses_duplicates
        Whether it refuses a view with two columns of one name.
    folds_case
        Whether names that differ only in letter case are the same name.
    empty_names
        Whether a name may be empty.
    """

    title: str
    logic: Dialect
    cells: dict[ColumnKind, str]
    text: str
    strict_text: str
    other_types: dict[ColumnKind, tuple[str, ...]]
    number: Callable[[float], str]
    infinity: str
    exp: str
    nul: str | None
    quote: Callable[[str], str]
    types: dict[ColumnKind, str]
    notes: tuple[str, ...]
    around: Around
    fence: str
    stored_every: int
    greatest: Callable[[Sequence[str]], str]
    deepest: int
    most_stages: int
    most_columns: int
    most_bytes: int
    refuses_duplicates: bool
    folds_case: bool
    empty_names: bool

    def literal(self, text: str) -> str | None:
        """Write text as an expression, or return None if no text of the database equals it."""
        if not has_utf8(text) or ("\0" in text and self.nul is None):
            return None
        if "\0" not in text:
            return self.quote(text)
        return "(" + f" || {self.nul} || ".join(map(self.quote, text.split("\0"))) + ")"

    def read_text(self, x: str, name: str, categories: Sequence[str]) -> str:
        """Write an expression that reads a column as text.

        The query fails if the column has a type whose text would differ from the categories. For
        example, a database may read yes and no in a CSV file as booleans.
        """
        refused = [
            self.quote(other)
            for kind, types in self.other_types.items()
            if not all(_SPELLED[kind].fullmatch(category) for category in categories)
            for other in types
        ]
        plain = self.text.format(x=x)
        if not refused:
            return plain
        shown = self.quote(f"column {name!r} must be {self.types['category']}, not ")
        return self.strict_text.format(x=x, types=", ".join(refused), message=shown, plain=plain)

    def name(self, name: str) -> str:
        """Quote a name. Raises OptionError if the database does not allow it."""
        size = len(name.encode("utf-8", "surrogatepass"))
        if not has_utf8(name) or "\0" in name or not (name or self.empty_names):
            raise OptionError(f"{self.title} cannot name a column or table {name!r}; rename it")
        if size > self.most_bytes:
            raise OptionError(
                f"{self.title} limits names to {self.most_bytes} bytes, and {name!r} has {size}; "
                "rename it"
            )
        return '"' + name.replace('"', '""') + '"'

    @property
    def arithmetic(self) -> Arithmetic:
        """How it computes with float64."""
        return Arithmetic(f"CAST({{x}} AS {self.types['number']})", self.exp, self.float64)

    def float64(self, value: float) -> str:
        """Write a number."""
        if math.isinf(value):
            return self.infinity if value > 0 else f"(-{self.infinity})"
        return self.number(value)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quote_postgresql(text: str) -> str:
    """Quote text so that it means the same with and without standard_conforming_strings."""
    escaped = _quote(text.replace("\\", "\\\\"))
    return f"E{escaped}" if "\\" in text else escaped


def exact_number(value: float) -> str:
    """Write a number exactly, even if the database reads decimals inexactly.

    SQLite reads some decimals as a neighbour of the nearest float64. Decimals that are exactly a
    float64 are safe, and so are quotients: the decimal as a fraction of integers, or, if it has too
    many digits, an integer and powers of two.

    >>> exact_number(54.5), exact_number(-0.1), exact_number(2.0**-60)
    ('54.5', '(-1 / 10.0)', '(1 / 1099511627776.0 / 1048576.0)')
    """
    decimal = Decimal(repr(value))
    sign, digits, exponent = decimal.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    if abs(whole) < _EXACT_INTEGER and -_EXACT_TENS <= exponent <= 0:
        if decimal == Decimal(value):
            return format(decimal, "f") if exponent else f"{whole}.0"
        return f"({whole} / {10**-exponent}.0)"
    top, bottom = value.as_integer_ratio()
    powers = []
    while top and top % 2**_STEP == 0:
        top //= 2**_STEP
        powers.append(f" * {2**_STEP}.0")
    while bottom > 1:
        step = min(bottom, 2**_STEP)
        bottom //= step
        powers.append(f" / {step}.0")
    while abs(top) >= _EXACT_INTEGER:  # at most _STEP - 1 rounds, see the first loop
        top //= 2
        powers.append(" * 2.0")
    return f"({top}{''.join(powers) or ' * 1.0'})"


def _greatest(values: Sequence[str]) -> str:
    return f"GREATEST({', '.join(values)})"


def _sqlite_greatest(values: Sequence[str]) -> str:
    """Nest calls: a function takes at most 127 arguments. With one argument, max is an aggregate.

    >>> _sqlite_greatest(["a", "b", "c"])
    'max(a, b, c)'
    """
    while len(values) > _MOST_ARGUMENTS:
        parts = [values[at : at + _MOST_ARGUMENTS] for at in range(0, len(values), _MOST_ARGUMENTS)]
        values = [f"max({', '.join(part)})" if len(part) > 1 else part[0] for part in parts]
    return f"max({', '.join(values)})"


_SPELLED: dict[ColumnKind, re.Pattern[str]] = {
    "boolean": re.compile("true|false"),
    "integer": re.compile("0|-?[1-9][0-9]*"),
    "number": re.compile("(?!)"),  # never matches: a database may print 1.10 or 1.1
    "date": re.compile("(?!)"),
}
"""Patterns of the texts that all databases write for values of other types."""

# Columns of numbers may hold text from files. Compared with a REAL, SQLite converts text that is a
# number, and all other text is greater. A cast alone would turn other text into 0.
_SQLITE_NUMBER = "CASE WHEN {x} <= CAST(9e999 AS REAL) THEN CAST({x} AS REAL) END"
_DUCKDB_NUMBER = "NULLIF(CAST({x} AS DOUBLE), CAST('NaN' AS DOUBLE))"
_POSTGRESQL_NUMBER = "NULLIF(CAST({x} AS double precision), CAST('NaN' AS double precision))"

DATABASES: dict[DatabaseName, Database] = {
    "sqlite": Database(
        title="SQLite",
        logic=_SQLITE_LOGIC,
        cells={
            "number": _SQLITE_NUMBER,
            "integer": _SQLITE_NUMBER,
            "boolean": (
                "CASE lower({x}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0"
                f" ELSE {_SQLITE_NUMBER} END"
            ),
            # SQLite has no type for dates: numbers are seconds, and text is read by strftime.
            "date": (
                "CASE WHEN typeof({x}) = 'text' THEN (CAST(strftime('%s', {x}) AS INTEGER) * 1000"
                " + CAST(substr(strftime('%f', {x}), 4) AS INTEGER)) / 1000.0"
                " ELSE CAST({x} AS REAL) END"
            ),
        },
        text="CAST({x} AS TEXT) COLLATE BINARY",
        strict_text="",
        other_types={},
        number=exact_number,
        infinity="9e999",
        exp="exp({x})",
        nul="char(0)",
        quote=_quote,
        types={
            "number": "REAL",
            "integer": "INTEGER",
            "boolean": "0 or 1",
            "date": "seconds since 1970, or ISO text",
            "category": "TEXT",
        },
        notes=(
            "In columns of numbers, booleans and dates, text is converted. Text that cannot be",
            "converted, for example '', is a missing value. In TEXT columns only NULL is missing.",
        ),
        around="subquery",
        fence="LIMIT 1 OFFSET 0",
        stored_every=0,
        greatest=_sqlite_greatest,
        deepest=8,  # the stack of its parser holds 100 symbols
        most_stages=5000,
        most_columns=2000,
        most_bytes=10**6,
        refuses_duplicates=False,
        folds_case=True,
        empty_names=True,
    ),
    "duckdb": Database(
        title="DuckDB",
        logic=_LOGIC,
        cells={
            "number": _DUCKDB_NUMBER,
            "integer": _DUCKDB_NUMBER,
            "boolean": _DUCKDB_NUMBER,
            # The epoch of an infinite date is NULL, which would count as missing.
            "date": (
                "CASE {x} WHEN 'infinity' THEN CAST('Infinity' AS DOUBLE)"
                " WHEN '-infinity' THEN CAST('-Infinity' AS DOUBLE)"
                " ELSE CAST(epoch_us({x}) AS DOUBLE) / CAST(1000000 AS DOUBLE) END"
            ),
        },
        text="CAST({x} AS VARCHAR)",
        strict_text=(
            "CASE WHEN split_part(typeof({x}), '(', 1) IN ({types})"
            " THEN CAST(error({message} || typeof({x})) AS VARCHAR) ELSE {plain} END"
        ),
        other_types={
            "boolean": ("BOOLEAN",),
            "integer": (
                *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
                *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
            ),
            "number": ("FLOAT", "DOUBLE", "DECIMAL"),
            "date": (
                *("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
                *("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
            ),
        },
        number=lambda value: f"CAST('{value!r}' AS DOUBLE)",
        infinity="CAST('Infinity' AS DOUBLE)",
        exp="exp({x})",
        nul="chr(0)",
        quote=_quote,
        types={
            "number": "DOUBLE",
            "integer": "BIGINT",
            "boolean": "BOOLEAN",
            "date": "DATE or TIMESTAMP",
            "category": "VARCHAR",
        },
        notes=(
            "NULL and NaN are missing values. Columns of other types are converted or refused.",
        ),
        around="struct",
        fence="",
        stored_every=0,
        greatest=_greatest,
        deepest=100,
        most_stages=900,  # it limits nested expressions and subqueries to 1,000
        most_columns=10**6,
        most_bytes=10**6,
        refuses_duplicates=False,
        folds_case=True,
        empty_names=False,
    ),
    "postgresql": Database(
        title="PostgreSQL",
        logic=_LOGIC,
        cells={
            "number": _POSTGRESQL_NUMBER,
            "integer": _POSTGRESQL_NUMBER,
            "boolean": "CAST(CAST({x} AS integer) AS double precision)",
            # The epoch of an infinite date is infinite and cannot be cast to bigint.
            "date": (
                "CASE WHEN isfinite({x}) THEN"
                " CAST(CAST(EXTRACT(EPOCH FROM {x}) * 1000000 AS bigint) AS double precision)"
                " / CAST(1000000 AS double precision)"
                " ELSE CAST(EXTRACT(EPOCH FROM {x}) AS double precision) END"
            ),
        },
        text='CAST({x} AS text) COLLATE "C"',
        # PostgreSQL has no function that raises an error, so a failing cast shows the message.
        strict_text=(
            "CASE WHEN CAST(pg_typeof({x}) AS text) IN ({types})"
            " THEN CAST(CAST({message} || pg_typeof({x}) AS boolean) AS text) ELSE {plain} END"
        ),
        other_types={
            "boolean": ("boolean",),
            "integer": ("smallint", "integer", "bigint"),
            "number": ("real", "double precision", "numeric"),
            "date": (
                *("date", "time without time zone"),
                *("timestamp without time zone", "timestamp with time zone"),
            ),
        },
        number=lambda value: f"CAST('{value!r}' AS double precision)",
        infinity="CAST('Infinity' AS double precision)",
        # It raises an error for a result that is infinite, zero or below the normal numbers.
        exp=(
            "CASE WHEN {x} > 709.782712893384 THEN CAST('Infinity' AS double precision)"
            " WHEN {x} < -745.1 THEN 0 WHEN {x} < -708 THEN exp({x} / 2) * exp({x} / 2)"
            " ELSE exp({x}) END"
        ),
        nul=None,
        quote=_quote_postgresql,
        types={
            "number": "double precision",
            "integer": "bigint",
            "boolean": "boolean",
            "date": "date or timestamp",
            "category": "text",
        },
        notes=(
            "NULL and NaN are missing values. Columns of other types are converted or refused.",
        ),
        around="lateral",
        fence="OFFSET 0",
        stored_every=4,
        greatest=_greatest,
        deepest=100,
        most_stages=1000,
        most_columns=1600,
        most_bytes=63,
        refuses_duplicates=True,
        folds_case=False,
        empty_names=False,
    ),
}
"""All supported databases."""
