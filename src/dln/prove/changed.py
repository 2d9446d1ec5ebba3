"""Two circuits that share most rules -> the rules that differ, and what they change where.

Rules that both circuits have give the same votes in both. So the votes of a row change by an amount
that depends on the other rules alone. An edit changes few rules, so this is found at once, however
large the circuits are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import reduce
from itertools import product
from typing import NamedTuple

from dln.core.builder import FALSE, TRUE, LogicBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.parts import Rule
from dln.core.readout import Votes

MOST_CHANGED = 4
"""Maximum number of conditions whose combinations are told apart."""

_AND, _OR = GATE_BY_NAME["AND"], GATE_BY_NAME["OR"]

Amount = tuple[int, ...]


class Region(NamedTuple):
    """Rows whose votes change by the same amount, different for some classes.

    `where` is a circuit with one rule, which is true on these rows; None means all rows.
    """

    where: Circuit | None
    amount: Amount


def cancelled(circuit: Circuit) -> Circuit:
    """Return a circuit in which the rules of one condition are one rule, or none if they cancel.

    >>> from dln.core.literals import Above, Column
    >>> from dln.core.logic import Logic
    >>> rules = (Rule(0, (3,)), Rule(0, (-3,)))
    >>> x = Logic((Column("x", "number"),), (Above(0, 1.0),), ())
    >>> from dln.core.score import Score
    >>> cancelled(Circuit(logic=x, readout=Score(rules, (0,)))).rules
    ()
    """
    builder = LogicBuilder(circuit.columns)
    votes, base = _add_up(circuit, builder)
    logic, wires = builder.build(votes)
    rules = tuple(Rule(wires[signal], own) for signal, own in votes.items())
    return Circuit(logic=logic, readout=circuit.readout.with_rules(rules, base))


def changed_regions(joint: Circuit, n_classes: int) -> list[Region] | None:
    """Find where the votes of two circuits differ, given the votes of both in one circuit.

    Regions do not overlap, and rows outside all of them have the same votes, except for an amount
    that is the same for all classes. None if too many rules differ.
    """
    builder = LogicBuilder(joint.columns)
    found, base = _add_up(joint, builder)
    changes: dict[Signal, Amount] = {}
    constant = _amount(base, n_classes)
    for signal, votes in found.items():
        amount = _amount(votes, n_classes)
        if signal.negated:  # votes where a part is false: all rows have them, less where it is true
            constant = _sum(constant, amount)
            amount = tuple(-each for each in amount)
        plain = Signal(signal.part, False)
        changes[plain] = _sum(changes.get(plain, (0,) * n_classes), amount)
    changes = {signal: amount for signal, amount in changes.items() if len(set(amount)) > 1}
    if len(changes) > MOST_CHANGED:
        return None
    places: dict[Amount, list[Signal]] = defaultdict(list)
    for truths in product((False, True), repeat=len(changes)):
        amount = constant
        for is_true, own in zip(truths, changes.values(), strict=True):
            amount = _sum(amount, own) if is_true else amount
        least = min(amount)
        if len(set(amount)) > 1:
            signs = [
                signal.invert(not is_true) for signal, is_true in zip(changes, truths, strict=True)
            ]
            here = reduce(lambda a, b: builder.gate(_AND, a, b), signs, TRUE)
            places[tuple(each - least for each in amount)].append(here)
    regions = []
    for amount, ways in places.items():
        where = reduce(lambda a, b: builder.gate(_OR, a, b), ways, FALSE)
        if where == TRUE:
            regions.append(Region(None, amount))
        elif where != FALSE:
            alone = _alone(builder, where)
            if _is_possible(alone):
                regions.append(Region(alone, amount))
    return regions


def _add_up(circuit: Circuit, builder: LogicBuilder) -> tuple[dict[Signal, Amount], Amount]:
    """Add up the votes of each condition; return them, and the base votes."""
    signals = builder.copy(circuit.logic)
    votes: dict[Signal, Amount] = {}
    base = circuit.base_votes
    for wire, own in circuit.rules:
        signal = signals[wire]
        if signal == TRUE:
            base = _sum(base, own)
        elif signal != FALSE:
            votes[signal] = _sum(votes.get(signal, (0,) * len(own)), own)
    return {signal: own for signal, own in votes.items() if any(own)}, base


def _alone(builder: LogicBuilder, signal: Signal) -> Circuit:
    logic, wires = builder.build([signal])
    return Circuit(logic=logic, readout=Votes((Rule(wires[signal], (0, 1)),), (0, 0), (0, 1)))


def _is_possible(alone: Circuit) -> bool:
    """Return whether some row is in a region; if that cannot be told, it is assumed."""
    search = alone._search
    found = search.find(search.all_rows, [search.beats(1, 0)], seconds=1.0)
    return found.row is not None or not found.complete


def _amount(votes: Amount, n_classes: int) -> Amount:
    """Return the votes in the second circuit less those in the first."""
    return tuple(votes[n_classes + number] - votes[number] for number in range(n_classes))


def _sum(a: Iterable[int], b: Iterable[int]) -> Amount:
    return tuple(x + y for x, y in zip(a, b, strict=True))
