"""Prune a circuit on rows: trade predictions for size."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit, check_is_circuit, keep_constraints
from dln.core.locked import around_locked
from dln.costs.circuit import cost
from dln.data.table import Table
from dln.data.target import class_numbers, class_shares, row_weights
from dln.decisions.calibrate import calibrate_votes
from dln.decisions.goal import Goal
from dln.decisions.points import Points
from dln.errors import CircuitError, OptionError
from dln.evaluate.evaluation import Evaluation
from dln.shrink.prune.curve import PruneCurve, PruneStep
from dln.shrink.prune.greedy import shrink
from dln.shrink.prune.rows import Rows, literal_bits, read_rows
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.votes import lower_base

_PARTS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 1.0)
"""Fractions of the rows, or of the accuracy, that may be lost at each point of the curve."""


def prune(
    circuit: Circuit,
    X: Any,
    y: Any,
    *,
    tolerance: int | float = 0,
    sample_weight: Any = None,
    class_weight: OneOf["balanced"] | Mapping[Any, float] | None = "balanced",
) -> PruneCurve:
    """Make a circuit smaller at the expense of predictions, and show the trade-off.

    **This is lossy: it changes the model.** Literals, gates and votes are dropped or merged (a
    cutoff with a neighbour in its column, a literal or gate with a constant, a gate with one of
    its inputs, a vote with nothing or with a constant vote), largest saving per harm first. Even
    with tolerance=0, rows that are not in `X` may be predicted differently.

    Changes and accuracy are measured on the given rows, on which the circuits were chosen, so they
    are optimistic for the smaller circuits. Before you decide, check on test rows that were used
    neither for training nor for pruning (`curve.circuit.predict(X_test)`).

    If the circuit is calibrated, the probabilities of smaller circuits are fitted again on the
    given rows, with their class frequencies. On training rows they are too confident: use
    `dln.calibrate` with other rows.

    Parameters
    ----------
    circuit
        The circuit to prune; it is not changed. Locked rules (`dln.edit`) stay as they are.
    X
        Table (n_rows, n_columns), for example the training rows.
    y
        Class labels (n_rows,) that the circuit knows.
    tolerance
        How much the chosen circuit may lose. An integer is the maximum number of rows of `X` that
        are predicted differently; 0, the default, means none. A float from 0 to below 1 is the
        maximum loss of accuracy on `X` (0.01: one percentage point), while any number of
        predictions may change. So 0.0 allows changes that cost no accuracy; 0 does not.
    sample_weight
        Weights of the rows (n_rows,) in the accuracy, not negative.
    class_weight : "balanced", None or dict
        Weights of the classes in the accuracy; "balanced" makes it balanced accuracy.

    Returns
    -------
    PruneCurve
        `circuit` is the smallest circuit found within the tolerance. `steps` continue beyond it,
        down to an almost empty circuit. `at` chooses another step.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Column, Node, Rule
    >>> circuit = Circuit(
    ...     columns=(Column("age", "integer"), Column("smoker", "boolean")),
    ...     literals=(Above(0, 54.0), Above(0, 57.0), Above(1, 0.5)),
    ...     nodes=(Node(GATE_BY_NAME["AND"], 1, 2),),
    ...     rules=(Rule(0, (0, 1)), Rule(3, (0, 1))),
    ...     base_votes=(1, 0),
    ...     classes=("healthy", "ill"),
    ... )
    >>> curve = prune(circuit, [[60, True], [56, True], [56, False], [40, True]],
    ...               ["ill", "ill", "healthy", "healthy"])
    >>> print(curve)
    gate operations  literals  gates  rules     changed  balanced accuracy
                398         3      1      2   0 (0.0 %)             75.0 %
                197         1      0      1   0 (0.0 %)             75.0 %  <- chosen
                  0         0      0      0  1 (25.0 %)             50.0 %
    Changes and accuracy are measured on the 4 rows given.
    >>> curve.circuit.literals
    (Above(column=0, cutoff=57.0),)
    >>> curve.at(max_changed=1).n_literals
    0
    """
    _check_circuit(circuit)
    _check_tolerance(tolerance)
    table = read_rows(X)
    evaluation = circuit.evaluate(table, wires=range(circuit.n_literals))
    judge = _Judge(evaluation, table, y, sample_weight, class_weight)
    by_accuracy = not isinstance(tolerance, numbers.Integral)
    keep = judge.target if by_accuracy else evaluation.winners
    weight = judge.weight if by_accuracy else np.ones(table.n_rows)
    rows = Rows(literal_bits(evaluation), keep, weight)
    folded = around_locked(lambda rest: lower_base(fold(rest)), circuit)
    start = judge.step(folded)
    steps = [start]
    chosen = start
    lost = judge.loss(evaluation.winners) if by_accuracy else 0.0
    budgets = _budgets(tolerance, table.n_rows)
    for budget in budgets:
        before = steps[-1].circuit
        smaller = _shrink(before, rows, lost + budget, circuit)
        # Only at the tolerance and at the end, sweeps are repeated until nothing changes. For other
        # budgets one sweep is enough, since the next budget continues.
        while budget in (tolerance, budgets[-1]) and smaller is not before:
            before, smaller = smaller, _shrink(smaller, rows, lost + budget, circuit)
        if smaller is not steps[-1].circuit:
            steps.append(judge.step(smaller, recalibrate=True))
        if budget <= tolerance:
            chosen = steps[-1]
    measure = "weighted accuracy"
    if sample_weight is None and (class_weight is None or class_weight == "balanced"):
        measure = "accuracy" if class_weight is None else "balanced accuracy"
    return PruneCurve(tuple(steps), chosen, table.n_rows, measure)


def _shrink(before: Circuit, rows: Rows, limit: float, original: Circuit) -> Circuit:
    """Make a circuit smaller; return it unchanged if that would break constraints."""
    smaller = shrink(before, rows, limit)
    return before if keep_constraints(original, smaller) is None else smaller


def _budgets(tolerance: float, n_rows: int) -> list[float]:
    """List the accepted loss at each point of the curve, including the tolerance."""
    if not isinstance(tolerance, numbers.Integral):
        return sorted({*_PARTS, float(tolerance)})
    return sorted({*(int(part * n_rows) for part in _PARTS), min(int(tolerance), n_rows)})


class _Judge:
    """Measures circuits by their predictions on the rows."""

    def __init__(
        self, evaluation: Evaluation, table: Table, y: Any, sample_weight: Any, class_weight: Any
    ) -> None:
        self._table = table
        self._winners = evaluation.winners
        circuit = evaluation.circuit
        self._circuit = circuit
        self.target = class_numbers(y, circuit.classes, table.n_rows)
        weight = row_weights(
            self.target.astype(np.int32), circuit.class_labels, sample_weight, class_weight
        ).astype(np.float64)
        self.weight: NDArray[np.float64] = weight / weight.sum()
        shares = class_shares(self.target.astype(np.int32), circuit.n_classes, sample_weight)
        self._shares = np.array(shares)

    def loss(self, winners: NDArray[np.int64]) -> float:
        """Return the total weight of the rows that are predicted wrongly."""
        return float(self.weight @ (winners != self.target))

    def step(self, circuit: Circuit, recalibrate: bool = False) -> PruneStep:
        """Measure one circuit; fit its probabilities again if its votes have changed."""
        found = replace(
            circuit,
            origin=self._circuit.origin,
            constraints=self._circuit.constraints,
            edits=self._circuit.edits,
        )
        if recalibrate and circuit.calibration is not None:
            votes = circuit.votes(self._table)
            winners = circuit.class_readout.winners(votes)
            found = self._recalibrated(found, votes)
        else:
            winners = circuit.winners(self._table)
        return PruneStep(
            circuit=found,
            gate_operations=cost(circuit).gate_operations,
            n_changed=int((winners != self._winners).sum()),
            # Weights are in single precision; more digits would be noise.
            accuracy=round(1.0 - self.loss(winners), 6),
        )

    def _recalibrated(self, circuit: Circuit, votes: NDArray[np.int64]) -> Circuit:
        given = votes.astype(np.float64)
        points = Points(given, self.target, self.weight, np.ones(len(self.target)))
        fitted = calibrate_votes(circuit, points, Goal(), self._shares, keep_votes=True)
        return fitted.circuit


def _check_circuit(circuit: Any) -> None:
    check_is_circuit(circuit, "prune")
    missing = "rules" if not circuit.rules else "literals" if not circuit.literals else None
    if missing:
        raise CircuitError(f"the circuit has no {missing}; there is nothing to prune")


def _check_tolerance(tolerance: Any) -> None:
    number = isinstance(tolerance, numbers.Real) and not isinstance(tolerance, bool)
    whole = isinstance(tolerance, numbers.Integral)
    valid = number and tolerance >= 0 and (whole or tolerance < 1)
    if not valid:
        raise OptionError(
            f"tolerance is {tolerance!r}, expected an integer of at least 0 (predictions that may "
            "change) or a float from 0 to below 1 (accuracy that may be lost)"
        )
