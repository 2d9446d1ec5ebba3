"""Circuit + votes on rows that it was not trained on -> circuit with base votes and probabilities.

Promise: the class with the most votes wins, and the first class wins a tie, as in every circuit.
Without a stated decision the accuracy on the points, with the weights of the decision, does not
get worse. A circuit with other base votes is still a circuit, and prints as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from typing import Literal as OneOf

import numpy as np

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.parts import MAX_VOTES, Rule
from dln.data.table import read_table
from dln.data.target import class_numbers, row_weights
from dln.decisions.goal import Floats, Goal, Probabilities, read_goal
from dln.decisions.points import Points
from dln.decisions.several import decide_several
from dln.decisions.two import Grid, decide_two
from dln.errors import OptionError, TableError


@dataclass(frozen=True)
class Calibrated:
    """A circuit with fitted base votes and probabilities.

    `missed` are the classes whose sensitivity was not reached: number, asked and reached.
    """

    circuit: Circuit
    missed: tuple[tuple[int, float, float], ...] = ()


def calibrate_votes(
    circuit: Circuit,
    points: Points,
    goal: Goal,
    shares: Floats,
    *,
    may_multiply: bool = True,
    keep_votes: bool = False,
) -> Calibrated:
    """Fit base votes and a calibration of a circuit on points.

    Parameters
    ----------
    circuit
        Any circuit. Its rules and gates stay as they are.
    points
        Votes of the circuit, or of networks like its own, on rows that were not trained on.
    goal
        What to decide, and what probabilities mean.
    shares
        (n_classes,): class frequencies of the training rows.
    may_multiply
        Whether all votes may be multiplied by a small number, so that fewer rows tie.
    keep_votes
        Whether votes stay as they are, so that only probabilities are fitted.
    """
    if goal.does_nothing or circuit.n_classes < 2:
        return Calibrated(circuit)
    meant = np.ones(circuit.n_classes) if goal.probabilities == "balanced" else shares + 1e-9
    meant = meant / meant.sum()
    may_multiply = may_multiply and bool(circuit.rules) and _room(circuit) >= 4
    if circuit.n_classes == 2:
        decision = decide_two(
            points, goal, meant, _grid(circuit), may_double=may_multiply, keep_votes=keep_votes
        )
    else:
        decision = decide_several(
            points,
            goal,
            meant,
            _largest_lead(circuit),
            may_multiply=may_multiply,
            keep_votes=keep_votes,
        )
    if keep_votes:
        readout = replace(circuit.class_readout, calibration=decision.calibration)
        return Calibrated(replace(circuit, readout=readout))
    base = [
        decision.factor * vote + more
        for vote, more in zip(circuit.base_votes, decision.added, strict=True)
    ]
    # Only differences count, so base votes start at 0.
    least = min(base)
    readout = replace(
        circuit.class_readout,
        rules=tuple(
            Rule(wire, tuple(decision.factor * vote for vote in votes))
            for wire, votes in circuit.rules
        ),
        base_votes=tuple(vote - least for vote in base),
        temperature=circuit.temperature * decision.factor,
        calibration=None if goal.probabilities == "votes" else decision.calibration,
    )
    return Calibrated(replace(circuit, readout=readout), decision.missed)


def calibrate(
    circuit: Circuit,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: OneOf["balanced"] | Mapping[Any, float] | None = "balanced",
    probabilities: Probabilities = "rows",
    decision_threshold: float | None = None,
    costs: Any = None,
    sensitivity_at_least: Any = None,
) -> Circuit:
    """Fit the base votes and the probabilities of a circuit on rows that it was not trained on.

    `DLNClassifier` does this in every fit, on votes from cross-validation. Use this function to
    adapt a finished circuit to other rows, another class frequency or another decision. Rules and
    gates stay the same; base votes and the table of probabilities are replaced.

    Parameters
    ----------
    circuit
        The circuit; it is not changed.
    X, y
        Rows (n_rows, n_columns) that were not used for training, and their classes (n_rows,).
    sample_weight
        Weights of the rows (n_rows,), not negative.
    class_weight : "balanced", None or dict
        Weights of the classes in the accuracy that base votes maximise. Probabilities ignore them.
    probabilities, decision_threshold, costs, sensitivity_at_least
        As for `DLNClassifier`; at most one of the last three.

    Returns
    -------
    Circuit

    Raises
    ------
    OptionError
        If a parameter is not valid, or if the required sensitivities exclude each other.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> rows = [[50], [52], [58], [60]] * 50
    >>> labels = (["healthy", "healthy", "ill", "ill"] * 4 + ["ill", "healthy"] * 2) * 10
    >>> print(calibrate(circuit, rows, labels))
    Most votes win; a tie goes to healthy.
    healthy:
      +1  always
    ill:
      +2  age > 54
    Probability of ill by its lead in votes (linear in between):
      -1 or less: 10.8 %
      +1 or more: 89.2 %
    """
    check_is_circuit(circuit, "calibrate")
    goal = read_goal(
        circuit.classes, probabilities, decision_threshold, costs, sensitivity_at_least
    )
    table = read_table(X)
    target = class_numbers(y, circuit.classes, table.n_rows)
    if len(np.unique(target)) < 2:
        raise TableError("the rows are of one class; a calibration needs rows of at least two")
    short = target.astype(np.int32)
    labels = circuit.class_labels
    weight = row_weights(short, labels, sample_weight, class_weight).astype(np.float64)
    plain = row_weights(short, labels, sample_weight, None).astype(np.float64)
    shares = np.bincount(target, plain, minlength=circuit.n_classes) / plain.sum()
    known = weight > 0
    points = Points(
        circuit.votes(table)[known].astype(np.float64),
        target[known],
        weight[known],
        np.ones(int(known.sum())),
    )
    found = calibrate_votes(circuit, points, goal, shares)
    if found.missed:
        raise OptionError(missed_text(circuit, found.missed))
    return found.circuit


def missed_text(circuit: Circuit, missed: tuple[tuple[int, float, float], ...]) -> str:
    """Say which sensitivity was not reached."""
    number, asked, reached = missed[0]
    return (
        f"sensitivity_at_least asks for {asked:g} of class {circuit.classes[number]!r}, but only "
        f"{reached:.3g} can be reached together with the others; ask for less"
    )


def _grid(circuit: Circuit) -> Grid:
    """Find the leads that a circuit can have."""
    start = circuit.base_votes[1] - circuit.base_votes[0]
    given = [rule.votes[1] - rule.votes[0] for rule in circuit.rules]
    return Grid(
        start,
        max(1, math.gcd(*given)),
        start + sum(min(0, lead) for lead in given),
        start + sum(max(0, lead) for lead in given),
    )


def _largest_lead(circuit: Circuit) -> int:
    """Return a bound on the leads of a circuit."""
    given = [circuit.base_votes, *(rule.votes for rule in circuit.rules)]
    return sum(max(votes) - min(votes) for votes in given)


def _room(circuit: Circuit) -> int:
    """Return the largest factor of all votes that a circuit may have."""
    votes = [circuit.base_votes, *(rule.votes for rule in circuit.rules)]
    most = max(sum(abs(vote) for vote in given) for given in zip(*votes, strict=True))
    return int(MAX_VOTES // (2 * most + 1))
