"""Moves: ways to make a circuit smaller by one literal, gate or vote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dln.shrink.simplify.net import AND, Net

Votes = tuple[int, ...]

_NEAREST = 2
"""Number of literals of the same column that a literal may be merged with."""
_COUNTED_DOWN = 8
"""Up to this many votes are reduced one by one; larger numbers are halved."""


class Replace(NamedTuple):
    """Replace a node by an edge: a constant, an input, another literal."""

    node: int
    edge: int


class Revote(NamedTuple):
    """Reduce the votes of a rule to `kept`; `always` is added to the base votes."""

    place: int
    kept: Votes
    always: Votes


Move = Replace | Revote


def find_moves(net: Net, votes: Sequence[Votes], bits: Sequence[int], n_rows: int) -> list[Move]:
    """List the moves to try, in an order that depends on the circuit alone."""
    return [
        *_literal_moves(net, bits, n_rows),
        *_gate_moves(net),
        *_vote_moves(net, votes),
    ]


def _literal_moves(net: Net, bits: Sequence[int], n_rows: int) -> Iterator[Move]:
    """Replace a literal by a constant, or by the most similar literals of its column."""
    by_column: dict[int, list[int]] = {}
    for leaf in range(1, net.n_leaves):
        if net.is_read(leaf):
            by_column.setdefault(net.logic.literals[leaf - 1].column, []).append(leaf)
    for leaves in by_column.values():
        for leaf in leaves:
            yield Replace(leaf, 0)
            yield Replace(leaf, 1)
            for edge in _nearest(leaf, leaves, bits, n_rows):
                yield Replace(leaf, edge)


def _nearest(node: int, others: Sequence[int], bits: Sequence[int], n_rows: int) -> list[int]:
    """Find the edges of other nodes that differ from a node on the fewest rows."""
    found: list[tuple[int, int]] = []
    for other in others:
        if other != node:
            n_different = (bits[node] ^ bits[other]).bit_count()
            opposite = 2 * n_different > n_rows
            found.append((n_rows - n_different if opposite else n_different, 2 * other + opposite))
    return [edge for _, edge in sorted(found)[:_NEAREST]]


def _gate_moves(net: Net) -> Iterator[Move]:
    """Replace a gate by a constant or by one of its inputs."""
    for node in net.gates:
        if net.is_read(node):
            a, b = net.inputs[node]
            edges = (0, 1, a, b) if net.kinds[node] == AND else (0, 1, a, b, a ^ 1, b ^ 1)
            for edge in edges:
                yield Replace(node, edge)


def _vote_moves(net: Net, votes: Sequence[Votes]) -> Iterator[Move]:
    """Replace some or all votes of a rule for a class by no votes or by constant votes."""
    for place, given in enumerate(votes):
        root = net.roots[place]
        if root < 2:
            continue
        n_voted = sum(count != 0 for count in given)
        n_readers = len(net.readers[root >> 1]) + len(net.root_readers[root >> 1])
        # Removing the only reader of a node is the same as replacing the node by a constant.
        silence = n_voted > 1 or n_readers > 1
        for number, count in enumerate(given):
            for less in _fewer(count):
                kept = (*given[:number], less, *given[number + 1 :])
                if not (silence or any(kept)):
                    continue
                always = tuple(x - y for x, y in zip(given, kept, strict=True))
                yield Revote(place, kept, (0,) * len(given))
                yield Revote(place, kept, always)
        if n_voted > 1:
            yield Revote(place, (0,) * len(given), (0,) * len(given))
            yield Revote(place, (0,) * len(given), given)


def _fewer(count: int) -> list[int]:
    """Return the numbers of votes that a number may be lowered to."""
    sign = 1 if count > 0 else -1
    size = abs(count)
    some = size - 1 if size <= _COUNTED_DOWN else size // 2
    return [] if size == 0 else [sign * less for less in sorted({0, some})]
