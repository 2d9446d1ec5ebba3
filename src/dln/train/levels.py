"""Trees whose points are monotone -> rules that are monotone one by one.

A leaf of a tree is reached by tests in both directions, so it is not monotone on its own. The rules
of a monotone tree are its levels instead: "the points are at least 3" is monotone, and the points
are a sum of levels. A level is written so that a column with a direction is tested in one direction
only: if the points grow with x, then `points(x > t) >= points(x <= t)`, and a level holds if it
holds on the low side, or if `x > t` and it holds on the high side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.encode.bits import EncodedLiteral

Floats = NDArray[np.float64]


class LeadTree(NamedTuple):
    """A tree as lists over its nodes; leaves have no test.

    `signs` are the directions of the leads in the column of a test, or 0. `leads` are whole numbers
    of votes, of which only those of leaves count.
    """

    tests: list[EncodedLiteral | None]
    signs: list[int]
    left: list[int]
    right: list[int]
    leads: list[int]


class Branch(NamedTuple):
    """A test, and what holds if it is false and if it is true.

    With sign 1, `low` implies `high` for values on both sides of the test; with sign -1 `high`
    implies `low`.
    """

    test: EncodedLiteral
    sign: int
    low: Condition
    high: Condition


Condition = Branch | bool


class Level(NamedTuple):
    """A rule: a condition, or its negation, and its votes."""

    condition: Condition
    negated: bool
    votes: tuple[int, ...]

    @property
    def tests(self) -> Iterator[EncodedLiteral]:
        """The literals of the rule."""
        return _tests(self.condition)


def levels(tree: LeadTree, output: int, n_outputs: int) -> Iterator[Level]:
    """Yield rules whose votes add up to the leads of a class, or to a number (one output).

    Levels above 0 vote for the class where they hold. Levels below 0 vote for the other classes,
    or against the number, where they do not hold.
    """
    found = sorted({tree.leads[node] for node, test in enumerate(tree.tests) if test is None})
    own = tuple(int(number == output) for number in range(n_outputs))
    others = tuple(1 - vote for vote in own) if n_outputs > 1 else (-1,)
    nearest = min(range(len(found)), key=lambda place: abs(found[place]))
    rest = found[nearest]
    if rest:
        side = own if rest > 0 else others
        yield Level(True, False, tuple(abs(rest) * vote for vote in side))
    for place in range(1, len(found)):
        step = found[place] - found[place - 1]
        condition = _at_least(tree, 0, found[place])
        above = place > nearest
        side = own if above else others
        yield Level(condition, not above, tuple(step * vote for vote in side))


def _at_least(tree: LeadTree, node: int, lead: int) -> Condition:
    test = tree.tests[node]
    if test is None:
        return tree.leads[node] >= lead
    low = _at_least(tree, tree.left[node], lead)
    high = _at_least(tree, tree.right[node], lead)
    return low if low == high else Branch(test, tree.signs[node], low, high)


def _tests(condition: Condition) -> Iterator[EncodedLiteral]:
    if isinstance(condition, Branch):
        yield condition.test
        yield from _tests(condition.low)
        yield from _tests(condition.high)


def add_up_nodes(structure: Any, leaf: NDArray[np.int64], values: Floats) -> Floats:
    """Return the sum of the values of the rows below each node of a tree."""
    left, right = structure.children_left, structure.children_right
    sums = np.asarray(np.bincount(leaf, values, structure.node_count), dtype=np.float64)
    for node in range(structure.node_count - 1, -1, -1):  # children come after their parent
        if left[node] >= 0:
            sums[node] = sums[left[node]] + sums[right[node]]
    return sums


def bound_steps(structure: Any, signs: NDArray[np.int8], steps: Floats) -> Floats:
    """Bound the steps of a tree's leaves so that they have the directions of the features.

    `steps` (n_nodes,) are the best ones for the rows of each node. At a split with a direction, the
    middle between its two sides bounds all leaves of both.
    """
    left, right = structure.children_left, structure.children_right
    steps = steps.copy()
    low = np.full(structure.node_count, -np.inf)
    high = np.full(structure.node_count, np.inf)
    for node in range(structure.node_count):
        if left[node] < 0:
            steps[node] = min(max(steps[node], low[node]), high[node])
            continue
        sides = left[node], right[node]
        low[list(sides)], high[list(sides)] = low[node], high[node]
        sign = signs[structure.feature[node]]
        if sign:
            middle = (steps[left[node]] + steps[right[node]]) / 2
            middle = min(max(middle, low[node]), high[node])
            under, over = sides if sign > 0 else sides[::-1]
            high[under] = low[over] = middle
    return steps
