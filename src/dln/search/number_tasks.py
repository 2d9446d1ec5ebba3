"""One trial of a regressor on one fold: a complete fit on its training rows.

A fit of a number chooses its penalty and its trees by cross-validation inside, so a trial does it
too: what is scored is what the final fit does. Promise: an outcome depends only on its task, its
fold and the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dln.core.circuit import Circuit
from dln.costs.circuit import cost
from dln.errors import TrainingError
from dln.search.folds import Fold
from dln.search.tasks import FAILED, MEASURED_FOLDS, Outcome
from dln.shrink.simplify.simplify import simplify
from dln.train.jobs import Engine
from dln.train.number_fit import NumberPlan, fit_number
from dln.train.number_loss import NumberLoss
from dln.train.problem import NumberProblem


@dataclass(frozen=True)
class NumberTask:
    """What to fit on a fold, given by its number."""

    fold: int
    plan: NumberPlan
    seed: int


def run_number_task(
    problem: NumberProblem, fold: Fold, task: NumberTask, engine: Engine, n_threads: int = 1
) -> Outcome:
    """Fit on the training rows of a fold and score the validation rows: R², or D²."""
    rng = np.random.default_rng([task.seed, task.fold])  # the same for all trials
    try:
        fitted = fit_number(
            problem.take(fold.train), task.plan, engine=engine, rng=rng, n_threads=n_threads
        )
    except TrainingError:
        return FAILED
    circuit = fitted.circuit
    size = None
    if task.fold < MEASURED_FOLDS:
        size = cost(simplify(circuit, "quick", prove=False)).gate_operations
    return Outcome((score_number(circuit, problem.take(fold.valid), task.plan.loss),), size)


def score_number(circuit: Circuit, problem: NumberProblem, loss: NumberLoss) -> float:
    """Return the score of a circuit on the rows of a problem: R², or D²."""
    scores = circuit.number_readout.scores(circuit.evaluate(problem.table, wires=()).votes)
    return loss.explained(scores, problem.target, problem.weight)
