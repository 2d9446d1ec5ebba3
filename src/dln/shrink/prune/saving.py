"""What a move saves: gate-level operations of the literals, gates and votes that it removes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from dln.core.gates import GATE_BY_NAME
from dln.costs.arithmetic import addition, bit_sum
from dln.costs.circuit import INT_BITS, gate_operations
from dln.shrink.prune.moves import Replace, Revote, Votes
from dln.shrink.simplify.net import AND, LEAF, XOR, Net, leaf_cost

_GATE_COST = {AND: gate_operations(GATE_BY_NAME["AND"]), XOR: gate_operations(GATE_BY_NAME["XOR"])}


_ADDITION = addition(INT_BITS)


class Savings:
    """Counts what moves would save in a net with these votes.

    Promise: folding the circuit after a move saves at least as much.
    """

    def __init__(self, net: Net, votes: Sequence[Votes], *, is_number: bool = False) -> None:
        self._count = count_points if is_number else count_votes
        self._net = net
        self._votes = votes
        self._costs = [
            0 if node == 0 else leaf_cost(net, node) if kind == LEAF else _GATE_COST[kind]
            for node, kind in enumerate(net.kinds)
        ]

    def of_replacing(self, move: Replace) -> int:
        """Count what is saved when a node is replaced by an edge."""
        net = self._net
        becomes, rewired = follow_edges(net, move)
        change: dict[int, int] = {}
        saved = 0
        for node, edge in becomes.items():
            for place in net.root_readers[node]:
                if edge < 2:
                    saved += self._count(self._votes[place])
                else:
                    _add(change, edge >> 1, 1)
        for node, edges in rewired.items():
            old, new = _nodes(net.inputs[node]), _nodes(edges)
            for source in new - old:
                _add(change, source, 1)
            for source in old - new:
                _add(change, source, -1)
        for node in becomes:
            for source in _nodes(net.inputs[node]):
                _add(change, source, -1)
        saved += sum(self._costs[node] for node in becomes)
        return saved + self._unread_cost(change, becomes, rewired)

    def of_revoting(self, move: Revote) -> int:
        """Count what is saved when a rule gives fewer votes."""
        saved = self._count(self._votes[move.place]) - self._count(move.kept)
        if any(move.kept):
            return saved
        return saved + self._unread_cost({self._net.roots[move.place] >> 1: -1}, {}, {})

    def _unread_cost(
        self,
        change: dict[int, int],
        gone: Mapping[int, int],
        rewired: Mapping[int, tuple[int, int]],
    ) -> int:
        """Add up the cost of nodes that lose all readers by `change` in the numbers of readers."""
        net = self._net
        saved = 0
        check = list(change)
        dead: set[int] = set()
        while check:
            node = check.pop()
            n_readers = len(net.readers[node]) + len(net.root_readers[node]) + change.get(node, 0)
            if n_readers > 0 or node == 0 or node in gone or node in dead:
                continue
            dead.add(node)
            saved += self._costs[node]
            if net.kinds[node] != LEAF:
                for source in _nodes(rewired.get(node, net.inputs[node])):
                    _add(change, source, -1)
                    check.append(source)
        return saved


def follow_edges(net: Net, move: Replace) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """Fold the readers of a replaced node.

    Returns the edge that replaces each node that folds away, in topological order, and the new
    inputs of each gate that stays.
    """
    becomes = {move.node: move.edge}
    rewired: dict[int, tuple[int, int]] = {}
    queue = sorted(net.readers[move.node])
    queued = set(queue)
    while queue:
        node = heapq.heappop(queue)
        a, b = (
            becomes[edge >> 1] ^ edge & 1 if edge >> 1 in becomes else edge
            for edge in net.inputs[node]
        )
        folded = _fold_gate(net.kinds[node], a, b)
        if folded is None:
            rewired[node] = (a, b)
            continue
        becomes[node] = folded
        for reader in net.readers[node] - queued:
            queued.add(reader)
            heapq.heappush(queue, reader)
    return becomes, rewired


def count_votes(votes: Votes) -> int:
    """Count the gate-level operations of a rule's votes."""
    return bit_sum(sum(abs(vote) for vote in votes))


def count_points(points: Votes) -> int:
    """Count the gate-level operations of the points of a number: one addition, however large."""
    return _ADDITION if any(points) else 0


def _fold_gate(kind: int, a: int, b: int) -> int | None:
    """Return the edge that a gate of two edges reduces to, if any."""
    if a > b:
        a, b = b, a
    if kind == AND:
        return a if a == b else 0 if a == 0 or a ^ b == 1 else b if a == 1 else None
    return a ^ b if a < 2 or a ^ b < 2 else None


def _nodes(edges: Iterable[int]) -> set[int]:
    return {edge >> 1 for edge in edges}


def _add(counts: dict[int, int], key: int, number: int) -> None:
    counts[key] = counts.get(key, 0) + number
