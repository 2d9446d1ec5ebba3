"""The meaning of a net's nodes on every possible row, and their values on sample rows."""

from __future__ import annotations

from operator import and_, xor

import numpy as np

from dln.core.conditions import column_atoms
from dln.core.literals import Literal
from dln.prove.graph import Graph
from dln.prove.simulate import Rows, Support
from dln.shrink.simplify.claims import Claims, Limits
from dln.shrink.simplify.net import AND, Net

_FIRST_ROWS = 2048
_ROWS_NEAR = 64


class Samples:
    """The exact meaning of a net's nodes, and sample rows that distinguish most of them.

    Attributes
    ----------
    meaning
        The edge of each node in a graph of column steps. Nodes with equal edges are equal.
    bits
        The value of each node on the sample rows, one bit each; `ones` has them all set.
    """

    def __init__(self, net: Net, limits: Limits) -> None:
        self.net = net
        self.graph = Graph()
        self.meaning = net.evaluate(
            _leaf_edges(net, self.graph), 1, self.graph.both, self.graph.differ
        )
        n_columns = len(net.logic.columns)
        self.claims = Claims(self.graph, n_columns, limits)
        leaves = sorted({edge >> 1 for edge in self.meaning[: net.n_leaves]} - {0})
        self._support = Support(self.graph, self.graph.cone(leaves), n_columns)
        self._rng = np.random.default_rng(0)  # a fixed seed: the same circuit gives the same result
        self.ones = 0
        self.bits = [0] * net.n_nodes
        if self._support.n_rows <= _FIRST_ROWS:
            for rows in self._support.every_row():
                self._add(rows)
        else:
            self._add(self._support.random_rows(_FIRST_ROWS, self._rng))

    def refine(self, row: Rows) -> None:
        """Add a row, (n_columns, 1), that distinguished two nodes, and some rows near it."""
        self._add(self._support.rows_near(row, _ROWS_NEAR, self._rng))

    def follow_bits(self, node: int, bits: int) -> dict[int, int]:
        """Return the bits of all nodes that change if a node had other bits."""
        changed = self.net.follow({node: bits}, self.bits, self.ones, and_, xor)
        self.claims.spend(1 + len(changed))
        return changed

    def follow_meaning(self, node: int, edge: int) -> dict[int, int]:
        """Return the meaning of all nodes that change if a node had another meaning."""
        changed = self.net.follow({node: edge}, self.meaning, 1, self.graph.both, self.graph.differ)
        self.claims.spend(1 + len(changed))
        return changed

    def value(self, edge: int) -> int:
        """Return the bits of an edge of the net."""
        return self.bits[edge >> 1] ^ (self.ones if edge & 1 else 0)

    def meaning_of(self, edge: int) -> int:
        """Return the meaning of an edge of the net."""
        return self.meaning[edge >> 1] ^ edge & 1

    def renew_meaning(self, node: int) -> None:
        """Compute the meaning of a gate again from what it reads now."""
        if node >= self.net.n_leaves:
            a, b = (self.meaning_of(edge) for edge in self.net.inputs[node])
            make = self.graph.both if self.net.kinds[node] == AND else self.graph.differ
            self.meaning[node] = make(a, b)

    def recompute(self) -> None:
        """Compute all gates again, after a change that `follow_bits` does not cover."""
        n = self.net.n_leaves
        self.bits = self.net.evaluate(self.bits[:n], self.ones, and_, xor)
        self.meaning = self.net.evaluate(self.meaning[:n], 1, self.graph.both, self.graph.differ)

    def _add(self, rows: Rows) -> None:
        n_old, n_new = self.ones.bit_length(), rows.shape[1]
        known = self._support.bits_of(rows)
        ones = (1 << n_new) - 1
        leaves = [
            known[edge >> 1] ^ (ones if edge & 1 else 0)
            for edge in self.meaning[: self.net.n_leaves]
        ]
        fresh = self.net.evaluate(leaves, ones, and_, xor)
        self.bits = [old | new << n_old for old, new in zip(self.bits, fresh, strict=True)]
        self.ones |= ones << n_old


def _leaf_edges(net: Net, graph: Graph) -> list[int]:
    """Return the meaning of the constant and of each literal."""
    logic = net.logic
    edges = [0] * net.n_leaves
    by_column: dict[int, list[tuple[int, Literal]]] = {}
    for number, literal in enumerate(logic.literals):
        by_column.setdefault(literal.column, []).append((1 + number, literal))
    for column, members in by_column.items():
        atoms = column_atoms(logic.columns[column], [literal for _, literal in members])
        for (leaf, _), where in zip(members, atoms.where, strict=True):
            edges[leaf] = graph.among(column, where, len(atoms.atoms))
    return edges
