"""How much violates the claim that a class or a number never falls as one feature grows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product
from typing import Any

import numpy as np

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.conditions import Gap
from dln.core.labels import Label
from dln.core.parts import Rule
from dln.core.readout import Votes
from dln.prove.measure import atom_weights
from dln.prove.monotone import Direction, find_ordered_column, find_winner
from dln.prove.pairs import pair_circuit
from dln.prove.region import Region
from dln.prove.share import Share, ShareQuestion, likely_hidden


def share_monotone(
    circuit: Circuit,
    feature: str,
    label: Label | None = None,
    *,
    direction: Direction = "rising",
    where: Mapping[str, Any] | None = None,
    data: Any = None,
    time_limit: float | None = 10.0,
) -> Share:
    """Find how much violates the claim of `prove_monotone`; see `share_rule`.

    A row violates it if, with its other values, the class loses against another class somewhere as
    the feature grows. The feature has the values that occur in `data`, or are in the range of the
    training rows, and fulfil a condition on it.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> xor = GATE_BY_NAME["XOR"]
    >>> circuit = Circuit(
    ...     (Column("age", "integer"), Column("smoker", "boolean")),
    ...     (Above(0, 54.0), Above(1, 0.5)), (Node(xor, 0, 1),), (Rule(2, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> print(share_monotone(circuit, "smoker", "ill", where={"age": (40, 79)}))
    62.5 % of the box violates it
    """
    check_is_circuit(circuit, "share_monotone")
    number = find_ordered_column(circuit, feature, direction)
    winner, voting = find_winner(circuit, label)
    feature = circuit.columns[number].name
    pair = pair_circuit(voting, [feature])
    search = _gains(pair.circuit, winner, direction)._search
    hidden = (feature, pair.second[feature])
    conditions = dict(where or {})
    if feature in conditions:
        conditions[pair.second[feature]] = conditions[feature]
    region = Region(search, conditions, None if data is None else pair.table(data))
    weights = atom_weights(search, region.where, region.data, hidden)
    cases = []
    if feature in search.names:
        box = likely_hidden(search, region, hidden)
        places = [search.names.index(name) for name in hidden]
        ordered = [
            atom
            for atom in np.flatnonzero(search.part(box, places[0])).tolist()
            if isinstance(search.atom_at(places[0], atom), Gap)
        ]
        rivals = range(1, search.circuit.n_classes)
        for (low, high), rival in product(pairwise(ordered), rivals):
            own = search.box_of({places[0]: [low], places[1]: [high]}, box)
            cases.append((own, [(0, rival, 1)]))
    return ShareQuestion(search, weights, hidden, cases).answer(region, time_limit)


def _gains(pairs: Circuit, winner: int, direction: Direction) -> Circuit:
    """Make a circuit whose votes are what a class gains over each other one in the second row.

    The first output is 0. A direction "falling" changes the sign.
    """
    n = pairs.n_classes // 2
    sign = 1 if direction == "rising" else -1
    rivals = [other for other in range(n) if other != winner]
    rules = []
    for wire, votes in pairs.rules:
        first, second = votes[:n], votes[n:]
        gains = [
            sign * (second[winner] - second[other] - first[winner] + first[other])
            for other in rivals
        ]
        if any(gains):
            rules.append(Rule(wire, (0, *gains)))
    outputs = tuple(range(len(rivals) + 1))
    readout = Votes(tuple(rules), (0,) * len(outputs), outputs)
    return Circuit(logic=pairs.logic, readout=readout)
