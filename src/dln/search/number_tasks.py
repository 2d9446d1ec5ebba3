"""One trial of a regressor on one fold: a complete fit on its training rows.

A fit of a number chooses its penalty and its trees by cross-validation inside, so a trial does it
too: what is scored is what the final fit does. Promise: an outcome depends only on its task, its
fold and the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from dln.costs.circuit import cost
from dln.errors import TrainingError
from dln.search.folds import Fold
from dln.search.tasks import FAILED, MEASURED_FOLDS, Outcome
from dln.shrink.simplify.simplify import simplify
from dln.train.jobs import Engine
from dln.train.number_fit import NumberPlan, fit_number
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
    train, valid = problem.take(fold.train), problem.take(fold.valid)
    rng = np.random.default_rng([task.seed, task.fold])  # the same for all trials
    try:
        fitted = fit_number(train, task.plan, engine=engine, rng=rng, n_threads=n_threads)
    except TrainingError:
        return FAILED
    circuit, loss = fitted.circuit, task.plan.loss
    scores = circuit.number_readout.scores(circuit.evaluate(valid.table, wires=()).votes)
    size = None
    if task.fold < MEASURED_FOLDS:
        size = cost(simplify(circuit, "quick", prove=False)).gate_operations
    return Outcome((loss.explained(scores, valid.target, valid.weight),), size)


def run_number_tasks(
    tasks: Sequence[NumberTask],
    run: Callable[[NumberTask, int], Outcome],
    n_threads: int,
    n_together: int,
    on_done: Callable[[float], None] | None,
) -> list[Outcome]:
    """Run some tasks at the same time; `run` gets a task and its number of threads."""
    each = max(1, n_threads // max(1, min(n_together, len(tasks))))
    with ThreadPoolExecutor(n_together) as pool:
        pending = [pool.submit(run, task, each) for task in tasks]
        try:
            for done, future in enumerate(as_completed(pending), start=1):
                future.result()  # raises the error of a task at once
                if on_done is not None:
                    on_done(done / len(pending))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in pending]
