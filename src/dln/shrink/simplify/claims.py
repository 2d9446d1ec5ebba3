"""Decide whether two edges are equal on every possible row, given the side conditions.

Edges that depend on few columns are compared on all rows, others by SAT. If the limits are reached,
edges count as not equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from dln.prove.clock import Clock
from dln.prove.graph import STEP, Graph
from dln.prove.sat import Clauses
from dln.prove.simulate import Rows, Support


@dataclass(frozen=True)
class Limits:
    """Limits of the work on a claim. They do not count time, so that results are reproducible.

    Attributes
    ----------
    nodes
        Claims about more nodes than this are left undecided.
    rows
        If there are at most this many possible rows, all are tried.
    conflicts
        Conflicts that the SAT solver may use for a claim; 0 does not use the solver.
    work
        Nodes that a pass may visit in total. Trained circuits need far fewer. The limit keeps the
        time for huge circuits proportional to their size.
    """

    nodes: int = 400
    rows: int = 2**12
    conflicts: int = 300
    work: int = 1_000_000


@dataclass(frozen=True)
class Verdict:
    """Whether two edges are proven equal; if not, there may be a row (n_columns, 1) as evidence."""

    equal: bool
    row: Rows | None = None


_UNDECIDED = Verdict(False)


class Claims:
    """Decides claims about the edges of one graph."""

    def __init__(self, graph: Graph, n_columns: int, limits: Limits) -> None:
        self._graph = graph
        self._n_columns = n_columns
        self._limits = limits
        self._work_left = limits.work

    @property
    def are_over(self) -> bool:
        """Whether the work limit is reached."""
        return self._work_left <= 0

    def spend(self, n_nodes: int) -> None:
        """Count visited nodes towards the work limit."""
        self._work_left -= n_nodes

    def are_equal(self, x: int, y: int) -> Verdict:
        """Decide whether two edges are equal on every possible row."""
        if x == y:
            return Verdict(True)
        if x == y ^ 1:
            return _UNDECIDED
        cone = None if self.are_over else self._small_cone(x >> 1, y >> 1)
        if cone is None:
            return _UNDECIDED
        self.spend(len(cone))
        support = Support(self._graph, cone, self._n_columns)
        if support.n_rows <= self._limits.rows:
            return self._try_all(support, x, y)
        if not self._limits.conflicts:
            return _UNDECIDED
        self.spend(9 * len(cone))  # a solver does about ten times as much work
        return self._ask_solver(cone, x, y)

    def _small_cone(self, x: int, y: int) -> list[int] | None:
        """List the nodes that two nodes depend on, in order; None if there are too many."""
        found, stack = {x, y}, [x, y]
        parts = self._graph.parts
        while stack:
            kind, a, b = parts[stack.pop()]
            if kind != STEP:
                for node in (a >> 1, b >> 1):
                    if node not in found:
                        found.add(node)
                        stack.append(node)
            if len(found) > self._limits.nodes:
                self.spend(len(found) // 16)
                return None
        return sorted(found - {0})

    def _try_all(self, support: Support, x: int, y: int) -> Verdict:
        for rows in support.every_row():
            bits = support.bits_of(rows)
            different = bits[x >> 1] ^ bits[y >> 1]
            if (x ^ y) & 1:
                different ^= (1 << rows.shape[1]) - 1
            if different:
                place = (different & -different).bit_length() - 1
                return Verdict(False, rows[:, [place]])
        return Verdict(True)

    def _ask_solver(self, cone: list[int], x: int, y: int) -> Verdict:
        with Clauses(self._graph, Clock(None)) as clauses:
            clauses.add(cone)
            for pair in ((x, y ^ 1), (x ^ 1, y)):
                found = clauses.solve(pair, self._limits.conflicts)
                if found is None:
                    return _UNDECIDED
                if found:
                    return Verdict(False, clauses.find_row(self._n_columns))
        return Verdict(True)
