"""A circuit that predicts a number, and limits of it -> a classifier of the bands between them.

A question about a limit is a question about classes: "at least 20" and "below 20". So everything
that is exact for classes (reasons, changes, proofs) is exact for numbers too.

Promise: the classifier gives every possible row the band of its prediction.
"""

from __future__ import annotations

import math
import numbers
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dln.core.circuit import Circuit
from dln.core.labels import Label
from dln.core.parts import Rule
from dln.core.readout import Votes
from dln.core.score import Score
from dln.errors import CircuitError, OptionError


@dataclass(frozen=True)
class Bands:
    """Limits of a prediction, and the classifier of the bands between them.

    Attributes
    ----------
    circuit
        The classifier. Its classes are texts such as "price at least 20", highest band first.
    number
        The class of the predictions within the limits.
    """

    circuit: Circuit
    number: int

    @property
    def label(self) -> Label:
        """The band within the limits."""
        return self.circuit.classes[self.number]


def split_bands(
    circuit: Circuit, *, at_least: float | None = None, at_most: float | None = None
) -> Bands:
    """Make the classifier that tells predictions within the limits from others.

    Raises `OptionError` if there is no limit, or if the limits are in the wrong order.

    >>> from dln import Above, Column, Logic
    >>> score = Score((Rule(0, (32,)),), (125,), digits=1, name="price")
    >>> logic = Logic((Column("age", "integer"),), (Above(0, 54.0),), ())
    >>> price = Circuit(logic=logic, readout=score)
    >>> split_bands(price, at_least=15).circuit.predict([[60], [50]]).tolist()
    ['price at least 15', 'price below 15']
    """
    score = circuit.number_readout
    low, high = _checked("at_least", at_least), _checked("at_most", at_most)
    name = score.name
    labels: tuple[str, ...]
    if low is not None and high is not None:
        if low > high:
            raise OptionError(f"at_least is {at_least!r} and at_most {at_most!r}: expected a range")
        first, last = _text(low), _text(high)
        cuts = [least_points(score, low), first_above(score, high)]
        labels = (f"{name} above {last}", f"{name} from {first} to {last}", f"{name} below {first}")
        return Bands(_classifier(circuit, cuts, labels), 1)
    if low is not None:
        labels = (f"{name} at least {_text(low)}", f"{name} below {_text(low)}")
        return Bands(_classifier(circuit, [least_points(score, low)], labels), 0)
    if high is not None:
        labels = (f"{name} above {_text(high)}", f"{name} at most {_text(high)}")
        return Bands(_classifier(circuit, [first_above(score, high)], labels), 1)
    raise OptionError(
        f"the circuit predicts a number ({name}); set a limit, such as at_least=10 or at_most=10"
    )


def as_classifier(
    circuit: Circuit, *, at_least: float | None = None, at_most: float | None = None
) -> Circuit:
    """Return a circuit that predicts classes as it is, and the bands of one that does not."""
    if circuit.task == "number":
        return split_bands(circuit, at_least=at_least, at_most=at_most).circuit
    check_no_limits(circuit, at_least, at_most)
    return circuit


def check_no_limits(circuit: Circuit, at_least: float | None, at_most: float | None) -> None:
    """Raise `OptionError` if limits of a number are given for classes."""
    for name, limit in (("at_least", at_least), ("at_most", at_most)):
        if limit is not None:
            raise OptionError(
                f"{name} is for circuits that predict a number; "
                f"this one predicts {circuit.n_classes} classes"
            )


def points_as_votes(circuit: Circuit) -> Circuit:
    """Make a classifier of two classes: the lead of the second is the points of the number."""
    score = circuit.number_readout
    rules = tuple(Rule(rule.wire, (0, *rule.votes)) for rule in score.rules)
    votes = Votes(rules, (0, score.offset), ("", score.name or "prediction"))
    return Circuit(logic=circuit.logic, readout=votes)


def point_range(score: Score) -> range:
    """Return the points from the least that rules could add up to, to the most."""
    low = score.offset + sum(min(rule.votes[0], 0) for rule in score.rules)
    high = score.offset + sum(max(rule.votes[0], 0) for rule in score.rules)
    return range(low, high + 1)


def least_points(score: Score, value: float) -> int:
    """Return the least possible points with which the prediction is not below a number."""
    possible = point_range(score)
    # The points after the last possible ones stand for: never.
    return possible.start + bisect_left(possible, value, key=score.answer)


def first_above(score: Score, value: float) -> int:
    """Return the least possible points with which the prediction is above a number."""
    return least_points(score, math.nextafter(value, math.inf))


def _classifier(circuit: Circuit, cuts: list[int], labels: tuple[str, ...]) -> Circuit:
    """Give each band the sum of what the points exceed its cut and those below it by.

    With points p and cuts c < d, the bands have the votes (p - c) + (p - d), p - c and 0. The
    largest of these is that of the band of p; a tie goes to the upper one, which is listed first.
    """
    score = circuit.number_readout
    slopes = range(len(cuts), -1, -1)
    base = tuple(slope * score.offset - sum(cuts[:slope]) for slope in slopes)
    rules = tuple(
        Rule(rule.wire, tuple(slope * rule.votes[0] for slope in slopes)) for rule in score.rules
    )
    try:
        return Circuit(logic=circuit.logic, readout=Votes(rules, base, labels))
    except CircuitError as error:
        raise OptionError(f"the points of the rules are too large for limits: {error}") from None


def _checked(name: str, limit: Any) -> float | None:
    if limit is None:
        return None
    is_number = isinstance(limit, numbers.Real) and not isinstance(limit, bool)
    if not is_number or not math.isfinite(limit):
        raise OptionError(f"{name} is {limit!r}, expected a finite number")
    return float(limit)


def _text(limit: float) -> str:
    """Write a limit as the user does.

    >>> _text(20.0), _text(0.1)
    ('20', '0.1')
    """
    text = repr(limit)
    return text if "e" in text else f"{Decimal(text).normalize():f}"
