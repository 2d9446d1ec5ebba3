"""Conditions on columns -> the box of the rows that fulfil them, and example values in it.

A circuit is constant on an atom. So a condition that covers a part of an atom is exact: the box
contains the atom, and examples are taken from that part.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import list_names
from dln.core.circuit import Circuit
from dln.core.conditions import Atom, Cell, Choice, ColumnAtoms, Gap
from dln.core.literals import Column
from dln.core.logic import Logic
from dln.data.cells import readable_cells
from dln.data.codes import MISSING_CODE, encode_cells, places_of
from dln.data.table import Table, read_table
from dln.errors import OptionError
from dln.prove.search import Atoms, Box, Search, rows_of

_EPOCH = datetime.datetime(1970, 1, 1)


def check_names(search: Search, names: Collection[str]) -> None:
    """Raise `OptionError` if a column does not exist."""
    known = [column.name for column in search.circuit.columns]
    for name in names:
        if name not in known:
            raise OptionError(f"there is no column {name!r}; the columns are: {list_names(known)}")


class Region:
    """The rows that fulfil conditions.

    Attributes
    ----------
    box
        Their atoms.
    where, data
        The conditions, and the rows for examples.
    """

    def __init__(self, search: Search, where: Mapping[str, Any], data: Any = None) -> None:
        """Read conditions.

        For a column of numbers: a number, or (lowest, highest) with None for no limit. For a column
        of categories: one of them, or several. None means a missing value. `data` are rows whose
        values are used in examples where possible; by default the ranges of the columns are used.
        """
        check_names(search, where)
        self._search = search
        self.where, self.data = where, data
        self._examples: dict[tuple[int, int], Cell] = {}
        self.box: Box = search.all_rows
        for place, index in enumerate(search.variables.read):
            column = search.circuit.columns[index]
            if column.name in where:
                self._restrict(place, column, where[column.name])
                if not search.part(self.box, place).any():
                    raise OptionError(
                        f"no value of {column.name!r} fulfils the condition {where[column.name]!r}"
                    )
        self._observed = None if data is None else Observed(search, data)

    @property
    def likely_box(self) -> Box:
        """The rows of the box whose values all occur in the data, or are in the ranges."""
        if self._observed is not None:
            return self.box & self._observed.box
        return self.box & likely_box(self._search)

    def cells(self, atoms: Atoms) -> dict[str, Cell]:
        """Return an example of a row of atoms, by the names of the columns."""
        cells = self._search.cells(atoms)
        for place, name in enumerate(self._search.names):
            atom = int(atoms[place])
            if (place, atom) in self._examples:
                cells[name] = self._examples[place, atom]
            elif self._observed is not None:
                cells[name] = self._observed.cells.get((place, atom), cells[name])
        return cells

    def _restrict(self, place: int, column: Column, given: Any) -> None:
        part = self._search.part(self.box, place)
        for number, atom in enumerate(self._search.variables.atoms[place].atoms):
            if given is None:
                part[number] = atom == Choice(None) or self._is_missing(place, number)
                continue
            example = (
                _number_in(atom, column, given)
                if column.is_numeric
                else _category_in(self._members(place)[number], column, given)
            )
            part[number] = example is not None
            if example is not None:
                self._examples[place, number] = example

    def _is_missing(self, place: int, number: int) -> bool:
        """Whether missing values are in an atom that has other values too."""
        apart = self._search.variables.atoms[place].atoms[0] == Choice(None)
        return not apart and number == 0

    def _members(self, place: int) -> list[list[Cell]]:
        index = self._search.variables.read[place]
        return members(self._search.circuit.logic, index, self._search.variables.atoms[place])


def members(logic: Logic, number: int, found: ColumnAtoms) -> list[list[Cell]]:
    """List the known categories of each atom of a column."""
    literals = [literal for literal in logic.literals if literal.column == number]
    truths = {found.truths(place): place for place in range(len(found.atoms))}
    of_atom: list[list[Cell]] = [[] for _ in found.atoms]
    for code, category in enumerate(logic.columns[number].categories):
        of_atom[truths[tuple(code in literal.categories for literal in literals)]].append(category)
    return of_atom


def bounds_of(given: Any, column: Column) -> tuple[float | None, float | None]:
    """Return the limits of a condition on a column of numbers; None for no limit."""
    bounds = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
    if len(bounds) != 2:
        raise OptionError(
            f"the condition on {column.name!r} is {given!r}, expected a number, or "
            "(lowest, highest) with None for no limit"
        )
    low, high = (number_of(bound, column) for bound in bounds)
    return low, high


def _number_in(atom: Atom, column: Column, given: Any) -> Cell:
    """Return a value of an atom that fulfils a condition; None if there is none."""
    low, high = bounds_of(given, column)
    gap = atom.narrowed(low, high) if isinstance(atom, Gap) else None
    return None if gap is None else gap.cell


def number_of(value: Any, column: Column) -> float | None:
    """Return the end of a range as a number; dates as seconds since 1970."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH).total_seconds()
    if isinstance(value, datetime.date):
        return (datetime.datetime.combine(value, datetime.time()) - _EPOCH).total_seconds()
    if isinstance(value, (numbers.Real, np.bool_)) and value == value:
        return float(value)
    raise OptionError(f"the condition on {column.name!r} has {value!r}, expected a number")


def rows_within(circuit: Circuit, where: Mapping[str, Any], table: Table) -> NDArray[np.bool_]:
    """Whether each row of a table fulfils conditions."""
    used = [index for index, column in enumerate(circuit.columns) if column.name in where]
    places = places_of(table, circuit.columns, used)
    within = np.ones(table.n_rows, dtype=bool)
    for index in used:
        column = circuit.columns[index]
        values, given = encode_cells(table.read(places[index]), column), where[column.name]
        if not column.is_numeric:
            wanted = [MISSING_CODE]
            if given is not None:
                wanted = [column.categories.index(each) for each in categories_of(given, column)]
            within &= np.isin(values, wanted)
        elif given is None:
            within &= np.isnan(values)
        else:
            low, high = bounds_of(given, column)
            within &= ~np.isnan(values)
            within &= (values >= (-math.inf if low is None else low)) & (
                values <= (math.inf if high is None else high)
            )
    return within


def categories_of(given: Any, column: Column) -> list[Any]:
    """Return the categories that a condition names; raises `OptionError` for others."""
    several = isinstance(given, Collection) and not isinstance(given, str)
    wanted = list(given) if several else [given]
    for category in wanted:
        if category not in column.categories:
            raise OptionError(
                f"the condition on {column.name!r} has {category!r}; the categories are "
                f"{list_names(map(repr, column.categories))}"
            )
    return wanted


def _category_in(known: list[Cell], column: Column, given: Any) -> Cell:
    wanted = categories_of(given, column)
    return next((category for category in known if category in wanted), None)


def likely_box(search: Search) -> Box:
    """Return the rows whose values are all likely."""
    columns = search.circuit.columns
    parts = [
        likely_atoms(columns[index], found)
        for index, found in zip(search.variables.read, search.variables.atoms, strict=True)
    ]
    return np.array([likely for part in parts for likely in part], dtype=np.uint8)


def likely_atoms(column: Column, found: ColumnAtoms) -> list[bool]:
    """Return which atoms of a column have values in the range of the training rows.

    Columns without a range may hold anything. Missing values are likely if some were missing, and
    an unknown category is not.
    """
    if column.range is None:
        return [True] * len(found.atoms)
    return [
        atom.is_likely
        if isinstance(atom, Gap)
        else column.range.missing
        if atom.cell is None
        else atom.cell in column.categories
        for atom in found.atoms
    ]


class Observed:
    """The values that occur in a table.

    Attributes
    ----------
    box
        The atoms that occur.
    cells
        For each column and atom that occurs, its most frequent value.
    """

    def __init__(self, search: Search, data: Any) -> None:
        circuit, table = search.circuit, read_table(data)
        atoms, _ = rows_of(circuit, table)
        read = search.variables.read
        places = places_of(table, circuit.columns, list(read))
        self.box: Box = np.zeros(search.starts[-1], dtype=np.uint8)
        self.cells: dict[tuple[int, int], Cell] = {}
        for place, index in enumerate(read):
            values = readable_cells(circuit.columns[index], table.read(places[index]))
            counts = Counter(zip(atoms[:, place].tolist(), values, strict=True))
            for (atom, value), _ in counts.most_common():
                if atom >= 0:
                    self.cells.setdefault((place, atom), value)
                    self.box[search.starts[place] + atom] = 1
