"""Votes of the circuits of folds on the rows left out -> a calibration of the final circuit.

The circuits of the folds come from the same search, so their votes say as much about new rows as
those of the final circuit. One vote is worth a different amount in each of them. All votes are
therefore converted to the unit of the final circuit first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.decisions.calibrate import Calibrated, calibrate_votes
from dln.decisions.goal import Goal
from dln.decisions.points import Points
from dln.errors import TableError
from dln.paths.loss import Floats
from dln.train.problem import Problem


class FoldRows:
    """The rows that the folds leave out, in the order of the folds; each `n_repeats` times."""

    def __init__(
        self, problem: Problem, folds: Sequence[NDArray[np.int64]], n_repeats: int = 1
    ) -> None:
        rows = np.concatenate(folds) if folds else np.empty(0, dtype=np.int64)
        self._target = problem.target[rows].astype(np.int64)
        self._weight = problem.weight[rows].astype(np.float64) / n_repeats
        self._shares = problem.class_shares()
        self._complete = len(problem.classes) > 1 and set(np.unique(problem.target)) == set(
            np.unique(self._target)
        )

    def calibrate(
        self, circuit: Circuit, scores: Sequence[Floats], unit: float, goal: Goal
    ) -> Calibrated:
        """Fit the probabilities of a circuit, and its base votes if the goal states a decision.

        Parameters
        ----------
        circuit
            Trained on all rows.
        scores
            For each fold (n_rows, n_classes): votes times what a vote is worth.
        unit
            What one vote of the circuit is worth.
        goal
            What to decide, and what probabilities mean.
        """
        if not circuit.rules:
            return Calibrated(circuit)
        if not self._complete:
            if goal.decides:
                raise TableError(
                    "a decision is fitted on rows that are left out, but a class has too few rows "
                    "for that; leave out decision_threshold, costs and sensitivity_at_least"
                )
            return Calibrated(circuit)
        votes = np.concatenate(scores) / max(unit, 1e-6)
        points = Points(votes, self._target, self._weight, np.ones(len(votes)))
        return calibrate_votes(
            circuit,
            points,
            goal,
            self._shares,
            may_multiply=False,
            keep_votes=not goal.decides and goal.probabilities != "votes",
        )
