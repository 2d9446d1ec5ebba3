"""Decide by SAT whether two circuits can differ.

1. Voting nodes are proven equal to each other, one pair at a time.
2. If sums remain, inner nodes of one circuit are proven equal to those of the other, starting from
   the inputs. This makes the remaining proofs easier.
3. If the sums still do not cancel, the question itself is given to the solver.

Pairs are proposed by simulation. Each row by which the solver refutes a pair is simulated too, with
rows near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from dln.prove.clock import Clock
from dln.prove.graph import TRUE
from dln.prove.miter import Miter, Sums, add_up
from dln.prove.question import Question
from dln.prove.sat import Clauses
from dln.prove.simulate import Rows, Support

_PAIR_CONFLICTS = 100
"""Conflicts that the solver may use for a pair; 1,000 and 10,000 were slower on most circuits."""
_MOST_PAIRS = 4
"""Number of candidates that are tried for each node."""
_MOST_HEADS = 64
"""Number of candidates that are considered for each node, which keeps the time linear."""
_ROWS_NEAR = 128

Worth = Callable[[int, int], bool]


def search(
    miter: Miter,
    question: Question,
    support: Support,
    rows: Rows,
    rng: np.random.Generator,
    clock: Clock,
) -> Rows | None:
    """Return a row, (n_columns, 1), on which the circuits differ; None if there is none.

    They agree on `rows`, (n_columns, n_rows), which are used to propose the first pairs.
    """
    with Clauses(miter.graph, clock) as clauses:
        clauses.add(support.cone)
        sweep = _Sweep(miter, question, support, rows, rng, clauses)
        row = sweep.join_nodes(sorted(miter.sums.weights), lambda x, y: True)
        if row is None and not sweep.sums().cancel:
            row = sweep.join_nodes(support.cone, _joins_sides(miter))
        if row is None and not sweep.sums().cancel:
            row = sweep.ask_rest()
        return row


def _joins_sides(miter: Miter) -> Worth:
    """Return whether a pair joins the two circuits: one node of each, and none of both."""
    a, b = ({0, *miter.graph.cone(voting)} for voting in miter.voting)
    shared = a & b

    def joins(x: int, y: int) -> bool:
        apart = x not in shared or y not in shared
        return apart and (x in a or y in a) and (x in b or y in b)

    return joins


class _Sweep:
    """The nodes that are known to be equal, and the rows that distinguish others."""

    def __init__(
        self,
        miter: Miter,
        question: Question,
        support: Support,
        rows: Rows,
        rng: np.random.Generator,
        clauses: Clauses,
    ) -> None:
        self._miter = miter
        self._question = question
        self._support = support
        self._rng = rng
        self._clauses = clauses
        self._bits = support.bits_of(rows)
        self._n_bits = rows.shape[1]
        self._equal: dict[int, int] = {}  # node -> an edge of a smaller node that equals it

    def sums(self) -> Sums:
        """Return the sums over the nodes that are not known to equal a smaller node."""
        sums = self._miter.sums
        votes = [(TRUE, sums.constant)]
        for node, leads in sums.weights.items():
            edge = 2 * node
            while edge >> 1 in self._equal:
                edge = self._equal[edge >> 1] ^ edge & 1
            votes.append((edge, leads))
        return add_up(votes, len(sums.constant))

    def join_nodes(self, nodes: Sequence[int], worth: Worth) -> Rows | None:
        """Prove nodes equal to smaller ones. Return a row if the circuits are found to differ."""
        heads = self._by_bits([0])
        for place, node in enumerate(nodes):
            tried: set[int] = set()
            while node not in self._equal and len(tried) < _MOST_PAIRS:
                likely = islice(heads.get(self._key(node), ()), _MOST_HEADS)
                head = next((x for x in likely if x not in tried and worth(x, node)), None)
                if head is None:
                    break
                tried.add(head)
                row = self._compare(head, node)
                if row is not None:
                    different = self._look_near(row)
                    if different is not None:
                        return different
                    heads = self._by_bits([0, *nodes[:place]])
            if node not in self._equal:
                heads.setdefault(self._key(node), []).append(node)
        return None

    def ask_rest(self) -> Rows | None:
        """Return a row on which the circuits differ, by asking the solver directly, or None."""
        for edge in self._question.edges(self.sums()):
            self._clauses.add([edge >> 1])
            if self._clauses.solve([edge]):
                return self._clauses.find_row(len(self._miter.columns))
        return None

    def _compare(self, head: int, node: int) -> Rows | None:
        """Record that two nodes are equal or opposite. Return a row if that is refuted."""
        edge = 2 * head + ((self._bits[head] ^ self._bits[node]) & 1)
        for pair in ((edge, 2 * node + 1), (edge ^ 1, 2 * node)):
            found = self._clauses.solve(pair, _PAIR_CONFLICTS)
            if found is None:
                return None
            if found:
                return self._clauses.find_row(len(self._miter.columns))
        self._clauses.make_equal(edge, 2 * node)
        self._equal[node] = edge
        return None

    def _look_near(self, row: Rows) -> Rows | None:
        """Simulate a row and others near it. Return one on which the circuits differ, if any."""
        rows = self._support.rows_near(row, _ROWS_NEAR, self._rng)
        bits = self._support.bits_of(rows)
        self._bits = {node: old | bits[node] << self._n_bits for node, old in self._bits.items()}
        self._n_bits += rows.shape[1]
        found = self._question.look(bits, rows.shape[1])
        return None if found is None else rows[:, [found]]

    def _by_bits(self, nodes: Iterable[int]) -> dict[int, list[int]]:
        """Group the nodes that equal no earlier node by their bits, or the negated bits."""
        groups: dict[int, list[int]] = {}
        for node in nodes:
            if node not in self._equal:
                groups.setdefault(self._key(node), []).append(node)
        return groups

    def _key(self, node: int) -> int:
        bits = self._bits[node]
        return bits ^ ((1 << self._n_bits) - 1) if bits & 1 else bits
