"""The final fit with the chosen parameters, on all rows or up to the best epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dln._util.cores import count_threads
from dln.estimators.classifier import DLNClassifier
from dln.estimators.plan import plan_fit
from dln.estimators.reading import draw_seed, read_problem
from dln.search.folds import Fold, hold_out
from dln.search.tasks import encode_fold
from dln.train.engines import find_engine
from dln.train.fit import FitPlan
from dln.train.jobs import Engine, Job
from dln.train.problem import Problem


class FinalFit(Protocol):
    """Fits a classifier with the chosen parameters and returns it."""

    def __call__(
        self, model: DLNClassifier, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> DLNClassifier:
        """Fit the classifier."""


def fit_all_rows(
    model: DLNClassifier, X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> DLNClassifier:
    """Fit on all rows."""
    return model.fit(X, y, sample_weight, groups)


def fit_best_epoch(
    model: DLNClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any = None,
    *,
    held_back: float,
    eval_every: int,
) -> DLNClassifier:
    """Find the best epoch with validation rows, and fit on the other rows up to that epoch.

    The classifier's `random_state`, an integer, also decides which rows are used for validation.
    """
    assert isinstance(model.random_state, int)
    read, _ = read_problem(model, X, y, sample_weight, model.class_weight, groups)
    counting = np.flatnonzero(read.weight)
    own = None if read.groups is None else read.groups[counting]
    fold = hold_out(read.target[counting], held_back, model.random_state, own)
    weight = np.ones(len(read.target)) if sample_weight is None else np.array(sample_weight)
    weight[counting[fold.valid]] = 0.0
    problem, _ = read_problem(model, X, y, weight, model.class_weight)
    epochs = find_best_epoch(
        problem,
        Fold(counting[fold.train], counting[fold.valid]),
        plan_fit(model, problem.counting()),
        engine=find_engine(model.engine, model.device),
        seed=draw_seed(model.random_state),
        n_threads=count_threads(model.n_jobs),
        eval_every=eval_every,
    )
    model.set_params(epochs=epochs)
    return model.fit(X, y, weight, groups)


def find_best_epoch(
    problem: Problem,
    fold: Fold,
    plan: FitPlan,
    *,
    engine: Engine,
    seed: int,
    n_threads: int,
    eval_every: int,
) -> int:
    """Return the number of epochs with the best training + validation accuracy.

    The sum of both balanced accuracies is evaluated every `eval_every` epochs; the latest of tied
    epochs wins. `DLNClassifier` trains the same network with this seed on these rows. So with a
    constant learning rate, a fit with this number of epochs ends with the same network.
    """
    recipe = plan.candidates.usual
    rows = encode_fold(problem, fold, recipe.encode)
    start = int(np.random.default_rng(seed).integers(2**63))
    options = replace(recipe.options, seed=start, eval_every=eval_every)
    jobs = [
        Job(
            recipe.draw_network(rows.encoder.literals, rows.n_classes, start),
            rows.data,
            fold.train,
            options,
            valid_rows=looked_at,
        )
        for looked_at in (fold.train, fold.valid)
    ]
    trained = engine(jobs, n_threads=n_threads)
    total = np.sum([result.valid_score for result in trained], axis=0)
    evaluated = np.flatnonzero(~np.isnan(total))
    return int(evaluated[::-1][total[evaluated][::-1].argmax()]) + 1
