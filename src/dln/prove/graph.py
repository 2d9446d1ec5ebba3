"""A store for the logic of several circuits, in which equal parts are stored once.

Gates become ANDs and XORs with negated edges. An *edge* is twice the number of a node, plus 1 if it
is negated; node 0 is the constant false. Nodes read only smaller nodes. The inputs are steps:
`step(column, rank)` is true if the column's value is in atom `rank` or a later one. So the only
side condition of a column is that a later step implies an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from dln.core.gates import Gate, Operators
from dln.core.logic import Logic

FALSE, TRUE = 0, 1
STEP, AND, XOR = 0, 1, 2


class Part(NamedTuple):
    """A node: an AND or XOR of two edges, or the step to atom `b` of column `a`."""

    kind: int
    a: int
    b: int


class Graph:
    """A growing store of nodes.

    >>> graph = Graph()
    >>> x, y = graph.step(0, 1), graph.step(1, 1)
    >>> graph.both(x, y) == graph.either(y ^ 1, x ^ 1) ^ 1
    True
    """

    def __init__(self) -> None:
        self.parts = [Part(STEP, -1, 0)]  # the constant has a column that does not exist
        self._numbers: dict[Part, int] = {}
        self._operators = Operators(self.both, self.either, self.differ, lambda edge: edge ^ 1, int)

    def step(self, column: int, rank: int) -> int:
        """Return the edge of an input, and add it if necessary."""
        return self._add(Part(STEP, column, rank))

    def among(self, column: int, atoms: Sequence[int], n_atoms: int) -> int:
        """Make the edge that is true if the column's value is in one of these atoms."""
        edge = FALSE
        for start, stop in _runs(atoms):
            first = TRUE if start == 0 else self.step(column, start)
            beyond = FALSE if stop == n_atoms else self.step(column, stop)
            edge = self.either(edge, self.both(first, beyond ^ 1))
        return edge

    def both(self, x: int, y: int) -> int:
        """Make the edge `x AND y`."""
        if x > y:
            x, y = y, x
        if x == FALSE or x == y ^ 1:
            return FALSE
        if x in (TRUE, y):
            return y
        return self._add(Part(AND, x, y))

    def either(self, x: int, y: int) -> int:
        """Make the edge `x OR y`."""
        return self.both(x ^ 1, y ^ 1) ^ 1

    def differ(self, x: int, y: int) -> int:
        """Make the edge `x XOR y`."""
        negated = (x ^ y) & 1
        x, y = sorted((x & ~1, y & ~1))
        if x == y:
            return negated
        if x == FALSE:
            return y ^ negated
        return self._add(Part(XOR, x, y)) ^ negated

    def gate(self, gate: Gate, a: int, b: int) -> int:
        """Make the edge of any gate of two edges."""
        return gate.compute(self._operators, a, b)

    def add_gates(self, logic: Logic, literals: Iterable[int]) -> list[int]:
        """Return the edge of every wire, given the edges of the literals."""
        edges = list(literals)
        for gate, a, b in logic.nodes:
            edges.append(self.gate(gate, edges[a], edges[b]))
        return edges

    def cone(self, nodes: Iterable[int]) -> list[int]:
        """List these nodes and all nodes that they depend on, in order."""
        found = set(nodes)
        stack = list(found)
        while stack:
            kind, a, b = self.parts[stack.pop()]
            if kind != STEP:
                new = {a >> 1, b >> 1} - found
                found |= new
                stack.extend(new)
        return sorted(found - {0})

    def _add(self, part: Part) -> int:
        number = self._numbers.setdefault(part, len(self.parts))
        if number == len(self.parts):
            self.parts.append(part)
        return 2 * number


def _runs(atoms: Sequence[int]) -> list[tuple[int, int]]:
    """Split ascending numbers into consecutive runs: (first, last + 1) each."""
    if len(atoms) == 0:
        return []
    if isinstance(atoms, range):
        return [(atoms.start, atoms.stop)]
    breaks = [(before, after) for before, after in pairwise(atoms) if after != before + 1]
    starts = [atoms[0], *(after for _, after in breaks)]
    stops = [*(before + 1 for before, _ in breaks), atoms[-1] + 1]
    return list(zip(starts, stops, strict=True))
