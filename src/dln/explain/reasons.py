"""A rule that fired + the row's literals -> the part that made it true.

A *reason* is a set of the rule's literals that, with their truths in the row, forces the rule to be
true whatever the other columns hold, given what the literals of a column imply of each other.

Promise: a reason always forces its rule. An exact one is among the smallest there are, so none of
its literals can be left out; beyond `MOST_LITERALS` literals it is found greedily and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from dln.explain.possible import Cases, Pattern, column_patterns, cone

if TYPE_CHECKING:
    from dln.circuit import Circuit

MOST_LITERALS = 12
"""Exact reasons are found for this many literals: 2 ** 12 sets of them, 2 ** 12 cases."""


@dataclass(frozen=True)
class Fact:
    """A literal with its truth in the row, in the user's words."""

    literal: int
    truth: bool
    text: str


@dataclass(frozen=True)
class Reason:
    """The part that made a rule true.

    Attributes
    ----------
    facts
        What forces the rule; nothing where it is always true.
    exact
        Whether there is no smaller reason; otherwise there may be.
    """

    facts: tuple[Fact, ...]
    exact: bool

    def __str__(self) -> str:
        return " and ".join(fact.text for fact in self.facts) or "always"


def find_reason(circuit: Circuit, wire: int, truths: Sequence[bool]) -> Reason:
    """Find why a wire is 1 in a row with these truths of the literals.

    Among the smallest reasons the one of the fewest characters is taken.
    """
    literals = [number for number in cone(circuit, wire) if number < circuit.n_literals]
    facts = [_fact(circuit, literal, truths[literal]) for literal in literals]
    if len(literals) <= MOST_LITERALS:
        return Reason(_smallest(circuit, wire, facts), exact=True)
    return Reason(_greedy(circuit, wire, facts), exact=False)


def _fact(circuit: Circuit, literal: int, truth: bool) -> Fact:
    words = circuit.literals[literal].describe(circuit.columns, negated=not truth)
    return Fact(literal, truth, words)


def _smallest(circuit: Circuit, wire: int, facts: list[Fact]) -> tuple[Fact, ...]:
    row = {fact.literal: fact.truth for fact in facts}
    cases = Cases(circuit, row, row)
    false = cases.truth(wire) ^ cases.ones
    held = {fact: cases.holding(fact.literal, truth=fact.truth) for fact in facts}
    for size in range(len(facts) + 1):
        forcing = [chosen for chosen in combinations(facts, size) if not _meet(false, chosen, held)]
        if forcing:
            return min(forcing, key=lambda chosen: sum(len(fact.text) for fact in chosen))
    raise AssertionError("a row's own literals force all that is true in it")


def _meet(cases: int, chosen: tuple[Fact, ...], held: Mapping[Fact, int]) -> int:
    for fact in chosen:
        cases &= held[fact]
    return cases


# -- many literals ----------------------------------------------------------------------------


def _greedy(circuit: Circuit, wire: int, facts: list[Fact]) -> tuple[Fact, ...]:
    """Leave out one fact after the other for as long as the rest plainly force the wire."""
    row = {fact.literal: fact.truth for fact in facts}
    groups = column_patterns(circuit, row, row)
    wires = cone(circuit, wire)
    kept = list(facts)
    for fact in sorted(facts, key=lambda fact: -len(fact.text)):
        fewer = [other for other in kept if other is not fact]
        known = _implied({other.literal: other.truth for other in fewer}, groups)
        if _propagate(circuit, wires, known) is True:
            kept = fewer
    return tuple(kept)


def _implied(
    known: dict[int, bool], groups: list[tuple[list[int], list[Pattern]]]
) -> dict[int, bool]:
    """Add the literals that follow from known ones of the same column."""
    implied = dict(known)
    for wires, patterns in groups:
        given = [(place, known[wire]) for place, wire in enumerate(wires) if wire in known]
        left = [each for each in patterns if all(each[place] == truth for place, truth in given)]
        for place, wire in enumerate(wires):
            values = {pattern[place] for pattern in left}
            if len(values) == 1:
                implied[wire] = values.pop()
    return implied


def _propagate(circuit: Circuit, wires: list[int], known: Mapping[int, bool]) -> bool | None:
    """Evaluate the last wire where some literals are unknown; None where it may be unknown too."""
    either = (False, True)
    values: dict[int, bool | None] = {}
    for wire in wires:
        if wire < circuit.n_literals:
            values[wire] = known.get(wire)
            continue
        gate, a, b = circuit.nodes[wire - circuit.n_literals]
        x, y = values.get(a), values.get(b)
        outputs = {
            gate.hard(int(left), int(right))
            for left in (either if x is None else (x,))
            for right in (either if y is None else (y,))
        }
        values[wire] = bool(outputs.pop()) if len(outputs) == 1 else None
    return values[wires[-1]]
