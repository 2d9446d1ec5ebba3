"""Measure circuits on the rows that they are pruned on: by their classes, or by their numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.costs.circuit import cost
from dln.data.number_target import read_numbers
from dln.data.table import Table
from dln.data.target import class_numbers, class_shares, row_weights
from dln.decisions.calibrate import calibrate_votes
from dln.decisions.goal import Goal
from dln.decisions.points import Points
from dln.errors import OptionError, TableError
from dln.evaluate.evaluation import Evaluation
from dln.shrink.prune.curve import PruneStep
from dln.shrink.prune.rows import ClassRows, NumberRows, Rows, literal_bits


class Judge(Protocol):
    """Measures circuits on rows.

    Attributes
    ----------
    lost
        What the given circuit lacks to be perfect: 1 minus its accuracy or R².
    measure
        Name of the accuracy.
    """

    lost: float
    measure: str

    def rows(self, *, by_accuracy: bool) -> Rows:
        """Return the rows to prune on: to keep the accuracy, or the predictions."""

    def step(self, circuit: Circuit, recalibrate: bool = False) -> PruneStep:
        """Measure one circuit."""


class ClassJudge:
    """Measures circuits by their classes on the rows; `lost` is the share that is wrong."""

    def __init__(
        self, evaluation: Evaluation, table: Table, y: Any, sample_weight: Any, class_weight: Any
    ) -> None:
        self._table = table
        self._winners = evaluation.winners
        circuit = evaluation.circuit
        self._circuit = circuit
        self._target = class_numbers(y, circuit.classes, table.n_rows)
        weight = row_weights(
            self._target.astype(np.int32), circuit.class_labels, sample_weight, class_weight
        ).astype(np.float64)
        self._weight: NDArray[np.float64] = weight / weight.sum()
        shares = class_shares(self._target.astype(np.int32), circuit.n_classes, sample_weight)
        self._shares = np.array(shares)
        self._bits = literal_bits(evaluation)
        self.lost = self._loss(evaluation.winners)
        self.measure = "weighted accuracy"
        if sample_weight is None and (class_weight is None or class_weight == "balanced"):
            self.measure = "accuracy" if class_weight is None else "balanced accuracy"

    def rows(self, *, by_accuracy: bool) -> Rows:
        """Return the rows to prune on."""
        if by_accuracy:
            return ClassRows(self._bits, self._weight, self._target)
        return ClassRows(self._bits, np.ones(self._table.n_rows), self._winners)

    def _loss(self, winners: NDArray[np.int64]) -> float:
        """Return the total weight of the rows that are predicted wrongly."""
        return float(self._weight @ (winners != self._target))

    def step(self, circuit: Circuit, recalibrate: bool = False) -> PruneStep:
        """Measure one circuit; fit its probabilities again if its votes have changed."""
        found = _like(self._circuit, circuit)
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
            accuracy=round(1.0 - self._loss(winners), 6),
        )

    def _recalibrated(self, circuit: Circuit, votes: NDArray[np.int64]) -> Circuit:
        given = votes.astype(np.float64)
        points = Points(given, self._target, self._weight, np.ones(len(self._target)))
        fitted = calibrate_votes(circuit, points, Goal(), self._shares, keep_votes=True)
        return fitted.circuit


class NumberJudge:
    """Measures circuits by their numbers on the rows; `lost` is 1 - R²."""

    measure = "R²"

    def __init__(
        self, evaluation: Evaluation, table: Table, y: Any, sample_weight: Any, class_weight: Any
    ) -> None:
        if class_weight not in ("balanced", None):
            raise OptionError(
                "class_weight is for classes, but the circuit predicts a number; use sample_weight"
            )
        self._table = table
        self._circuit = evaluation.circuit
        self._points = evaluation.votes[:, 0]
        self._answers = evaluation.answers
        self._bits = literal_bits(evaluation)
        self._target = read_numbers(y, table.n_rows)
        everyone = np.zeros(table.n_rows, dtype=np.int32)
        weight = row_weights(everyone, np.zeros(1), sample_weight, None).astype(np.float64)
        self._weight = weight / weight.sum()
        mean = float(self._weight @ self._target)
        self._variance = float(self._weight @ (self._target - mean) ** 2)
        if self._variance == 0:
            raise TableError(
                f"the target is {mean:g} in every row; R² needs at least two different numbers"
            )
        self.lost = self._loss(self._answers)

    def rows(self, *, by_accuracy: bool) -> Rows:
        """Return the rows to prune on."""
        if by_accuracy:
            return NumberRows(self._bits, self._weight, self._points, self._target, self._variance)
        typical = float(np.std(self._points)) or 1.0
        return NumberRows(self._bits, np.ones(self._table.n_rows), self._points, None, typical)

    def step(self, circuit: Circuit, recalibrate: bool = False) -> PruneStep:
        """Measure one circuit."""
        answers = circuit.predict(self._table)
        return PruneStep(
            circuit=_like(self._circuit, circuit),
            gate_operations=cost(circuit).gate_operations,
            n_changed=int((answers != self._answers).sum()),
            accuracy=round(1.0 - self._loss(answers), 6),
        )

    def _loss(self, answers: NDArray[np.float64]) -> float:
        with np.errstate(over="ignore"):
            return float(self._weight @ (answers - self._target) ** 2) / self._variance


def _like(original: Circuit, circuit: Circuit) -> Circuit:
    """Return a circuit with the origin, constraints and edits of another."""
    return replace(
        circuit,
        origin=original.origin,
        constraints=original.constraints,
        edits=original.edits,
    )
