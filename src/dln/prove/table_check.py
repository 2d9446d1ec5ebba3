"""Compare the tables that the native search reads with the votes that prediction gives.

The search and its check (native/search) read the same tables. So a proof is as good as they are,
and they are compared once per circuit: every cell of every table, on rows that it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dln.prove.search import Search

Integers = NDArray[np.int64]

_CELLS_AT_ONCE = 4096


def tables_are_right(search: Search) -> bool:
    """Whether every cell of every table has the votes that prediction gives for its rules.

    False if inner wires are variables: such tables have no rules to compare with.
    """
    if search.tables.has_definitions:
        return False
    circuit, cells = search.circuit, _Cells(search)
    table = search.tables.arguments["table"].reshape(-1, circuit.n_classes)
    n_cells = cells.patterns.shape[1]
    spans = list(pairwise([*cells.first, n_cells]))
    for start in range(0, n_cells, _CELLS_AT_ONCE):
        stop = min(start + _CELLS_AT_ONCE, n_cells)
        for examples in cells.examples(start, stop):
            evaluation = circuit.evaluate(search.table_of(examples), circuit.readout.wires)
            for rules, (first, last) in zip(search.tables.rules, spans, strict=True):
                low, high = max(first, start), min(last, stop)
                if low >= high:
                    continue
                votes = np.array([circuit.rules[rule].votes for rule in rules], dtype=np.int64)
                fired = evaluation.wires([circuit.rules[rule].wire for rule in rules])
                found = fired[low - start : high - start].astype(np.int64) @ votes
                if not (found == table[low:high]).all():
                    return False
    return True


class _Cells:
    """The cells of all tables.

    Attributes
    ----------
    first
        The first cell of each table.
    patterns
        The patterns of each cell, all numbered: (largest number of columns, n_cells). Shorter ones
        are filled with a number that no pattern has.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        given = search.tables.arguments
        sizes = given["n_atoms"].tolist()
        of_table: list[Integers] = []
        columns, atoms, numbers = [], [], []  # for each use of an atom by a table
        self.first: list[int] = []
        n_patterns = n_cells = at = 0
        for start, stop in pairwise(given["factor_start"].tolist()):
            axes = []
            for column in given["scope"][start:stop].tolist():
                patterns = given["pattern"][at : at + sizes[column]].astype(np.int64)
                at += sizes[column]
                columns.append(np.full(sizes[column], column))
                atoms.append(np.arange(sizes[column]))
                numbers.append(n_patterns + patterns)
                axes.append(n_patterns + np.arange(int(patterns.max()) + 1))
                n_patterns += len(axes[-1])
            grid = np.meshgrid(*axes, indexing="ij") if axes else []
            cells = np.array([axis.ravel() for axis in grid], dtype=np.int64)
            of_table.append(cells.reshape(len(axes), math.prod(map(len, axes))))
            self.first.append(n_cells)
            n_cells += of_table[-1].shape[1]
        self._n_patterns = n_patterns
        self._uses = np.array([_joined(part) for part in (columns, atoms, numbers)])
        width = max(map(len, of_table), default=0)
        self.patterns = np.full((width, n_cells), n_patterns, dtype=np.int64)
        for first, cells in zip(self.first, of_table, strict=True):
            self.patterns[: len(cells), first : first + cells.shape[1]] = cells

    def examples(self, start: int, stop: int) -> Iterator[NDArray[np.int32]]:
        """Yield rows of atoms, one for each cell: the first atoms of its patterns, the last."""
        for order in (slice(None, None, -1), slice(None)):
            columns, atoms, numbers = self._uses[:, order]
            example = np.zeros((self._n_patterns + 1, 2), dtype=np.int64)
            example[numbers] = np.column_stack([columns, atoms])
            rows = np.zeros((stop - start, len(self._search.names)), dtype=np.int32)
            for place in self.patterns[:, start:stop]:
                used = place < self._n_patterns
                column, atom = example[place[used]].T
                rows[np.flatnonzero(used), column] = atom
            yield rows


def _joined(parts: list[Integers]) -> Integers:
    return np.concatenate([*parts, np.zeros(0, dtype=np.int64)])
