"""One trial with a budget on one fold: a search for rules instead of trained networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.costs.circuit import cost
from dln.decisions.goal import Goal
from dln.evaluate.scores import balanced_accuracy, count_pairs
from dln.paths.budget import Budget
from dln.paths.fit import fit_path
from dln.paths.number_fit import fit_number_path
from dln.search.folds import Fold
from dln.search.number_tasks import score_number
from dln.search.tasks import MEASURED_FOLDS, Outcome
from dln.train.number_loss import NumberLoss
from dln.train.problem import NumberProblem, Problem


class BudgetPlan(Protocol):
    """What a fit with a budget does, for a target of classes or of numbers."""

    def fit(self, problem: Any, rng: np.random.Generator) -> Circuit:
        """Fit a circuit within the budget."""

    def score(self, circuit: Circuit, problem: Any) -> float:
        """Score a circuit on the rows of a problem."""


@dataclass(frozen=True)
class ClassBudget:
    """A budget, the decision and the constraints of circuits that predict classes."""

    budget: Budget
    goal: Goal
    constraints: Constraints | None

    def fit(self, problem: Problem, rng: np.random.Generator) -> Circuit:
        """Fit a circuit within the budget."""
        return fit_path(problem, self.budget, self.goal, self.constraints, rng=rng).path.circuit

    def score(self, circuit: Circuit, problem: Problem) -> float:
        """Return the balanced accuracy."""
        pair = len(problem.classes), len(problem.classes)
        confusion = count_pairs(problem.target, circuit.winners(problem.table), pair)
        return balanced_accuracy(confusion)


@dataclass(frozen=True)
class NumberBudget:
    """A budget, the loss and the constraints of circuits that predict a number."""

    budget: Budget
    loss: NumberLoss
    constraints: Constraints | None

    def fit(self, problem: NumberProblem, rng: np.random.Generator) -> Circuit:
        """Fit a circuit within the budget."""
        fitted = fit_number_path(problem, self.budget, self.loss, self.constraints, rng=rng)
        return fitted.path.circuit

    def score(self, circuit: Circuit, problem: NumberProblem) -> float:
        """Return R², or D² if the loss is not squared."""
        return score_number(circuit, problem, self.loss)


@dataclass(frozen=True)
class BudgetTask:
    """One trial on one fold.

    Attributes
    ----------
    fold
        Number of the fold.
    seed
        Seed of the search for rules.
    """

    fold: int
    plan: BudgetPlan
    seed: int


def make_budget_task(plan: BudgetPlan, fold: int, seed: int) -> BudgetTask:
    """Make a task. All trials have the same seed on a fold, so they differ only in their limits."""
    return BudgetTask(fold, plan, int(np.random.default_rng([seed, fold]).integers(2**63)))


def run_budget_task(problem: Problem | NumberProblem, fold: Fold, task: BudgetTask) -> Outcome:
    """Fit a circuit within the budget on the training rows, and score it on the others."""
    circuit = task.plan.fit(problem.take(fold.train), np.random.default_rng(task.seed))
    size = cost(circuit).gate_operations if task.fold < MEASURED_FOLDS else None
    return Outcome((task.plan.score(circuit, problem.take(fold.valid)),), size)
