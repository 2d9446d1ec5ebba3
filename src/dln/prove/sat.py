"""The nodes of a graph as clauses, and a SAT solver with a time limit.

Only this module uses the solver. Node n is variable n + 1; node 0 is the constant false.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from dln._util.extras import import_extra
from dln.prove.clock import Clock
from dln.prove.graph import AND, STEP, Graph
from dln.prove.simulate import Rows

_SOLVER = "cadical153"
"""Of seven solvers this was the fastest on rewritten circuits and multipliers, and almost the
fastest on parities, adders and sorters. MiniSat makes no progress if it is interrupted."""
_SLICE_CONFLICTS = 1000
"""Conflicts between two checks of the time limit: about a tenth of a second."""


class Clauses:
    """The clauses of some nodes of a graph; use it in a `with` block."""

    def __init__(self, graph: Graph, clock: Clock) -> None:
        self._graph = graph
        self._clock = clock
        solvers = import_extra("pysat.solvers", "this proof", "python-sat")
        self._solver = solvers.Solver(name=_SOLVER)
        self._solver.add_clause([_signed(1)])
        self._known: set[int] = set()
        self._steps: dict[int, list[tuple[int, int]]] = {}

    def __enter__(self) -> Clauses:
        return self

    def __exit__(self, *_: object) -> None:
        self._solver.delete()

    def add(self, nodes: Iterable[int]) -> None:
        """Add the clauses of nodes and of all nodes that they depend on, unless added already."""
        steps: dict[int, list[tuple[int, int]]] = {}
        new = [node for node in self._graph.cone(nodes) if node not in self._known]
        self._known.update(new)
        for node in new:
            kind, a, b = self._graph.parts[node]
            x, y, out = _signed(a), _signed(b), _signed(2 * node)
            if kind == STEP:
                steps.setdefault(a, []).append((b, out))
            elif kind == AND:
                self._add_all([[-out, x], [-out, y], [out, -x, -y]])
            else:
                self._add_all([[-out, x, y], [-out, -x, -y], [out, -x, y], [out, x, -y]])
        for column, ranked in steps.items():
            assert column not in self._steps, "all steps of a column come at once"
            self._steps[column] = sorted(ranked)
            for (_, earlier), (_, later) in pairwise(self._steps[column]):
                self._solver.add_clause([-later, earlier])

    def make_equal(self, x: int, y: int) -> None:
        """Add that two edges are equal, after that has been proven."""
        self._add_all([[-_signed(x), _signed(y)], [_signed(x), -_signed(y)]])

    def solve(self, edges: Iterable[int], max_conflicts: int | None = None) -> bool | None:
        """Return whether all edges can be true; None if undecided after `max_conflicts`."""
        assumptions = [_signed(edge) for edge in edges]
        n_left = math.inf if max_conflicts is None else max_conflicts
        while n_left > 0:
            self._clock.check()
            self._solver.conf_budget(int(min(n_left, _SLICE_CONFLICTS)))
            found: bool | None = self._solver.solve_limited(assumptions=assumptions)
            if found is not None:
                return found
            n_left -= _SLICE_CONFLICTS
        return None

    def find_row(self, n_columns: int) -> Rows:
        """Return the row that `solve` has just found: (n_columns, 1)."""
        true = {variable for variable in self._solver.get_model() if variable > 0}
        row = np.zeros((n_columns, 1), dtype=np.int32)
        for column, ranked in self._steps.items():
            row[column] = max((rank for rank, step in ranked if step in true), default=0)
        return row

    def _add_all(self, clauses: Iterable[list[int]]) -> None:
        for clause in clauses:
            self._solver.add_clause(clause)


def _signed(edge: int) -> int:
    """Return the solver's literal for an edge."""
    return -(edge >> 1) - 1 if edge & 1 else (edge >> 1) + 1
