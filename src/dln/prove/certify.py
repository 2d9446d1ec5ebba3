"""Claims about all rows of a region -> a proof, a row that refutes it, or undecided.

The claims: a class is always or never predicted (`prove_rule`), the lead of a class or the number
that is predicted stays in a range (`prove_range`), and columns alone never change the prediction
(`prove_independent`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dln._util.messages import list_names
from dln.core.circuit import Circuit, check_is_circuit
from dln.core.labels import Label, label_text
from dln.core.literals import format_name
from dln.errors import OptionError
from dln.prove.claim import (
    Claim,
    PairClaim,
    Verdict,
    check_no_label,
    decide,
    find_class,
    plain_where,
    where_text,
)
from dln.prove.numbers import number_independence_claim, number_range_claim
from dln.prove.pairs import pair_circuit
from dln.prove.region import Region, check_names
from dln.prove.search import Demand


def prove_rule(
    circuit: Circuit,
    label: Label,
    *,
    where: Mapping[str, Any] | None = None,
    never: bool = False,
    data: Any = None,
    time_limit: float | None = 60.0,
) -> Verdict:
    """Prove that a class is always, or never, predicted under a condition.

    Parameters
    ----------
    circuit
        Any circuit.
    label
        Class label.
    where
        The condition, by column: a number, (lowest, highest) with None for no limit, a category or
        several, or None for a missing value. Columns that are not named may hold anything.
    never
        Prove that the class is never predicted, instead of always.
    data
        Rows whose values are used in counterexamples where possible.
    time_limit
        Seconds after which the result is `Undecided`; None for no limit.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> print(prove_rule(circuit, "ill", where={"age": (60, None)}))  # doctest: +ELLIPSIS
    always ill where age >= 60 (proven by bounds, ...)
    >>> print(prove_rule(circuit, "ill", where={"age": (50, None)}))
    refuted: healthy where age = 50
    """
    return decide(rule_claim(circuit, label, where or {}, never, data), time_limit)


def rule_claim(
    circuit: Circuit, label: Label, where: Mapping[str, Any], never: bool, data: Any
) -> Claim:
    """Make the claim of `prove_rule`."""
    check_is_circuit(circuit, "prove_rule")
    search, number = circuit._search, find_class(circuit, label)
    others = [search.beats(c, number) for c in range(circuit.n_classes) if c != number]
    goals = [search.wins(number)] if never else [[demand] for demand in others]
    text = f"{'never' if never else 'always'} {label_text(label)}{where_text(where)}"
    if never and circuit.n_classes == 1:
        raise OptionError("the circuit has a single class, which is always predicted")
    question = {
        "kind": "never" if never else "always",
        "class": number,
        "where": plain_where(circuit, where),
    }
    return Claim(text, circuit, search, Region(search, where, data), goals, question)


def prove_range(
    circuit: Circuit,
    label: Label | None = None,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    where: Mapping[str, Any] | None = None,
    data: Any = None,
    time_limit: float | None = 60.0,
) -> Verdict:
    """Prove that the number that is predicted, or the lead of a class, stays in a range.

    The lead is the votes of the class minus the most votes of another class.

    Parameters
    ----------
    circuit, where, data, time_limit
        As for `prove_rule`.
    label
        Class label; None for a circuit that predicts a number.
    at_least, at_most
        The smallest and the largest number, or lead; None for no limit.

    Examples
    --------
    >>> from dln import Above, Column, Logic, Rule, Score
    >>> logic = Logic((Column("age", "integer"),), (Above(0, 54.0),), ())
    >>> price = Circuit(logic=logic, readout=Score((Rule(0, (32,)),), (125,), 1, name="price"))
    >>> print(prove_range(price, at_least=10, at_most=20))  # doctest: +ELLIPSIS
    price is at least 10 and at most 20 (proven by bounds, ...)
    >>> print(prove_range(price, at_most=15))
    refuted: 15.7 where age = 80
    """
    claim = range_claim(circuit, label, at_least, at_most, where or {}, data)
    return decide(claim, time_limit)


def range_claim(
    circuit: Circuit,
    label: Label | None,
    at_least: float | None,
    at_most: float | None,
    where: Mapping[str, Any],
    data: Any,
) -> Claim:
    """Make the claim of `prove_range`."""
    check_is_circuit(circuit, "prove_range")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise OptionError(
            f"at_least is {at_least!r} and at_most is {at_most!r}; no number is in that range"
        )
    if circuit.task == "number":
        check_no_label(circuit, label)
        return number_range_claim(circuit, at_least, at_most, where, data)
    least, most = _votes("at_least", at_least), _votes("at_most", at_most)
    search, number = circuit._search, find_class(circuit, label)
    others = [c for c in range(circuit.n_classes) if c != number]
    if (least is None and most is None) or not others:
        raise OptionError("give at_least or at_most, and a circuit of at least two classes")
    goals: list[list[Demand]] = []
    if least is not None:
        goals += [[(other, number, 1 - least)] for other in others]
    if most is not None:
        goals.append([(number, other, most + 1) for other in others])
    low = "" if least is None else f" at least {least}"
    high = "" if most is None else f" at most {most}"
    name = label_text(circuit.classes[number])
    text = f"the lead of {name} is{' and'.join(filter(None, (low, high)))}"
    question = {
        "kind": "range",
        "class": number,
        "at_least": least,
        "at_most": most,
        "where": plain_where(circuit, where),
    }
    said = text + where_text(where)
    return Claim(said, circuit, search, Region(search, where, data), goals, question)


def _votes(name: str, bound: float | None) -> int | None:
    """Return a limit of votes."""
    if bound is None:
        return None
    if type(bound) is not int or abs(bound) > 2**32:
        raise OptionError(f"{name} is {bound!r}, expected a whole number of votes")
    return bound


def prove_independent(
    circuit: Circuit,
    features: Sequence[str],
    *,
    tolerance: float = 0.0,
    where: Mapping[str, Any] | None = None,
    data: Any = None,
    time_limit: float | None = 60.0,
) -> Verdict:
    """Prove that no row changes its class, or its number, if only these columns change.

    Parameters
    ----------
    circuit, data, time_limit
        As for `prove_rule`.
    features
        The columns: for example one that must not matter, and its proxies.
    tolerance
        For a circuit that predicts a number: how much the number may change.
    where
        A condition on the other columns, as for `prove_rule`, and on both values of these columns.
    """
    claim = independence_claim(circuit, features, where or {}, data, tolerance)
    return decide(claim, time_limit)


def independence_claim(
    circuit: Circuit,
    features: Sequence[str],
    where: Mapping[str, Any],
    data: Any,
    tolerance: float = 0.0,
) -> Claim:
    """Make the claim of `prove_independent`, about pairs of rows."""
    check_is_circuit(circuit, "prove_independent")
    names = [features] if isinstance(features, str) else list(features)
    if not names:
        raise OptionError("features is empty; name at least one column")
    if circuit.task == "number":
        return number_independence_claim(circuit, names, tolerance, where, data)
    if tolerance != 0:
        raise OptionError("tolerance is for circuits that predict a number; leave it out")
    check_names(circuit._search, names)
    pair = pair_circuit(circuit, names)
    search, n = pair.circuit._search, circuit.n_classes
    goals = []
    for number in range(n):
        wins = circuit._search.wins(number)
        for other in range(n):
            if other != number:
                rival, winner, by = circuit._search.beats(other, number)
                goals.append([*wins, (n + rival, n + winner, by)])
    second = {pair.second[name]: where[name] for name in names if name in where}
    region = Region(search, {**where, **second}, None if data is None else pair.table(data))
    text = f"the class never changes with {list_names(map(format_name, names))} alone"
    question = {
        "kind": "independent",
        "features": list(pair.second),
        "where": plain_where(circuit, where),
    }
    said = text + where_text(where)
    return PairClaim(said, circuit, search, region, goals, question, pair.second)
