"""Literals of one column -> its atoms: which literals can be true together, and for which value.

Literals of one column depend on each other: `x > 5` implies `x > 3`, a value has one category, and
a missing value fails every `x > t`. The column's *atoms* express all of this. An atom is a set of
values that the literals cannot distinguish. Every possible value is in exactly one atom, every atom
contains at least one possible value, and a literal is the set of atoms in which it is true.

Possible values, by the column's kind; each may also be missing:

- number: every float64, including the infinities;
- integer: whole numbers that float64 holds;
- boolean: False and True;
- date: moments in whole microseconds, as `datetime64[us]` holds them (292,000 years around 1970);
- category: the known categories, and any other text.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from dln.core.decimals import readable_cutoff
from dln.core.literals import (
    Above,
    Among,
    Category,
    Column,
    ColumnKind,
    Literal,
    Missing,
    sorted_cutoffs,
)
from dln.core.moments import LAST_TICK, last_tick, readable_moment, seconds_at

Cell = Category | datetime.datetime | np.datetime64 | None
"""A value of the user's table; None if it is missing."""


@dataclass(frozen=True)
class Gap:
    """The numbers of a column above `low` and not above `high`.

    If the training values of the column were 0 and 1 only (`binary`), one of these is the example.
    Otherwise it is in the first of the intervals `likely` that reaches into the gap.
    """

    kind: ColumnKind
    low: float
    high: float
    binary: bool = False
    likely: tuple[tuple[float, float], ...] = field(default=(), compare=False, repr=False)

    @property
    def bit(self) -> int | None:
        """Return the 0 or 1 of a binary column that is in the gap, 1 first; None if neither is."""
        bits = (1, 0) if self.binary else ()
        return next((bit for bit in bits if self.low < bit <= self.high), None)

    @property
    def least(self) -> float:
        """Return the least number in the gap."""
        least = least_above(self.low, self.kind)
        assert least is not None
        return least

    @property
    def is_likely(self) -> bool:
        """Whether the gap has values in the range of the training rows, or that is not known."""
        return not self.likely or self.narrowed(*self.likely[-1]) is not None

    def narrowed(self, lowest: float | None, highest: float | None) -> Gap | None:
        """Restrict the gap to a range that includes its ends; None if nothing is left.

        >>> Gap("integer", 50.0, 60.0).narrowed(58.5, None)
        Gap(kind='integer', low=58.49999999999999, high=60.0, binary=False)
        >>> Gap("integer", 50.0, 60.0).narrowed(60.5, None) is None
        True
        """
        low = self.low
        if lowest is not None:
            low = max(low, math.nextafter(float(lowest), -math.inf))
        high = self.high if highest is None else min(self.high, float(highest))
        least = least_above(low, self.kind)
        return None if least is None or least > high else replace(self, low=low, high=high)

    @property
    def cell(self) -> Cell:
        """Return a likely value in the gap, or the most readable one if none is known.

        >>> Gap("integer", -math.inf, 240.0).cell
        0
        >>> likely = ((210.0, 280.0), (120.0, 580.0))
        >>> Gap("integer", -math.inf, 240.0, likely=likely).cell
        230
        >>> Gap("integer", -math.inf, 150.0, likely=likely).cell
        140
        """
        for interval in self.likely:
            part = self.narrowed(*interval)
            if part is not None:
                return part._readable
        return self._readable

    @property
    def _readable(self) -> Cell:
        """The most readable value in the gap."""
        if self.bit is not None:
            return self.bit if self.kind == "integer" else float(self.bit)
        if self.kind == "boolean":
            return self.least == 1
        if self.kind == "date":
            return readable_moment(self.least, self.low, self.high)
        number = self.least
        if math.isfinite(number):  # otherwise only infinity is above the cutoff
            # If one end is infinite, the most readable number is near the other end.
            low = number if math.isfinite(self.low) else -math.inf
            number = readable_cutoff(low, math.nextafter(self.high, math.inf), self.kind)
        return int(number) if self.kind == "integer" else number


@dataclass(frozen=True)
class Choice:
    """Values that match the same literals as this category; None means missing values."""

    cell: Cell


Atom = Gap | Choice


@dataclass(frozen=True)
class ColumnAtoms:
    """The atoms of one column, for some literals of it.

    Attributes
    ----------
    atoms
        Missing values first if a literal distinguishes them, then numbers in order, or categories.
        `atom.cell` is an example in the user's units.
    where
        For each literal, in the order given, the indices of the atoms in which it is true,
        ascending; a `range` for cutoffs. Literals that are equal on every value have equal entries.
    """

    atoms: tuple[Atom, ...]
    where: tuple[Sequence[int], ...]

    def truths(self, atom: int) -> tuple[bool, ...]:
        """Return which literals are true in an atom."""
        return tuple(atom in true for true in self.where)


def column_atoms(column: Column, literals: Sequence[Literal]) -> ColumnAtoms:
    """Find the atoms of one column for literals that all read it.

    No two atoms make the same literals true. Apart from sorting, time and size are linear in the
    number of cutoffs and categories of the literals.

    >>> age = column_atoms(Column("age", "integer"), (Above(0, 3.2), Above(0, 3.7), Above(0, 9.0)))
    >>> [(atom.cell, age.truths(number)) for number, atom in enumerate(age.atoms)]
    [(0, (False, False, False)), (7, (True, True, False)), (10, (True, True, True))]
    >>> column_atoms(Column("hue", "category", ("red", "blue")), (Among(0, (1,)), Missing(0)))
    ColumnAtoms(atoms=(Choice(cell=None), Choice(cell='red'), Choice(cell='blue')),
                where=((2,), (0,)))
    """
    if column.is_numeric:
        return _atoms_of_cutoffs(column, literals)
    return _atoms_of_categories(column, literals)


def _atoms_of_cutoffs(column: Column, literals: Sequence[Literal]) -> ColumnAtoms:
    cutoffs = sorted_cutoffs(literals)
    likely = () if column.range is None else column.range.intervals
    gaps: list[Atom] = []
    n_below = {}
    for low, high in zip((-math.inf, *cutoffs), (*cutoffs, math.inf), strict=True):
        n_below[low] = len(gaps)
        least = least_above(low, column.kind)
        if least is not None and least <= high:
            gaps.append(Gap(column.kind, low, high, column.binary, likely))
    # Missing values are like values below all cutoffs, unless a literal tests for missing values or
    # no value is below all cutoffs.
    below_all = not cutoffs or n_below[cutoffs[0]] > 0
    apart = not below_all or any(literal.true_if_missing for literal in literals)
    atoms: tuple[Atom, ...] = (*([Choice(None)] if apart else []), *gaps)

    def true_atoms(literal: Literal) -> range:
        match literal:
            case Above():
                return range(n_below[literal.cutoff] + apart, len(atoms))
            case Missing():
                return range(1)
            case Among():
                raise AssertionError("numbers have no categories")
            case _:
                assert_never(literal)

    return ColumnAtoms(atoms, tuple(map(true_atoms, literals)))


def _atoms_of_categories(column: Column, literals: Sequence[Literal]) -> ColumnAtoms:
    readers: list[list[int]] = [[] for _ in column.categories]
    for number, literal in enumerate(literals):
        for category in literal.categories:
            readers[category].append(number)
    apart = any(literal.true_if_missing for literal in literals)
    unread = (c for c, read in zip(column.categories, readers, strict=True) if not read)
    atoms = [Choice(None)] if apart else []
    atoms.append(Choice(next(unread, _unseen(column))))
    where = [[0] if literal.true_if_missing else [] for literal in literals]
    found: set[tuple[int, ...]] = {()}
    for cell, read in zip(column.categories, readers, strict=True):
        if tuple(read) not in found:
            found.add(tuple(read))
            for number in read:
                where[number].append(len(atoms))
            atoms.append(Choice(cell))
    return ColumnAtoms(tuple(atoms), tuple(tuple(true) for true in where))


def _unseen(column: Column) -> str:
    """Find a text that is none of the known categories."""
    text = "other"
    while text in column.categories:
        text = f"an{text}" if text == "other" else f"yet {text}"
    return text


def least_above(low: float, kind: ColumnKind) -> float | None:
    """Find the least number above `low` that a column of this kind can hold."""
    if kind == "boolean":
        return next((bit for bit in (0.0, 1.0) if bit > low), None)
    if kind == "date":
        tick = last_tick(low) + 1
        return None if tick > LAST_TICK else seconds_at(tick)
    if kind == "integer" and abs(low) <= 2**52:  # larger float64 values are all whole
        return float(math.floor(low) + 1)
    least = math.nextafter(low, math.inf)
    return None if kind == "integer" and math.isinf(least) else least
