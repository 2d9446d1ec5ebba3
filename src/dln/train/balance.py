"""Balance a circuit: move its offset so that the mean prediction is the mean target.

Promise: on the given rows, the weighted mean of the predictions is that of the targets up to half
a unit of the last decimal of the score (with a log link, relative to the prediction). Circuits for
the median or a quantile stay as they are, because they do not predict a mean.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dln.core.circuit import Circuit
from dln.core.parts import MAX_VOTES
from dln.train.number_loss import NumberLoss
from dln.train.problem import NumberProblem


def balance(circuit: Circuit, problem: NumberProblem, loss: NumberLoss) -> Circuit:
    """Return the circuit with a balanced offset."""
    if loss.name in ("absolute", "quantile"):
        return circuit
    score = circuit.number_readout
    points = circuit.evaluate(problem.table, wires=()).votes
    mean, predicted = (
        float(np.average(numbers, weights=problem.weight))
        for numbers in (problem.target, score.answers(points))
    )
    ahead = float(np.log(mean / predicted)) if loss.link == "log" else mean - predicted
    factor, divisor = score.scale
    offset = score.offset + round(ahead * divisor / factor)
    if abs(offset) + sum(abs(rule.votes[0]) for rule in score.rules) > MAX_VOTES:
        return circuit
    return replace(circuit, readout=replace(score, base_votes=(offset,)))
