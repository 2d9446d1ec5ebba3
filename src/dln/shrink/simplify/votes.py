"""Cancel votes without effect: those that all classes share, and those of opposite rules.

Promise: the vote differences between classes stay the same on every row. Where votes are the points
of a number, the points themselves stay the same.
"""

from __future__ import annotations

from dataclasses import replace

from dln.core.builder import TRUE, Signal
from dln.core.circuit import Circuit
from dln.core.readout import Votes
from dln.shrink.simplify.rebuild import Points, rebuild


def cancel_votes(circuit: Circuit) -> Circuit:
    """Remove votes that a rule gives to all classes, and merge a rule with its negation.

    >>> from dln import Above, Column, Rule
    >>> x = (Column("x", "number"),), (Above(0, 1.0),)
    >>> shared = Circuit(*x, (), (Rule(0, (2, 3)),), (1, 1), ("no", "yes"))
    >>> cancel_votes(shared).rules, cancel_votes(shared).base_votes
    ((Rule(wire=0, votes=(0, 1)),), (0, 0))
    """
    return rebuild(circuit, _cancel if isinstance(circuit.readout, Votes) else _merge_opposite)


def lower_base(circuit: Circuit) -> Circuit:
    """Subtract the constant votes that all classes share.

    >>> from dln import Above, Column, Rule
    >>> x = (Column("x", "number"),), (Above(0, 1.0),)
    >>> lower_base(Circuit(*x, (), (Rule(0, (2, 3)),), (6, 7), ("no", "yes"))).base_votes
    (0, 1)
    """
    if not isinstance(circuit.readout, Votes):
        return circuit
    readout = circuit.readout.with_rules(circuit.rules, _lower(circuit.base_votes))
    return replace(circuit, readout=readout)


def _merge_opposite(points: Points) -> Points:
    """Replace each pair of a rule and its negation by one of them and a larger offset."""
    points = dict(points)
    for signal in list(points):
        opposite = signal.invert()
        if signal.part is not None and signal in points and opposite in points:
            dropped = points.pop(opposite)
            points[signal] = tuple(x - y for x, y in zip(points[signal], dropped, strict=True))
            points[TRUE] = tuple(x + y for x, y in zip(points[TRUE], dropped, strict=True))
    return points


def _cancel(votes: Points) -> Points:
    votes = dict(votes)
    base = votes.pop(TRUE)
    for signal in list(votes):
        opposite = signal.invert()
        if signal in votes and opposite in votes:
            base = _join(votes, signal, opposite, base)
    lowered = {signal: _lower(given) for signal, given in votes.items()}
    return {**lowered, TRUE: _lower(base)}


def _join(
    votes: Points, signal: Signal, opposite: Signal, base: tuple[int, ...]
) -> tuple[int, ...]:
    """Merge two opposite rules if that needs fewer votes. Return the new base votes."""
    apart = _count(_lower(votes[signal])) + _count(_lower(votes[opposite]))
    for kept, dropped in ((signal, opposite), (opposite, signal)):
        joined = tuple(x - y for x, y in zip(votes[kept], votes[dropped], strict=True))
        if _count(_lower(joined)) < apart:
            base = tuple(x + y for x, y in zip(base, votes[dropped], strict=True))
            votes[kept] = joined
            del votes[dropped]
            break
    return base


def _lower(votes: tuple[int, ...]) -> tuple[int, ...]:
    """Subtract the same number from every class, so that few votes remain.

    Negative votes are not introduced if there were none. They would sometimes need fewer votes, but
    the paper has none, and a rule for two classes is easier to read than one against a third.
    """
    shifts = {min(votes), 0} | ({max(votes)} if min(votes) < 0 else set())
    shifted = [tuple(vote - shift for vote in votes) for shift in sorted(shifts)]
    return min(shifted, key=lambda given: (_count(given), min(given) < 0))


def _count(votes: tuple[int, ...]) -> int:
    return sum(abs(vote) for vote in votes)
