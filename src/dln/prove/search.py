"""Search: questions about all rows of a box, answered by the native branch and bound.

A box is a set of rows: the atoms that each column may have. It is an array of one byte for each
atom of each column that the circuit reads (`Variables.starts` says where a column begins).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.conditions import Atom, Cell
from dln.core.literals import format_name
from dln.core.values import cell_text
from dln.data.table import RawColumn, Table, read_table
from dln.errors import ExtraMissingError, TableError
from dln.prove.table_check import tables_are_right
from dln.prove.tables import Variables, VoteTables, variables_of, vote_tables

if TYPE_CHECKING:
    from dln._native import VoteSearch

Box = NDArray[np.uint8]
Atoms = NDArray[np.int32]
"""The atom of each column that is read: (n_columns,), or (n_rows, n_columns)."""
Demand = tuple[int, int, int]
"""(a, b, n): class a has at least n votes more than class b."""


BoxProof = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""A tree of boxes; the messages of its leaves, and where those of each leaf begin; multipliers."""


class Found(NamedTuple):
    """The answer to a question.

    Attributes
    ----------
    row
        The cheapest row; None if none was found.
    cost
        Its cost.
    complete
        Whether there is certainly no cheaper row; False if the time limit ended the search.
    """

    row: Atoms | None
    cost: int
    complete: bool


class Search:
    """A circuit prepared for questions about boxes; created once per circuit and kept."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.variables: Variables = variables_of(circuit)
        self.starts = self.variables.starts

    @cached_property
    def native(self) -> VoteSearch:
        """The compiled search."""
        try:
            from dln._native import VoteSearch
        except ImportError as error:  # a machine without the compiled extension
            raise ExtraMissingError(
                "reasons and certificates require the compiled part of dln; "
                "install dln with a C++ compiler, or from a wheel"
            ) from error
        return VoteSearch(**self.tables.arguments)

    @cached_property
    def tables_are_right(self) -> bool:
        """Whether the tables were compared with prediction; proofs need that."""
        return tables_are_right(self)

    @cached_property
    def tables(self) -> VoteTables:
        """The tables that the search reads."""
        return vote_tables(self.circuit, self.variables)

    # -- rows and boxes -----------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The names of the columns that the circuit reads."""
        return [self.circuit.columns[column].name for column in self.variables.read]

    def atoms_of(self, literals: NDArray[np.bool_]) -> Atoms:
        """Find the atoms of rows, given the truth of their literals: (n_rows, n_columns).

        An atom is -1 if the value is impossible for the column's kind, such as 3.5 in a column of
        integers, and lies between two cutoffs that no whole number separates.
        """
        rows = np.empty((len(literals), len(self.variables.read)), dtype=np.int32)
        for number, wires in enumerate(self.variables.literals):
            known = self._atom_of_truths[number]
            packed = np.packbits(literals[:, list(wires)], axis=1)
            rows[:, number] = [known.get(bits.tobytes(), -1) for bits in packed]
        return rows

    @cached_property
    def _atom_of_truths(self) -> list[dict[bytes, int]]:
        """The atom of each column that has certain literals, packed into bytes."""
        return [
            {bits.tobytes(): atom for atom, bits in enumerate(np.packbits(truths.T, axis=1))}
            for truths in self.variables.truths
        ]

    def check_possible(self, atoms: Atoms, cells: Sequence[Cell]) -> None:
        """Raise `TableError` if a row has a value that is impossible for its column."""
        for place in np.flatnonzero(atoms < 0).tolist():
            column = self.circuit.columns[self.variables.read[place]]
            raise TableError(
                f"column {format_name(column.name)} holds {cell_text(cells[place])}, which is not "
                f"of its kind ({column.kind}); no claim about all rows includes such a row"
            )

    def atom_at(self, place: int, number: int) -> Atom:
        """Return an atom of a column."""
        return self.variables.atoms[place].atoms[number]

    def cells(self, atoms: Atoms) -> dict[str, Cell]:
        """Return an example row of the user's table: the values by name; None means missing."""
        return {
            name: self.atom_at(place, int(atom)).cell
            for place, (name, atom) in enumerate(zip(self.names, atoms.tolist(), strict=True))
        }

    def table_of(self, atoms: Atoms) -> Table:
        """Make a table of the user's values: an example of each row of atoms."""
        columns: dict[int, RawColumn] = {}
        for place, index in enumerate(self.variables.read):
            values = self._examples[place].values[atoms[:, place]]
            columns[index] = RawColumn(self._examples[place].kind, values)
        return Table(len(atoms), len(self.circuit.columns), None, columns.__getitem__)

    @cached_property
    def _examples(self) -> list[RawColumn]:
        """An example of each atom, column by column."""
        found = []
        for index, atoms in zip(self.variables.read, self.variables.atoms, strict=True):
            cells = np.empty(len(atoms.atoms), dtype=object)
            cells[:] = [atom.cell for atom in atoms.atoms]
            numeric = self.circuit.columns[index].is_numeric
            raw = read_table(cells.reshape(-1, 1)).read(0) if numeric else None
            found.append(raw or RawColumn("category", cells))
        return found

    @property
    def all_rows(self) -> Box:
        """The box of every possible row."""
        return np.ones(self.starts[-1], dtype=np.uint8)

    def part(self, box: Box, place: int) -> Box:
        """Return the atoms of one column, as a view."""
        return box[self.starts[place] : self.starts[place + 1]]

    def has_rows(self, box: Box) -> bool:
        """Whether a box has a row: at least one atom of each column."""
        return all(self.part(box, place).any() for place in range(len(self.variables.read)))

    def box_of(self, choices: Mapping[int, Iterable[int]], base: Box | None = None) -> Box:
        """Restrict some columns to atoms; the others are as in `base`, by default free."""
        box = self.all_rows if base is None else base.copy()
        for place, atoms in choices.items():
            part = self.part(box, place)
            part[:] = 0
            part[list(atoms)] = 1
        return box

    # -- questions ----------------------------------------------------------------------------

    def find(
        self,
        box: Box,
        demands: Sequence[Demand],
        *,
        costs: NDArray[np.int64] | None = None,
        below: int | None = None,
        seconds: float = math.inf,
    ) -> Found:
        """Find the cheapest row of a box that fulfils all demands."""
        if not demands:
            raise AssertionError("a question has at least one demand")
        row, cost, complete, _ = self.native.solve(box, list(demands), costs, below, seconds, 0)
        return Found(row, cost, complete)

    def prove(self, box: Box, demands: Sequence[Demand], *, seconds: float) -> BoxProof | None:
        """Prove that no row of a box fulfils all demands; None if there is one, or no time."""
        proof = self.native.prove(box, list(demands), seconds, 0)
        if proof is not None:
            assert self.tables_are_right, "a table differs from prediction"
            assert self.native.check(box, list(demands), *proof), "a proof is wrong"
        return proof

    def beats(self, rival: int, winner: int) -> Demand:
        """Return the demand that a class is chosen rather than another one."""
        # A tie goes to the class that is listed first.
        return rival, winner, 0 if rival < winner else 1

    def wins(self, winner: int) -> list[Demand]:
        """Return the demands under which a class is chosen."""
        others = range(self.circuit.n_classes)
        return [self.beats(winner, other) for other in others if other != winner]

    def find_other(self, box: Box, winner: int, *, seconds: float = math.inf) -> Found:
        """Find a row of a box that does not get a class."""
        complete = True
        for rival in range(self.circuit.n_classes):
            if rival != winner:
                found = self.find(box, [self.beats(rival, winner)], seconds=seconds)
                if found.row is not None:
                    return found
                complete = complete and found.complete
        return Found(None, 0, complete)


def rows_of(circuit: Circuit, X: Any) -> tuple[Atoms, NDArray[np.int64]]:
    """Find the atoms and the classes of the rows of a table."""
    evaluation = circuit.evaluate(X, range(circuit.n_literals))
    literals = evaluation.wires(range(circuit.n_literals))
    return circuit._search.atoms_of(literals), evaluation.winners
