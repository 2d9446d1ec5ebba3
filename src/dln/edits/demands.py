"""Demands: a class is never, or always, predicted under a condition, or a number stays in limits.

A demand is met by one locked rule with as few votes or points as the proof allows. It holds from
then on: every later edit is proven to keep it, until it is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from dln.core.builder import LogicBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.edit_record import Force, Release, RenameClass, RenameColumn
from dln.core.labels import label_text
from dln.core.locked import with_entries
from dln.core.parts import Rule
from dln.core.verdict import Proof
from dln.edits.apply import find_label, rename
from dln.edits.draft import Draft
from dln.edits.number_demands import describe_limits, meet_limits, prove_limits
from dln.errors import OptionError
from dln.language.rules import read_condition
from dln.prove.certify import prove_rule
from dln.prove.claim import Verdict
from dln.prove.clock import Clock

_DemandT = TypeVar("_DemandT", Force, Release)


def active_demands(circuit: Circuit) -> list[tuple[Force, Circuit]]:
    """List the demands on a circuit, each with the circuit as it was named when it was stated."""
    found: list[tuple[Force, Circuit]] = []
    named = circuit
    released: list[tuple[object, ...]] = []
    for record in reversed(circuit.edits):
        match record.edit:
            case RenameColumn(column, to):
                named = rename(named, RenameColumn(to, column))
            case RenameClass(label, to):
                named = rename(named, RenameClass(to, label))
            case Release() as edit:
                released.append(edit.key)
            case Force() as edit:
                if edit.key not in released:
                    found.append((edit, named))
            case _:
                pass
    return found[::-1]


def describe_demand(demand: Force | Release) -> str:
    """Write a demand: never low where pregnant; at least 3 where pregnant."""
    if demand.label is None:
        return f"{describe_limits(*demand.limits)} where {demand.where}"
    word = "never" if demand.never else "always"
    return f"{word} {label_text(demand.label)} where {demand.where}"


def checked_demand(circuit: Circuit, demand: _DemandT) -> _DemandT:
    """Return a demand with the label of its class; raises `OptionError` if it does not fit."""
    low, high = demand.limits
    has_limits = low is not None or high is not None
    if circuit.task == "number":
        if demand.label is not None or not has_limits:
            raise OptionError(
                "the model predicts a number and has no classes; demand at least or at most a "
                "number, such as at_least=3"
            )
        if low is not None and high is not None and low > high:
            raise OptionError(f"no number is at least {low:g} and at most {high:g}")
        return demand
    if demand.label is None or has_limits:
        raise OptionError(
            "the model predicts classes; demand that a class is never or always predicted, such as "
            f"never={circuit.classes[0]!r}"
        )
    return replace(demand, label=circuit.classes[find_label(circuit, demand.label)])


def prove_demand(circuit: Circuit, demand: Force, time_limit: float | None = 60.0) -> Verdict:
    """Prove that a circuit meets a demand, or find a row that does not.

    Outside the condition, the class gets so many votes that the demand is met there anyway. So the
    claim is about every row.
    """
    if demand.label is None:
        verdict = prove_limits(circuit, demand.where, *demand.limits, time_limit=time_limit)
        return _claiming(verdict, demand)
    number = find_label(circuit, demand.label)
    builder = LogicBuilder(circuit.columns)
    signals = builder.copy(circuit.logic)
    region = read_condition(demand.where, circuit.columns, builder)
    entries = [(signals[rule.wire], rule.votes) for rule in circuit.rules]
    plenty = _votes_of(circuit, number, -_most(circuit) if demand.never else _most(circuit))
    # The rule for the other rows is not one of the circuit, so it need not satisfy its constraints.
    claimed = with_entries(
        replace(circuit, constraints=None),
        builder,
        [*entries, (region.invert(), plenty)],
        circuit.base_votes,
        (),
    )
    label = circuit.classes[number]
    verdict = prove_rule(claimed, label, never=demand.never, time_limit=time_limit)
    return _claiming(verdict, demand)


def _claiming(verdict: Verdict, demand: Force) -> Verdict:
    """Return a verdict whose claim, if it is proven, is the demand in its own words."""
    if not isinstance(verdict, Proof):
        return verdict
    return replace(verdict, claim=describe_demand(demand))


def check_demands(circuit: Circuit, time_limit: float | None = 60.0) -> list[Proof]:
    """Prove every demand on a circuit; raises `OptionError` for the first that is not proven."""
    clock = Clock(time_limit)
    proofs = []
    for demand, named in active_demands(circuit):
        verdict = prove_demand(named, demand, clock.left)
        if not isinstance(verdict, Proof):
            raise OptionError(
                f'the demand "{describe_demand(demand)}" would be broken ({verdict}); '
                "release it first, or leave the edit out"
            )
        proofs.append(verdict)
    return proofs


def meet_demand(draft: Draft, demand: Force, time_limit: float | None = 60.0) -> Draft:
    """Add the rule that a demand needs, with as few votes as the proof allows; none if it is met.

    Raises `OptionError` if no votes can meet it.
    """
    circuit = draft.circuit
    if demand.label is None:
        return meet_limits(draft, demand.where, *demand.limits, time_limit=time_limit)
    number = find_label(circuit, demand.label)
    if circuit.n_classes == 1 and demand.never:
        raise OptionError("the model has a single class, which is always predicted")
    clock = Clock(time_limit)
    if prove_demand(circuit, demand, clock.left):
        return draft
    none, enough = 0, _most(circuit)
    while enough - none > 1:
        votes = (none + enough) // 2
        guarded = _with_guard(draft, demand, number, votes)
        if prove_demand(guarded.circuit, demand, clock.left):
            enough = votes
        else:
            none = votes
    return _with_guard(draft, demand, number, enough)


def release_demand(circuit: Circuit, release: Release) -> None:
    """Raise `OptionError` if there is no such demand on the circuit."""
    known = [demand for demand, _ in active_demands(circuit)]
    if release.key not in [demand.key for demand in known]:
        stated = "; ".join(map(describe_demand, known)) or "none"
        raise OptionError(
            f'there is no demand "{describe_demand(release)}"; the demands are: {stated}'
        )


def guards(circuit: Circuit, demands: Sequence[Force]) -> list[int]:
    """Find the places of the rules that were added to meet demands."""
    builder = LogicBuilder(circuit.columns)
    signals = builder.copy(circuit.logic)
    wanted: set[tuple[Signal, int, bool]] = set()
    for demand in demands:
        signal = read_condition(demand.where, circuit.columns, builder)
        if demand.label is not None:
            wanted.add((signal, find_label(circuit, demand.label), demand.never))
        # A guard raises a number that must be large enough, and lowers one that must be small.
        signs = zip((False, True), demand.limits, strict=True)
        wanted |= {(signal, 0, lowers) for lowers, limit in signs if limit is not None}
    return [
        place
        for place, rule in enumerate(circuit.rules)
        if place in circuit.locked and _guard_key(rule, signals) in wanted
    ]


def _guard_key(rule: Rule, signals: Sequence[Signal]) -> tuple[Signal, int, bool] | None:
    voted = [number for number, vote in enumerate(rule.votes) if vote]
    if len(voted) != 1:
        return None
    return signals[rule.wire], voted[0], rule.votes[voted[0]] < 0


def _with_guard(draft: Draft, demand: Force, number: int, votes: int) -> Draft:
    given = _votes_of(draft.circuit, number, -votes if demand.never else votes)
    return draft.guarded(demand.where, given)


def _votes_of(circuit: Circuit, number: int, votes: int) -> tuple[int, ...]:
    return tuple(votes if place == number else 0 for place in range(circuit.n_classes))


def _most(circuit: Circuit) -> int:
    """Return votes that decide every row, whatever the rules say."""
    given = [circuit.base_votes, *(rule.votes for rule in circuit.rules)]
    return 1 + sum(max(votes) - min(votes) for votes in given)
