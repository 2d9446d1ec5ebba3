"""Prove that small changes of rows do not change their class."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.conditions import Cell, Gap
from dln.core.verdict import Violation
from dln.data.cells import readable_cells
from dln.data.codes import encode_cells, places_of
from dln.data.table import RawColumn, Table, read_table
from dln.errors import OptionError, TableError
from dln.prove.certify import rule_claim
from dln.prove.claim import Claim, violation
from dln.prove.clock import Clock, check_time_limit
from dln.prove.measure import Weights, atom_weights
from dln.prove.region import Region, check_names
from dln.prove.search import Atoms, Box


@dataclass(frozen=True, eq=False)
class Robustness:
    """Which rows keep their class under small changes; returned by `prove_robust`.

    Attributes
    ----------
    certified
        For each row whether it is proven that no change within the tolerances changes the class.
    refuted
        For each row whether such a change was found. Rows that are neither are undecided.
    violations
        For each refuted row, by its place, the row and the changed values.
    seconds
        Time taken.
    """

    certified: np.ndarray[Any, np.dtype[np.bool_]]
    refuted: np.ndarray[Any, np.dtype[np.bool_]]
    violations: Mapping[int, Violation] = field(repr=False)
    seconds: float

    def __bool__(self) -> bool:
        return bool(self.certified.all())

    @cached_property
    def share(self) -> float:
        """The share of the rows that are certified."""
        return float(self.certified.mean()) if len(self.certified) else 1.0

    def __str__(self) -> str:
        n, undecided = len(self.certified), int((~self.certified & ~self.refuted).sum())
        more = f", {undecided} undecided" if undecided else ""
        return (
            f"{int(self.certified.sum())} of {n} rows keep their class within the tolerances, "
            f"{int(self.refuted.sum())} do not{more} ({self.seconds:.2f} s)"
        )


def prove_robust(
    circuit: Circuit,
    X: Any,
    tolerances: Mapping[str, float],
    *,
    free: Sequence[str] = (),
    time_limit: float | None = 60.0,
) -> Robustness:
    """Prove for each row that no change within tolerances changes its class.

    Parameters
    ----------
    circuit
        Any circuit.
    X
        Rows, as for `Circuit.predict`, or one row in a list.
    tolerances
        For columns of numbers: how much the value may differ, up or down. Missing values stay
        missing. All columns change at the same time. Columns that are not named keep their value.
    free
        Columns that may hold anything.
    time_limit
        Seconds after which the remaining rows are undecided; None for no limit.

    See Also
    --------
    certified_radius : How large the tolerances may be for each row.
    """
    check_is_circuit(circuit, "prove_robust")
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    rows = TolerantRows(circuit, X, tolerances, free)
    certified, refuted = np.zeros(rows.n_rows, dtype=bool), np.zeros(rows.n_rows, dtype=bool)
    violations = {}
    for place in range(rows.n_rows):
        left = math.inf if clock.left is None else clock.left
        found = rows.search.find_other(rows.box(place), rows.winners[place], seconds=left)
        if found.row is not None:
            refuted[place] = True
            violations[place] = rows.violation(place, found.row, clock)
        certified[place] = found.row is None and found.complete
    return Robustness(certified, refuted, violations, clock.seconds)


def certified_radius(
    circuit: Circuit,
    X: Any,
    tolerances: Mapping[str, float],
    *,
    most: float = 100.0,
    time_limit: float | None = 60.0,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Find for each row the factor by which the tolerances can be multiplied.

    The class stays the same for every factor below the radius. The radius is exact, up to the limit
    `most`; it is NaN if undecided within the time limit.
    """
    check_is_circuit(circuit, "certified_radius")
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    rows = TolerantRows(circuit, X, tolerances, ())
    radii = np.full(rows.n_rows, np.nan)
    for place in range(rows.n_rows):
        steps = rows.factors(place, most)
        low, high = 0, len(steps)  # the class is the same below steps[low]
        while low < high and not clock.is_over:
            middle = (low + high) // 2
            left = math.inf if clock.left is None else clock.left
            box = rows.box_of_factor(place, steps[middle])
            found = rows.search.find_other(box, rows.winners[place], seconds=left)
            if found.row is not None:
                high = middle
            elif found.complete:
                low = middle + 1
            else:
                break
        else:
            if not clock.is_over or low == high:
                radii[place] = steps[low] if low < len(steps) else most
    return radii


def robust_claims(
    circuit: Circuit, X: Any, tolerances: Mapping[str, float], found: Robustness
) -> list[Claim]:
    """Return the claim about each certified row: its class, for all values in the tolerances."""
    rows = TolerantRows(circuit, X, tolerances, ())
    return [
        rule_claim(circuit, circuit.classes[rows.winners[place]], rows.where(place), False, None)
        for place in np.flatnonzero(found.certified).tolist()
    ]


class TolerantRows:
    """Rows with the boxes around them.

    Attributes
    ----------
    search
        The circuit prepared for questions.
    atoms, winners
        The atoms and the class of each row.
    """

    def __init__(
        self, circuit: Circuit, X: Any, tolerances: Mapping[str, float], free: Sequence[str]
    ) -> None:
        self.search = search = circuit._search
        check_names(search, (*tolerances, *free))
        for name, tolerance in tolerances.items():
            if not (isinstance(tolerance, (int, float)) and 0 <= tolerance < math.inf):
                raise OptionError(f"the tolerance of {name!r} is {tolerance!r}, expected 0 or more")
        for column in circuit.columns:
            if column.name in tolerances and not column.is_numeric:
                raise OptionError(
                    f"column {column.name!r} has categories; name it in free if it may change"
                )
        table: Table = read_table(X)
        evaluation = circuit.evaluate(table, range(circuit.n_literals))
        self.atoms = search.atoms_of(evaluation.wires(range(circuit.n_literals)))
        if (self.atoms < 0).any():
            raise TableError("a row has a value that is impossible for the kind of its column")
        self.winners: list[int] = evaluation.winners.tolist()
        self.n_rows = evaluation.n_rows
        places = places_of(table, circuit.columns, list(search.variables.read))
        self._free = {place for place, name in enumerate(search.names) if name in free}
        self._numbers: dict[int, Any] = {}
        self._tolerance: dict[int, float] = {}
        self._raw: list[RawColumn] = []
        for place, index in enumerate(search.variables.read):
            name = circuit.columns[index].name
            self._raw.append(table.read(places[index]))
            if name in tolerances:
                self._numbers[place] = encode_cells(self._raw[place], circuit.columns[index])
                self._tolerance[place] = float(tolerances[name])

    def box(self, row: int) -> Box:
        """Return the box of the tolerances around a row."""
        return self._box(row, lambda place: self._within(row, place))

    def _within(self, row: int, place: int) -> list[int]:
        low, high = self._bounds(row, place)
        return [
            number
            for number, atom in enumerate(self.search.variables.atoms[place].atoms)
            if isinstance(atom, Gap) and atom.narrowed(low, high) is not None
        ]

    def box_of_factor(self, row: int, factor: float) -> Box:
        """Return the box of the atoms that are reached with this factor or less."""
        return self._box(
            row,
            lambda place: [
                atom for atom, reached in self._factors(row, place).items() if reached <= factor
            ],
        )

    def factors(self, row: int, most: float) -> list[float]:
        """List the factors at which another atom is reached, ascending."""
        found = {
            factor
            for place in self._numbers
            if self._moves(row, place)
            for factor in self._factors(row, place).values()
        }
        return sorted(factor for factor in found if factor <= most)

    def _box(self, row: int, reached: Callable[[int], list[int]]) -> Box:
        choices: dict[int, list[int]] = {}
        for place, size in enumerate(self.search.variables.sizes):
            own = int(self.atoms[row, place])
            if place in self._free:
                choices[place] = list(range(size))
            else:
                moves = place in self._numbers and self._moves(row, place)
                choices[place] = sorted({own, *(reached(place) if moves else ())})
        return self.search.box_of(choices)

    def _moves(self, row: int, place: int) -> bool:
        return not math.isnan(self._numbers[place][row])

    def _bounds(self, row: int, place: int) -> tuple[float, float]:
        number, change = float(self._numbers[place][row]), self._tolerance[place]
        return number - change, number + change

    def _factors(self, row: int, place: int) -> dict[int, float]:
        """Return for each atom of numbers the factor with which it is reached."""
        number, tolerance = float(self._numbers[place][row]), self._tolerance[place]
        own, found = int(self.atoms[row, place]), {}
        for at, atom in enumerate(self.search.variables.atoms[place].atoms):
            if isinstance(atom, Gap):
                edge = number if at == own else _edge(atom, number)
                far = abs(edge - number)
                found[at] = far / tolerance if tolerance else (math.inf if far else 0.0)
        return found

    def violation(self, row: int, atoms: Atoms, clock: Clock) -> Violation:
        """Return the row and the changed values that give it another class."""
        region = Region(self.search, self._ranges(row))
        first = self._cells(row)
        after = region.cells(atoms)
        changed = {
            name: after[name]
            for place, name in enumerate(self.search.names)
            if atoms[place] != self.atoms[row, place]
        }
        return violation(self.search.circuit, first, clock, changed)

    def weights(self, row: int) -> Weights:
        """Return the share of each atom if values are uniform within the tolerances."""
        ranges = self._ranges(row)
        moving = {*ranges, *(self.search.names[place] for place in self._free)}
        still = [name for name in self.search.names if name not in moving]
        weights = atom_weights(self.search, ranges, hidden=still)
        for place, name in enumerate(self.search.names):
            if name in still:
                weights[self.search.starts[place] + int(self.atoms[row, place])] = 1.0
        return weights

    def where(self, row: int) -> dict[str, Any]:
        """Return the box around a row as conditions."""
        return {**self._cells(row), **self._ranges(row)}

    def _cells(self, row: int) -> dict[str, Cell]:
        cells: dict[str, Cell] = {}
        for index, raw in zip(self.search.variables.read, self._raw, strict=True):
            column, own = self.search.circuit.columns[index], raw.values[row : row + 1]
            cells[column.name] = readable_cells(column, RawColumn(raw.kind, own))[0]
        return cells

    def _ranges(self, row: int) -> dict[str, tuple[float, float]]:
        return {
            self.search.names[place]: self._bounds(row, place)
            for place, numbers in self._numbers.items()
            if not math.isnan(numbers[row])
        }


def _edge(gap: Gap, number: float) -> float:
    """Return the value of a gap that is nearest to a number outside it, or the limit of values."""
    whole = gap.kind in ("integer", "boolean")
    if gap.low >= number:
        return gap.least if whole else gap.low
    return float(math.floor(gap.high)) if whole else gap.high
