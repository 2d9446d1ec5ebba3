"""One trial with a budget on one fold: a search for rules instead of trained networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dln.core.constraints import Constraints
from dln.costs.circuit import cost
from dln.decisions.goal import Goal
from dln.evaluate.scores import balanced_accuracy, count_pairs
from dln.paths.budget import Budget
from dln.paths.fit import fit_path
from dln.paths.searches import one_core_each
from dln.search.folds import Fold
from dln.search.tasks import MEASURED_FOLDS, Outcome
from dln.train.problem import Problem


@dataclass(frozen=True)
class BudgetPlan:
    """What a fit with a budget keeps and decides."""

    budget: Budget
    goal: Goal
    constraints: Constraints | None


@dataclass(frozen=True)
class BudgetTask:
    """One trial on one fold.

    Attributes
    ----------
    fold
        Number of the fold.
    seed
        Seed of the search for rules.
    measured
        Whether the size of the circuit is measured.
    """

    fold: int
    plan: BudgetPlan
    seed: int
    measured: bool


def make_budget_task(plan: BudgetPlan, fold: int, seed: int) -> BudgetTask:
    """Make a task. All trials have the same seed on a fold, so they differ only in their limits."""
    own = int(np.random.default_rng([seed, fold]).integers(2**63))
    return BudgetTask(fold, plan, own, measured=fold < MEASURED_FOLDS)


def run_budget_task(problem: Problem, fold: Fold, task: BudgetTask) -> Outcome:
    """Fit a circuit within the budget on the training rows, and score it on the others."""
    plan = task.plan
    fitted = fit_path(
        problem.take(fold.train),
        plan.budget,
        plan.goal,
        plan.constraints,
        rng=np.random.default_rng(task.seed),
    )
    circuit = fitted.path.circuit
    winners = circuit.winners(problem.table.take(fold.valid))
    pair = len(problem.classes), len(problem.classes)
    confusion = count_pairs(problem.target[fold.valid], winners, pair)
    size = cost(circuit).gate_operations if task.measured else None
    return Outcome((balanced_accuracy(confusion),), size)


def run_budget_tasks(
    tasks: Sequence[BudgetTask],
    problem: Problem,
    folds: Sequence[Fold],
    *,
    n_threads: int,
    on_done: Callable[[float], None] | None = None,
) -> list[Outcome]:
    """Run tasks side by side, and report the fraction that is done."""
    with one_core_each(), ThreadPoolExecutor(n_threads) as pool:
        waiting = [pool.submit(run_budget_task, problem, folds[task.fold], task) for task in tasks]
        try:
            for number, future in enumerate(waiting):
                future.result()
                if on_done is not None:
                    on_done((number + 1) / len(waiting))
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
        return [future.result() for future in waiting]
