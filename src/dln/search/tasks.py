"""One trial on one fold as a value, and a list of them as one population for an engine.

Promise: an outcome depends only on its task and its fold, not on the other tasks of the population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from dln.core.labels import Label
from dln.costs.circuit import cost
from dln.data.table import Table
from dln.encode.encoder import EncodeOptions, Encoder, fit_encoder
from dln.errors import TrainingError
from dln.evaluate.scores import balanced_accuracy, count_pairs
from dln.search.folds import Fold
from dln.search.scoring import Scoring
from dln.shrink.simplify.simplify import simplify
from dln.train.discretise import discretise
from dln.train.jobs import Engine, Job, OnProgress, Trained, TrainingRows
from dln.train.network import Network
from dln.train.problem import Problem
from dln.train.recipe import Recipe
from dln.train.votes import count_votes


@dataclass(frozen=True)
class Task:
    """One trial on one fold.

    Attributes
    ----------
    fold
        Number of the fold.
    seeds
        One seed for each network; the networks vote together.
    n_networks
        Number of networks in the final fit. `seeds` may be fewer, if that is enough to score.
    measured
        Whether the size of the circuit is measured.
    """

    fold: int
    recipe: Recipe
    seeds: tuple[int, ...]
    n_networks: int
    measured: bool


@dataclass(frozen=True)
class Outcome:
    """Result of a task.

    Attributes
    ----------
    accuracies
        Balanced accuracy on the validation rows: at each evaluation, or once at the end.
    size
        Gate-level operations of the circuit after quick simplification, scaled up if the final
        fit has more networks than were trained; None if not measured.
    """

    accuracies: tuple[float, ...]
    size: int | None = None


MEASURED_FOLDS = 1
"""Sizes are measured on this number of folds. They differ little and are slow to measure."""


def make_task(recipe: Recipe, fold: int, scoring: Scoring, seed: int) -> Task:
    """Return what a trial with this recipe trains on a fold."""
    options = replace(
        recipe.options.untraced(),
        epochs=math.ceil(scoring.epochs_part * recipe.options.epochs),
        eval_every=scoring.eval_every,
        patience=scoring.patience,
        validation_score="validation",
    )
    # The same seeds for all trials, so that they differ only in their parameters.
    rng = np.random.default_rng([seed, fold])
    n_judged = min(recipe.n_networks, scoring.max_networks)
    return Task(
        fold=fold,
        recipe=replace(recipe, options=options),
        seeds=tuple(rng.integers(2**63, size=n_judged).tolist()),
        n_networks=recipe.n_networks,
        measured=fold < MEASURED_FOLDS,
    )


FAILED = Outcome((0.0,))
"""The outcome of a training whose loss is not a number."""


@dataclass(frozen=True, eq=False)
class FoldRows:
    """An encoded fold, shared by all trials with the same encoding.

    Attributes
    ----------
    data
        All rows, encoded by an encoder that was fitted on the training rows.
    table
        The original training rows, which are used to round cutoffs.
    """

    fold: Fold
    data: TrainingRows
    encoder: Encoder
    table: Table
    classes: tuple[Label, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)


RowsOf = Callable[[int, EncodeOptions], FoldRows]
"""Returns the rows of a fold, given its number and the encoding."""


def encode_fold(problem: Problem, fold: Fold, encode: EncodeOptions) -> FoldRows:
    """Fit an encoder on the training rows of a fold and encode all rows."""
    table = problem.table.take(fold.train).kept()
    encoder, _ = fit_encoder(table, problem.target[fold.train], problem.weight[fold.train], encode)
    data = TrainingRows(encoder.encode(problem.table), problem.target, problem.weight)
    return FoldRows(fold, data, encoder, table, problem.classes)


def run_tasks(
    tasks: Sequence[Task],
    rows_of: RowsOf,
    engine: Engine,
    *,
    n_threads: int,
    on_progress: OnProgress | None = None,
) -> list[Outcome]:
    """Train all tasks as one population.

    If one of them diverges, the engine stops without naming it. Then they are trained one by one.
    """
    rows = [rows_of(task.fold, task.recipe.encode) for task in tasks]
    jobs = [_jobs(task, its) for task, its in zip(tasks, rows, strict=True)]
    try:
        trained = iter(
            engine(
                [job for some in jobs for job in some],
                n_threads=n_threads,
                on_progress=on_progress,
            )
        )
    except TrainingError:
        if len(tasks) == 1:
            return [FAILED]
        alone = [run_tasks([task], rows_of, engine, n_threads=n_threads) for task in tasks]
        return [outcome for some in alone for outcome in some]
    return [
        _score(task, its, list(islice(trained, len(task.seeds))))
        for task, its in zip(tasks, rows, strict=True)
    ]


def _jobs(task: Task, rows: FoldRows) -> list[Job]:
    return [
        Job(
            task.recipe.draw_network(rows.encoder.literals, rows.n_classes, seed),
            rows.data,
            rows.fold.train,
            replace(task.recipe.options, seed=seed),
            rows.fold.valid if task.recipe.options.eval_every else None,
        )
        for seed in task.seeds
    ]


def _score(task: Task, rows: FoldRows, trained: Sequence[Trained]) -> Outcome:
    networks = [result.network for result in trained]
    size = _size(task, rows, networks) if task.measured else None
    if task.recipe.options.eval_every:
        return Outcome(tuple(trained[0].evaluations.tolist()), size)
    valid = rows.fold.valid
    votes = count_votes(networks, rows.data.cells[valid])
    pair = rows.n_classes, rows.n_classes
    confusion = count_pairs(rows.data.classes[valid], votes.argmax(axis=1), pair)
    return Outcome((balanced_accuracy(confusion),), size)


def _size(task: Task, rows: FoldRows, networks: Sequence[Network]) -> int:
    options = task.recipe.options
    circuit = discretise(
        networks,
        rows.encoder,
        rows.table,
        classes=rows.classes,
        temperature=options.tau * len(networks),
    )
    found = cost(simplify(circuit, "quick", prove=False)).gate_operations
    return found * task.n_networks // len(networks)
