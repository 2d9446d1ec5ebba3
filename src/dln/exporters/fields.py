"""Columns -> the integers or floats that compiled targets read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf
from typing import get_args

from dln.core.integers import Meaning, integer_cutoff
from dln.core.literals import Among, Column
from dln.core.moments import seconds_at
from dln.errors import OptionError
from dln.exporters.categories import choose, holds_numbers, spelled_categories
from dln.exporters.names import identifiers
from dln.exporters.program import Program
from dln.exporters.text import has_utf8

Storage = OneOf["float", "integer", "boolean", "code"]
IntegerBits = OneOf[8, 16, 32, 64]

DATE_BITS = 64
_MOST_FRACTION_BITS = 62


@dataclass(frozen=True)
class Field:
    """How a compiled target reads one column.

    Attributes
    ----------
    index
        The column's number in the circuit.
    name
        Its identifier.
    bits
        The width of its integers; 64 for a float.
    fraction_bits
        How many of these bits are after the binary point.
    """

    index: int
    column: Column
    name: str
    storage: Storage
    bits: int
    fraction_bits: int = 0

    @cached_property
    def holds_numbers(self) -> bool:
        """Whether all categories are numbers."""
        return holds_numbers(self.column)

    @cached_property
    def spelled(self) -> tuple[str, ...]:
        """The categories as text."""
        return spelled_categories(self.column)

    def numbers(self, literal: Among) -> list[float]:
        """Return the categories of a literal as numbers."""
        return [float(self.column.categories[code]) for code in literal.categories]

    def texts(self, literal: Among) -> list[str]:
        """Return the categories of a literal as text. Inputs are UTF-8, so others never occur."""
        return [text for text in choose(self.spelled, literal.categories) if has_utf8(text)]

    def cutoff(self, cutoff: float) -> int | None:
        """Return the integer to compare with, or None if no integer is above the cutoff.

        If all integers are above the cutoff, return the least integer minus 1.
        """
        low, high = (0, 1) if self.storage == "boolean" else signed_range(self.bits)
        found = integer_cutoff(cutoff, meaning_of(self.column, self.fraction_bits), low, high)
        return None if found >= high else found

    def describe(self) -> str:
        """Describe the expected values."""
        if self.storage == "float":
            return "a number, NaN if missing"
        if self.storage == "code":
            return f"a code: 0 to {len(self.column.categories) - 1} for the known categories"
        if self.storage == "boolean":
            return "0 or 1"
        if self.column.kind == "date":
            return "microseconds since 1970-01-01, UTC"
        return f"the number times 2^{self.fraction_bits}" if self.fraction_bits else "an integer"


def column_note(field: Field) -> str:
    """Return the column's name, and the unit of a date, for a comment on a typed member."""
    unit = f": {field.describe()}" if field.column.kind == "date" else ""
    return f"Column {field.column.name!r}{unit}."


def fixed_point(fraction_bits: int) -> Meaning:
    """Read integers as fixed-point numbers with this many bits after the binary point."""
    return lambda value: math.ldexp(float(value), -fraction_bits)


def meaning_of(column: Column, fraction_bits: int = 0) -> Meaning:
    """Return the function from the integers of a column to the numbers that they stand for."""
    if column.kind == "date":
        return seconds_at
    return fixed_point(fraction_bits) if column.kind == "number" else float


def signed_range(bits: int) -> tuple[int, int]:
    """Return the least and the largest integer in two's complement."""
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def make_fields(
    program: Program, integer_bits: int, fraction_bits: int | None
) -> tuple[Field, ...]:
    """Choose how each column is read. Numbers are floats if `fraction_bits` is None."""
    if integer_bits not in get_args(IntegerBits):
        raise OptionError(f"integer_bits is {integer_bits!r}, expected 8, 16, 32 or 64")
    if fraction_bits is not None and not (
        type(fraction_bits) is int and 0 <= fraction_bits <= _MOST_FRACTION_BITS
    ):
        raise OptionError(
            f"fraction_bits is {fraction_bits!r}, expected an integer "
            f"from 0 to {_MOST_FRACTION_BITS}"
        )
    names = identifiers([column.name for column in program.columns])
    return tuple(
        _make_field(index, program.logic.columns[index], name, integer_bits, fraction_bits)
        for index, name in zip(program.inputs, names, strict=True)
    )


def _make_field(
    index: int, column: Column, name: str, integer_bits: int, fraction_bits: int | None
) -> Field:
    if column.kind == "category":
        return Field(index, column, name, "code", 32)
    if column.kind == "boolean":
        return Field(index, column, name, "boolean", 8)
    if column.kind == "date":
        return Field(index, column, name, "integer", DATE_BITS)
    if column.kind == "integer":
        return Field(index, column, name, "integer", integer_bits)
    if fraction_bits is None:
        return Field(index, column, name, "float", 64)
    return Field(index, column, name, "integer", integer_bits, fraction_bits)
