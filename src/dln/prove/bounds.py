"""Check the proofs of the native search, with other code than the one that found them.

A proof shows that no row of a box fulfils some demands, each of which is a number of votes that a
class has more than another. It is a tree of boxes that cover the box, and for each leaf a *bound*:
what the demands lack, times factors that are not negative, is a sum over tables, which is at least
the sum of the least values of its parts. If that is positive, no row fulfils all demands. Messages
move votes between the parts: what a message adds to the atoms of a column it subtracts from the
cells of a table, so every row keeps its sum. A check is a few additions and minima of integers.

The tables themselves are compared once per circuit with the votes that prediction gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.prove.search import Box, BoxProof, Demand, Search

Integers = NDArray[np.int64]

_NEVER = np.int64(2**60)
_CELLS_AT_ONCE = 4096
_MOST = 2**50
"""Larger messages could overflow a sum."""


class _Part(NamedTuple):
    """A box: its atoms, the uses of them by tables (atom and message), and the possible cells."""

    allowed: NDArray[np.bool_]
    atoms: Integers
    messages: Integers
    cells: Integers


class BoundChecker:
    """Checks the proofs about one circuit."""

    def __init__(self, search: Search) -> None:
        self._search = search
        given = search.tables.arguments
        n_classes = search.circuit.n_classes
        self._table = given["table"].reshape(-1, n_classes).astype(np.int64)
        sizes = given["n_atoms"].astype(np.int64)
        starts = np.cumsum([0, *sizes.tolist()])
        cells_of: list[Integers] = []
        first_cells, self._message_atom, self._message_at, n_messages, at = [], [], [], 0, 0
        n_cells = 0
        for first, last in zip(given["factor_start"][:-1], given["factor_start"][1:], strict=True):
            axes = []
            for variable in given["scope"][first:last].tolist():
                patterns = given["pattern"][at : at + sizes[variable]].astype(np.int64)
                at += int(sizes[variable])
                self._message_atom.append(starts[variable] + np.arange(sizes[variable]))
                self._message_at.append(n_messages + patterns)
                axes.append(n_messages + np.arange(int(patterns.max()) + 1))
                n_messages += len(axes[-1])
            grid = np.meshgrid(*axes, indexing="ij") if axes else []
            cells = np.array([axis.ravel() for axis in grid], dtype=np.int64)
            cells_of.append(cells.reshape(len(axes), math.prod(map(len, axes))))
            first_cells.append(n_cells)
            n_cells += cells_of[-1].shape[1]
        self._first_cells = np.array(first_cells, dtype=np.int64)
        self._n_messages = n_messages
        width = max((len(cells) for cells in cells_of), default=0)
        # Shorter scopes are filled with an additional message, which is always 0 and allowed.
        self._cells = np.full((width, n_cells), n_messages, dtype=np.int64)
        for first, cells in zip(first_cells, cells_of, strict=True):
            self._cells[: len(cells), first : first + cells.shape[1]] = cells

    @cached_property
    def _all_cells(self) -> Integers:
        return np.arange(self._cells.shape[1])

    @cached_property
    def _atoms(self) -> tuple[Integers, Integers]:
        """For each use of an atom by a table: the atom and the message."""
        none = [np.zeros(0, dtype=np.int64)]
        atoms, messages = self._message_atom or none, self._message_at or none
        return np.concatenate(atoms), np.concatenate(messages)

    @cached_property
    def tables_are_right(self) -> bool:
        """Whether every cell of every table has the votes that prediction gives for its rules."""
        circuit, n_cells = self._search.circuit, self._cells.shape[1]
        spans = list(pairwise([*self._first_cells.tolist(), n_cells]))
        for start in range(0, n_cells, _CELLS_AT_ONCE):
            stop = min(start + _CELLS_AT_ONCE, n_cells)
            for examples in self._examples(self._cells[:, start:stop]):
                table = self._search.table_of(examples)
                evaluation = circuit.evaluate(table, circuit.readout.wires)
                for rules, (first, last) in zip(self._search.tables.rules, spans, strict=True):
                    low, high = max(first, start), min(last, stop)
                    if low >= high:
                        continue
                    votes = np.array([circuit.rules[rule].votes for rule in rules], dtype=np.int64)
                    fired = evaluation.wires([circuit.rules[rule].wire for rule in rules])
                    found = fired[low - start : high - start].astype(np.int64) @ votes
                    if not (found == self._table[low:high]).all():
                        return False
        return True

    def _examples(self, cells: Integers) -> Iterator[NDArray[np.int32]]:
        """Yield rows of atoms, one for each cell: the first atoms of its patterns, the last."""
        atoms, messages = self._atoms
        column = np.searchsorted(self._search.starts, atoms, side="right") - 1
        number = atoms - np.array(self._search.starts)[column]
        for order in (slice(None, None, -1), slice(None)):
            example = np.zeros((self._n_messages + 1, 2), dtype=np.int64)
            example[messages[order]] = np.column_stack([column[order], number[order]])
            rows = np.zeros((cells.shape[1], len(self._search.names)), dtype=np.int32)
            for place in cells:
                used = place < self._n_messages
                columns, atom = example[place[used]].T
                rows[np.flatnonzero(used), columns] = atom
            yield rows

    def check(
        self, box: Box, demands: Sequence[Demand], proof: BoxProof, most_cells: int | None = None
    ) -> bool | None:
        """Return whether a proof shows that no row of the box fulfils all demands.

        None if the check would read more than `most_cells` cells of tables.
        """
        if self._search.tables.has_definitions or not self.tables_are_right:
            return False
        tree, messages, multipliers = proof
        if messages.size and np.abs(messages).max() > _MOST:
            return False
        base = self._search.circuit.base_votes
        more, less = [demand[0] for demand in demands], [demand[1] for demand in demands]
        lacks = self._table[:, less] - self._table[:, more]
        needs = np.array([by + base[b] - base[a] for a, b, by in demands], dtype=np.int64)
        tokens = iter(tree.tolist())
        everything = _Part(self._search.all_rows.astype(bool), *self._atoms, self._all_cells)
        stack = [(everything, box.astype(bool))]
        n_read = 0
        while stack:
            part = self._within(*stack.pop())
            n_read += len(part.cells)
            if most_cells is not None and n_read > most_cells:
                return None
            variable = next(tokens, None)
            if variable is None:
                return False
            if variable < 0:
                if -variable > len(messages):
                    return False
                factors = multipliers[~variable]
                bound = self._bound(part, lacks[part.cells] @ factors, messages[~variable])
                if (factors < 0).any() or bound + int(needs @ factors) <= 0:
                    return False
                continue
            chosen = [next(tokens) for _ in range(next(tokens))]
            inside, outside = part.allowed.copy(), part.allowed.copy()
            of_column = self._search.part(inside.view(np.uint8), variable)
            of_column[:] = 0
            of_column[chosen] = self._search.part(part.allowed.view(np.uint8), variable)[chosen]
            self._search.part(outside.view(np.uint8), variable)[chosen] = 0
            stack += [(part, outside), (part, inside)]
        return next(tokens, None) is None

    def _within(self, part: _Part, allowed: NDArray[np.bool_]) -> _Part:
        """Keep what a smaller box needs."""
        kept = allowed[part.atoms]
        atoms, messages = part.atoms[kept], part.messages[kept]
        possible = np.zeros(self._n_messages + 1, dtype=bool)
        possible[messages] = True
        possible[-1] = True
        cells = part.cells
        for place in self._cells:
            cells = cells[possible[place[cells]]]
        return _Part(allowed, atoms, messages, cells)

    def _bound(self, part: _Part, rest: Integers, message: Integers) -> int:
        """Return a lower bound of the objective over a box; its constant is left out."""
        message = np.append(message, 0)
        for place in self._cells:
            rest = rest - message[place[part.cells]]
        unary = np.zeros(len(part.allowed), dtype=np.int64)
        np.add.at(unary, part.atoms, message[part.messages])
        unary[~part.allowed] = _NEVER
        least = []
        if len(rest):
            tables = np.searchsorted(self._first_cells, part.cells, side="right")
            firsts = np.flatnonzero(np.diff(tables, prepend=-1))
            least.append(np.minimum.reduceat(rest, firsts))
        if len(unary):
            least.append(np.minimum.reduceat(unary, np.array(self._search.starts[:-1])))
        return sum(int(value) for values in least for value in values.tolist())
