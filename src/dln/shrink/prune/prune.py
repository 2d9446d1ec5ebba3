"""Prune a circuit on rows: trade predictions for size."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any
from typing import Literal as OneOf

from dln.core.circuit import Circuit, check_is_circuit, keep_constraints
from dln.core.locked import around_locked
from dln.errors import CircuitError, OptionError
from dln.shrink.prune.curve import PruneCurve
from dln.shrink.prune.greedy import shrink
from dln.shrink.prune.judge import ClassJudge, Judge, NumberJudge
from dln.shrink.prune.rows import Rows, read_rows
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
        Class labels (n_rows,) that the circuit knows, or numbers.
    tolerance
        How much the chosen circuit may lose. An integer is the maximum number of rows of `X` that
        are predicted differently; 0, the default, means none. A float from 0 to below 1 is the
        maximum loss of accuracy on `X` (0.01: one percentage point), or of R² for a circuit that
        predicts a number, while any number of predictions may change. So 0.0 allows changes that
        cost no accuracy; 0 does not.
    sample_weight
        Weights of the rows (n_rows,) in the accuracy or R², not negative.
    class_weight : "balanced", None or dict
        Weights of the classes in the accuracy; "balanced" makes it balanced accuracy. Numbers have
        none.

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
    by_accuracy = not isinstance(tolerance, numbers.Integral)
    judge: Judge = (
        NumberJudge(evaluation, table, y, sample_weight, class_weight)
        if circuit.task == "number"
        else ClassJudge(evaluation, table, y, sample_weight, class_weight)
    )
    rows = judge.rows(by_accuracy=by_accuracy)
    folded = around_locked(lambda rest: lower_base(fold(rest)), circuit)
    start = judge.step(folded)
    steps = [start]
    chosen = start
    lost = judge.lost if by_accuracy else 0.0
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
    return PruneCurve(tuple(steps), chosen, table.n_rows, judge.measure)


def _shrink(before: Circuit, rows: Rows, limit: float, original: Circuit) -> Circuit:
    """Make a circuit smaller; return it unchanged if that would break constraints."""
    smaller = shrink(before, rows, limit)
    return before if keep_constraints(original, smaller) is None else smaller


def _budgets(tolerance: float, n_rows: int) -> list[float]:
    """List the accepted loss at each point of the curve, including the tolerance."""
    if not isinstance(tolerance, numbers.Integral):
        return sorted({*_PARTS, float(tolerance), math.inf})
    return sorted({*(int(part * n_rows) for part in _PARTS), min(int(tolerance), n_rows)})


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
