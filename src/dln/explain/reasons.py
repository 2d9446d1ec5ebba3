"""A rule that fired + the row's literals -> the part that made it true.

A *reason* is a set of the rule's literals that, with their values in the row, forces the rule to be
true whatever the other literals are. Implications between literals of a column are used.

Promise: a reason always forces its rule. An exact reason has the fewest literals possible. For more
than `MOST_LITERALS` literals the search is greedy, and `exact` is False.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from dln.core.gates import GATES, Gate
from dln.explain.cases import Cases, Pattern, column_patterns

if TYPE_CHECKING:
    from dln.core.logic import Logic

MOST_LITERALS = 12
"""Maximum number of literals for exact reasons: at most 2 ** 12 sets and 2 ** 12 cases."""


@dataclass(frozen=True)
class Fact:
    """A literal with its truth value in the row, and its text."""

    literal: int
    truth: bool
    text: str


@dataclass(frozen=True)
class Reason:
    """The part that made a rule true.

    Attributes
    ----------
    facts
        The facts that force the rule; empty if it is always true.
    exact
        Whether it is certain that there is no smaller reason.
    """

    facts: tuple[Fact, ...]
    exact: bool

    def __str__(self) -> str:
        return " and ".join(fact.text for fact in self.facts) or "always"


def find_reason(logic: Logic, wire: int, truths: Sequence[bool]) -> Reason:
    """Find why a wire is 1 in a row with these truth values of the literals.

    Among the smallest reasons, the one with the fewest characters is chosen.
    """
    literals = [number for number in logic.cone([wire]) if number < logic.n_literals]
    facts = [_fact(logic, literal, truths[literal]) for literal in literals]
    if len(literals) <= MOST_LITERALS:
        return Reason(_smallest(logic, wire, facts), exact=True)
    return Reason(_greedy(logic, wire, facts), exact=False)


def _fact(logic: Logic, literal: int, truth: bool) -> Fact:
    words = logic.literals[literal].describe(logic.columns, negated=not truth)
    return Fact(literal, truth, words)


def _smallest(logic: Logic, wire: int, facts: list[Fact]) -> tuple[Fact, ...]:
    row = {fact.literal: fact.truth for fact in facts}
    cases = Cases(logic, row, row)
    false = cases.truth(wire) ^ cases.ones
    held = {fact: cases.holding(fact.literal, truth=fact.truth) for fact in facts}
    for size in range(len(facts) + 1):
        forcing = [chosen for chosen in combinations(facts, size) if not _meet(false, chosen, held)]
        if forcing:
            return min(forcing, key=lambda chosen: sum(len(fact.text) for fact in chosen))
    raise AssertionError("all literals of a row together force every wire that is 1 in it")


def _meet(cases: int, chosen: tuple[Fact, ...], held: Mapping[Fact, int]) -> int:
    for fact in chosen:
        cases &= held[fact]
    return cases


# -- many literals ----------------------------------------------------------------------------


def _greedy(logic: Logic, wire: int, facts: list[Fact]) -> tuple[Fact, ...]:
    """Leave out one fact after another, longest first, while the others still force the wire.

    If some facts force the wire, more facts force it too. So all facts up to the next necessary one
    are left out at once, and a short reason takes few evaluations of the circuit.
    """
    propagation = _Propagation(logic, wire, {fact.literal: fact.truth for fact in facts})
    order = [fact.literal for fact in sorted(facts, key=lambda fact: -len(fact.text))]
    needed: set[int] = set()
    start = 0
    while start < len(order):
        start = _last_true(
            lambda place: propagation.forces({*needed, *order[place:]}), start, len(order)
        )
        needed.update(order[start : start + 1])
        start += 1
    return tuple(fact for fact in facts if fact.literal in needed)


def _last_true(holds: Callable[[int], bool], first: int, last: int) -> int:
    """Find the last number up to which `holds` is true, starting from `first`, by doubling."""
    step = 1
    while first < last and holds(min(first + step, last)):
        first = min(first + step, last)
        step *= 2
    return first + bisect_left(
        range(first + 1, min(first + step, last)), True, key=lambda number: not holds(number)
    )


class _Propagation:
    """Finds whether some of a row's literals force a wire, by propagating values gate by gate."""

    def __init__(self, logic: Logic, wire: int, row: Mapping[int, bool]) -> None:
        wires = logic.cone([wire])
        places = {number: place for place, number in enumerate(wires)}
        self._n_wires = len(wires)
        # An input that the gate does not depend on may be outside the cone; any place works for it.
        self._gates = [
            (place, _TERNARY[gate.code], places.get(a, 0), places.get(b, 0))
            for place, number in enumerate(wires)
            if number >= logic.n_literals
            for gate, a, b in [logic.nodes[number - logic.n_literals]]
        ]
        # For each column: its patterns, one bit each, and those that agree with the row.
        self._columns = [
            (
                (1 << len(patterns)) - 1,
                [
                    (
                        literal,
                        places[literal],
                        int(row[literal]),
                        _agreeing(patterns, at, row[literal]),
                    )
                    for at, literal in enumerate(literals)
                ],
            )
            for literals, patterns in column_patterns(logic, row, row)
        ]

    def forces(self, known: Collection[int]) -> bool:
        """Check whether the wire is forced to 1 if these literals are as in the row."""
        values = [_UNKNOWN] * self._n_wires
        for left, literals in self._columns:
            for literal, _, _, agreeing in literals:
                if literal in known:
                    left &= agreeing
            for _, place, truth, agreeing in literals:
                if not left & ~agreeing:  # known, or implied by known literals of its column
                    values[place] = truth
        for place, table, a, b in self._gates:
            values[place] = table[3 * values[a] + values[b]]
        return values[-1] == 1


def _agreeing(patterns: list[Pattern], place: int, truth: bool) -> int:
    """Return the patterns, one bit each, in which a literal has this truth value."""
    return sum(1 << number for number, each in enumerate(patterns) if each[place] == truth)


_UNKNOWN = 2


def _ternary(gate: Gate) -> tuple[int, ...]:
    """Tabulate a gate for inputs that may be unknown; the index is 3·a + b."""
    either = ((0,), (1,), (0, 1))
    outputs = [{gate.hard(x, y) for x in a for y in b} for a in either for b in either]
    return tuple(found.pop() if len(found) == 1 else _UNKNOWN for found in outputs)


_TERNARY = [_ternary(gate) for gate in GATES]
