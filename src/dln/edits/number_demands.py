"""Demands on a number: the prediction stays within limits under a condition."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from dln._util.messages import plain_text
from dln.core.bands import point_range
from dln.core.builder import LogicBuilder
from dln.core.circuit import Circuit
from dln.core.locked import with_entries
from dln.core.parts import MAX_VOTES
from dln.core.score import Score
from dln.core.verdict import Proof
from dln.edits.draft import Draft
from dln.errors import OptionError
from dln.language.rules import read_condition
from dln.prove.certify import prove_range
from dln.prove.claim import Verdict
from dln.prove.clock import Clock

_DIGITS = 10
_ALL_POINTS = range(-MAX_VOTES, MAX_VOTES + 1)


def describe_limits(at_least: float | None, at_most: float | None) -> str:
    """Write limits.

    >>> describe_limits(3.0, None), describe_limits(0.5, 2.0)
    ('at least 3', 'at least 0.5 and at most 2')
    """
    limits = (("at least", at_least), ("at most", at_most))
    return " and ".join(
        f"{word} {plain_text(limit, _DIGITS)}" for word, limit in limits if limit is not None
    )


def prove_limits(
    circuit: Circuit,
    where: str,
    at_least: float | None,
    at_most: float | None,
    *,
    time_limit: float | None = 60.0,
) -> Verdict:
    """Prove that the prediction is within limits where a condition holds, or find a row."""
    clock = Clock(time_limit)
    verdict: Verdict | None = None
    for sign, limit in ((1, at_least), (-1, at_most)):
        if limit is None:
            continue
        verdict = _prove_limit(circuit, where, sign, limit, clock)
        if not isinstance(verdict, Proof):
            return verdict
    assert verdict is not None
    return verdict


def meet_limits(
    draft: Draft,
    where: str,
    at_least: float | None,
    at_most: float | None,
    *,
    time_limit: float | None = 60.0,
) -> Draft:
    """Add a rule that adds as little as the proof allows, so that the limits are kept.

    Raises `OptionError` if no amount keeps both.
    """
    clock = Clock(time_limit)
    shift = 0
    for sign, limit in ((1, at_least), (-1, at_most)):
        if limit is not None:
            shift += sign * _least_amount(draft, where, sign, limit, clock)
    if shift == 0 and (at_least is None or at_most is None):
        return draft
    guarded = draft if shift == 0 else draft.guarded(where, (shift,))
    met = prove_limits(guarded.circuit, where, at_least, at_most, time_limit=clock.left)
    if at_least is not None and at_most is not None and not met:
        raise OptionError(
            f"no rule keeps the prediction {describe_limits(at_least, at_most)} where {where}: "
            "predictions differ there by more; demand one limit, or state a narrower condition"
        )
    return guarded


def _least_amount(draft: Draft, where: str, sign: int, limit: float, clock: Clock) -> int:
    """Return the smallest points, added or subtracted, with which a limit is kept; 0 for none."""
    if _prove_limit(draft.circuit, where, sign, limit, clock):
        return 0
    none, enough = 0, _gap(draft.circuit.number_readout, sign, limit)
    while enough - none > 1:
        amount = (none + enough) // 2
        guarded = draft.guarded(where, (sign * amount,))
        if _prove_limit(guarded.circuit, where, sign, limit, clock):
            enough = amount
        else:
            none = amount
    return enough


def _prove_limit(circuit: Circuit, where: str, sign: int, limit: float, clock: Clock) -> Verdict:
    """Prove one limit, the least number if the sign is 1 and the largest if it is -1.

    Outside the condition, so much is added that the limit is kept there anyway. So the claim is
    about every row.
    """
    builder = LogicBuilder(circuit.columns)
    signals = builder.copy(circuit.logic)
    region = read_condition(where, circuit.columns, builder)
    plenty = sign * _gap(circuit.number_readout, sign, limit)
    entries = [(signals[rule.wire], rule.votes) for rule in circuit.rules]
    # The rule for the other rows is not one of the circuit, so it need not satisfy its constraints.
    claimed = with_entries(
        replace(circuit, constraints=None),
        builder,
        [*entries, (region.invert(), (plenty,))],
        circuit.base_votes,
        (),
    )
    if sign > 0:
        return prove_range(claimed, at_least=limit, time_limit=clock.left)
    return prove_range(claimed, at_most=limit, time_limit=clock.left)


def _gap(score: Score, sign: int, limit: float) -> int:
    """Return the points, added or subtracted, with which every sum of rules keeps a limit."""
    possible = point_range(score)
    first = bisect_left(_ALL_POINTS, limit, key=score.answer)
    if sign < 0:
        # The last points whose prediction is not above the limit.
        first = bisect_left(_ALL_POINTS, True, key=lambda points: score.answer(points) > limit) - 1
    if not 0 <= first < len(_ALL_POINTS):
        word = "at least" if sign > 0 else "at most"
        raise OptionError(
            f"no points make the prediction {word} {plain_text(limit, _DIGITS)}; "
            f"the link is {score.link}"
        )
    needed = _ALL_POINTS[first]
    return max(0, needed - possible[0] if sign > 0 else possible[-1] - needed)
