"""Sums of weighted edges as logic: the bits of the sum, by full adders."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from dln.prove.graph import FALSE, TRUE, Graph


def is_not_zero(graph: Graph, constant: int, weights: Sequence[tuple[int, int]]) -> int:
    """Make an edge that is true if `constant` plus the weights of true edges is not 0.

    >>> graph = Graph()
    >>> x, y = graph.step(0, 1), graph.step(1, 1)
    >>> is_not_zero(graph, -1, [(x, 1)]) == x ^ 1
    True
    >>> is_not_zero(graph, 1, [(x, 2), (y, 4)]) == TRUE
    True
    """
    positive, least = _make_positive(constant, weights)
    unit = math.gcd(*(weight for _, weight in positive)) or 1
    bits = _add_bits(graph, [(edge, weight // unit) for edge, weight in positive])
    wanted, rest = divmod(-least, unit)
    if rest or not 0 <= wanted < 2 ** len(bits):
        return TRUE
    different = FALSE
    for power, bit in enumerate(bits):
        different = graph.either(different, bit ^ (wanted >> power & 1))
    return different


def is_negative(graph: Graph, constant: int, weights: Sequence[tuple[int, int]]) -> int:
    """Make an edge that is true if `constant` plus the weights of true edges is below 0.

    >>> graph = Graph()
    >>> x, y = graph.step(0, 1), graph.step(1, 1)
    >>> is_negative(graph, 1, [(x, -2), (y, 1)]) == graph.both(x, y ^ 1)
    True
    >>> is_negative(graph, 2, [(x, -2)]) == FALSE
    True
    """
    positive, least = _make_positive(constant, weights)
    unit = math.gcd(*(weight for _, weight in positive)) or 1
    bits = _add_bits(graph, [(edge, weight // unit) for edge, weight in positive])
    bound = -(least // unit)  # true if the sum of the bits is below -least / unit, rounded up
    if not 0 < bound < 2 ** len(bits):
        return TRUE if bound > 0 else FALSE
    below = FALSE
    for power, bit in enumerate(bits):
        join = graph.either if bound >> power & 1 else graph.both
        below = join(bit ^ 1, below)
    return below


def _make_positive(
    constant: int, weights: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], int]:
    """Convert a sum to positive weights. Return them and the smallest possible sum."""
    # -w·x is w·(1 - x) - w.
    positive = [(edge, weight) if weight > 0 else (edge ^ 1, -weight) for edge, weight in weights]
    return positive, constant + sum(weight for _, weight in weights if weight < 0)


def _add_bits(graph: Graph, weights: list[tuple[int, int]]) -> list[int]:
    """Make the bits of a sum of positive weights, lowest first."""
    most = sum(weight for _, weight in weights)
    columns = [
        deque(edge for edge, weight in weights if weight >> power & 1)
        for power in range(most.bit_length())
    ]
    columns.append(deque())  # used only by carries that are always 0
    for column, next_column in pairwise(columns):
        while len(column) > 1:
            x, y = column.popleft(), column.popleft()
            z = column.popleft() if column else FALSE
            half = graph.differ(x, y)
            column.append(graph.differ(half, z))
            next_column.append(graph.either(graph.both(x, y), graph.both(half, z)))
    return [column[0] if column else FALSE for column in columns[:-1]]
