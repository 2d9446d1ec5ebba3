"""Two circuits -> the claim that they are equal, as a claim about the circuit of both.

The claim is what `prove_equal` proves. It is made for certificates, whose checker makes the same
circuit of the two model files.
"""

from __future__ import annotations

from typing import Any

from dln.core.bands import points_as_votes
from dln.core.circuit import Circuit
from dln.errors import CircuitError
from dln.prove.claim import Claim
from dln.prove.joint import join_circuits, subtract_circuits, subtract_votes
from dln.prove.numbers import points_within
from dln.prove.question import Aspect
from dln.prove.region import Region
from dln.prove.search import Demand


def equality_claim(
    a: Circuit, b: Circuit, *, of: Aspect = "probabilities", tolerance: float = 0.0
) -> Claim:
    """Make the claim of `prove_equal`. The circuits must be comparable in that way."""
    if a.task == "number":
        difference = subtract_circuits(a, b)
        allowed = points_within(difference.number_readout, tolerance)
        goals: list[list[Demand]] = [[(1, 0, allowed + 1)], [(0, 1, allowed + 1)]]
        question = {"kind": "equal", "of": "number", "points": allowed}
        return _claim(points_as_votes(difference), goals, question)
    if a.n_classes == 1:
        raise CircuitError("circuits of a single class are always equal and need no certificate")
    if of == "probabilities":
        pairs = [pair for c in range(1, a.n_classes) for pair in ((c, 0), (0, c))]
        goals = [[(more, less, 1)] for more, less in pairs]
        return _claim(subtract_votes(a, b), goals, {"kind": "equal", "of": of})
    joint, n = join_circuits(a, b), a.n_classes
    goals = []
    for number in range(n):
        for other in range(n):
            if other != number:
                rival, winner, by = joint.circuit._search.beats(other, number)
                goals.append([*joint.wins(number, 0), (n + rival, n + winner, by)])
    return _claim(joint.circuit, goals, {"kind": "equal", "of": of})


def _claim(circuit: Circuit, goals: list[list[Demand]], question: dict[str, Any]) -> Claim:
    search = circuit._search
    text = "the two models are equal on every possible row"
    return Claim(text, circuit, search, Region(search, {}, None), goals, question)
