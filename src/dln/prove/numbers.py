"""Claims about circuits that predict a number, as claims about the votes of two classes.

The points of a number are the lead of the second of two classes (`bands.points_as_votes`). So a
limit of the prediction is a limit of a lead, and a difference of predictions one of leads.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dln._util.messages import list_names
from dln.core.bands import first_above, least_points, points_as_votes
from dln.core.circuit import Circuit
from dln.core.literals import format_name
from dln.core.parts import MAX_VOTES
from dln.core.score import Score
from dln.errors import CircuitError, OptionError
from dln.prove.claim import Claim, PairClaim, plain_where, where_text
from dln.prove.pairs import pair_circuit
from dln.prove.region import Region, check_names
from dln.prove.search import Demand


def number_range_claim(
    circuit: Circuit,
    at_least: float | None,
    at_most: float | None,
    where: Mapping[str, Any],
    data: Any,
) -> Claim:
    """Make the claim that the prediction stays in a range."""
    score = circuit.number_readout
    low, high = _limit("at_least", at_least), _limit("at_most", at_most)
    if low is None and high is None:
        raise OptionError("give at_least or at_most: limits of the prediction")
    least = None if low is None else least_points(score, low)
    most = None if high is None else first_above(score, high) - 1
    goals: list[list[Demand]] = []
    if least is not None:
        goals.append([(0, 1, 1 - least)])
    if most is not None:
        goals.append([(1, 0, most + 1)])
    search = points_as_votes(circuit)._search
    limits = [
        *([] if at_least is None else [f"at least {at_least}"]),
        *([] if at_most is None else [f"at most {at_most}"]),
    ]
    question = {
        "kind": "range",
        "class": 1,
        "at_least": least,
        "at_most": most,
        "where": plain_where(circuit, where),
    }
    text = f"{format_name(score.name)} is {' and '.join(limits)}{where_text(where)}"
    return Claim(text, circuit, search, Region(search, where, data), goals, question)


def number_independence_claim(
    circuit: Circuit,
    names: Sequence[str],
    tolerance: float,
    where: Mapping[str, Any],
    data: Any,
) -> PairClaim:
    """Make the claim that columns alone change the prediction by at most a tolerance."""
    score = circuit.number_readout
    allowed = points_within(score, tolerance)
    lifted = points_as_votes(circuit)
    check_names(lifted._search, names)
    pair = pair_circuit(lifted, names)
    search = pair.circuit._search
    second = {pair.second[name]: where[name] for name in names if name in where}
    region = Region(search, {**where, **second}, None if data is None else pair.table(data))
    # The outputs are 0 and the points of the first row, then those of the second.
    goals: list[list[Demand]] = [[(1, 3, allowed + 1)], [(3, 1, allowed + 1)]]
    change = "changes" if tolerance == 0 else f"changes by more than {tolerance}"
    text = (
        f"{format_name(score.name)} never {change} "
        f"with {list_names(map(format_name, names))} alone{where_text(where)}"
    )
    question = {
        "kind": "independent",
        "features": list(pair.second),
        "points": allowed,
        "where": plain_where(circuit, where),
    }
    return PairClaim(text, circuit, search, region, goals, question, pair.second)


def points_within(score: Score, tolerance: float) -> int:
    """Return the largest difference of points that changes the prediction within a tolerance.

    >>> points_within(Score((), (0,), digits=1), 0.25)
    2
    """
    checked = _limit("tolerance", tolerance)
    if checked is None or checked < 0:
        raise OptionError(f"tolerance is {tolerance!r}, expected a number of at least 0")
    if checked > 0 and score.link != "identity":
        raise OptionError(
            f"a tolerance needs predictions that are sums, but the link is {score.link!r}; "
            "use tolerance=0"
        )
    # As people write it: a tolerance of 0.3 allows three points of 0.1.
    return min(math.floor(Decimal(repr(checked)).scaleb(score.digits)), 2 * MAX_VOTES)


def on_one_scale(a: Circuit, b: Circuit) -> tuple[Circuit, Circuit]:
    """Return two circuits whose points and names agree; raises `CircuitError` if links differ."""
    links = [circuit.number_readout.link for circuit in (a, b)]
    if links[0] != links[1]:
        raise CircuitError(
            f"the circuits have the links {links[0]!r} and {links[1]!r}; only circuits with the "
            "same link can be compared"
        )
    digits = max(circuit.number_readout.digits for circuit in (a, b))
    return _with_digits(a, digits), _with_digits(b, digits)


def _with_digits(circuit: Circuit, digits: int) -> Circuit:
    try:
        finer = circuit.number_readout.with_digits(digits)
    except CircuitError as error:
        raise CircuitError(f"the numbers of decimals differ too much: {error}") from None
    return Circuit(logic=circuit.logic, readout=replace(finer, name=Score.name))


def _limit(name: str, given: Any) -> float | None:
    if given is None:
        return None
    is_number = isinstance(given, numbers.Real) and not isinstance(given, bool)
    if not is_number or not math.isfinite(given):
        raise OptionError(f"{name} is {given!r}, expected a finite number")
    return float(given)
