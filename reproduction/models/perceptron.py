"""The paper's multilayer perceptron, searched with Optuna; many networks train in parallel.

The paper does not print its search space. Ours contains the published sizes: one or two layers,
each one to four times as wide as the table. Loss, batches, score, patience and final fit are those
of the paper's logic networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from dln import cost_of_model
from reproduction.models.optuna_batches import propose_in_batches
from reproduction.models.outcome import Budget, Outcome, percent
from reproduction.models.perceptron_stack import Member, Stack
from reproduction.protocol import (
    EVAL_EVERY,
    FINAL_EVAL_EVERY,
    PATIENCE,
    Task,
    batch_size,
    hold_back,
    score_trials,
)

_BATCH_OF_TRIALS = 8

Params = Mapping[str, Any]


def perceptron(task: Task, budget: Budget) -> Outcome:
    """Search with Optuna, fit on 80 % of the training rows, test the best epoch."""
    d = task.arrays.train.shape[1]

    def suggest(trial: Any) -> None:
        trial.suggest_float("rate", 1e-3, 1e-1, log=True)
        trial.suggest_float("decay", 1e-6, 1e-2, log=True)
        trial.suggest_int("layers", 1, 2)
        trial.suggest_int("width", d, 4 * d, log=True)

    best, score = propose_in_batches(
        suggest,
        lambda batch: _evaluate(task, batch, budget),
        n_trials=budget.trials,
        batch=_BATCH_OF_TRIALS,
        seed=task.seed,
    )
    model = _fit(task, best, budget)
    arrays = task.arrays
    return Outcome(
        accuracy=percent(arrays.test_target, model.predict(arrays.test)[0]),
        validation=100.0 * score,
        params=best,
        cost=cost_of_model(_as_sklearn(model.weights(0))),
    )


def _member(params: Params, rows: NDArray[np.intp]) -> Member:
    hidden = (params["width"],) * params["layers"]
    return Member(hidden, params["rate"], params["decay"], rows)


def _evaluate(task: Task, batch: list[Params], budget: Budget) -> list[float]:
    """Score trials on the folds; networks of the same depth train in parallel."""
    scores = [0.0] * len(batch)
    for depth in {params["layers"] for params in batch}:
        places = [place for place, params in enumerate(batch) if params["layers"] == depth]
        found = _evaluate_alike(task, [batch[place] for place in places], budget)
        for place, score in zip(places, found, strict=True):
            scores[place] = score
    return scores


def _evaluate_alike(task: Task, batch: list[Params], budget: Budget) -> list[float]:
    arrays, folds = task.arrays, task.folds
    members = [_member(params, train) for params in batch for train, _ in folds]
    stack = _stack(task, members, budget)
    scores = _EpochScores(len(batch), patience=PATIENCE // EVAL_EVERY)
    live = np.arange(len(batch))
    for _ in range(max(1, budget.epochs // EVAL_EVERY)):
        stack.train(min(EVAL_EVERY, budget.epochs))
        predicted = stack.predict(arrays.train)
        accuracies = [
            percent(arrays.train_target[valid], predicted[place * len(folds) + fold][valid]) / 100.0
            for place in range(len(live))
            for fold, (_, valid) in enumerate(folds)
        ]
        going_on = scores.add(live, np.reshape(accuracies, (len(live), len(folds))))
        if not going_on.any():
            break
        stack.keep(np.repeat(going_on, len(folds)))
        live = live[going_on]
    return scores.best.tolist()


def _fit(task: Task, params: Params, budget: Budget) -> Stack:
    """Train on 80 % of the rows; keep the epoch with the best training + validation accuracy."""
    arrays = task.arrays
    train, valid = hold_back(arrays.train_target, task.seed)
    stack = _stack(task, [_member(params, train)], budget)
    best, kept = -1.0, stack.copy()
    for _ in range(max(1, budget.epochs // FINAL_EVAL_EVERY)):
        stack.train(min(FINAL_EVAL_EVERY, budget.epochs))
        predicted = stack.predict(arrays.train)[0]
        both = sum(percent(arrays.train_target[rows], predicted[rows]) for rows in (train, valid))
        if both >= best:
            best, kept = both, stack.copy()
    return kept


def _stack(task: Task, members: list[Member], budget: Budget) -> Stack:
    arrays = task.arrays
    return Stack(
        members,
        arrays.train,
        arrays.train_target,
        n_classes=task.n_classes,
        batch_size=batch_size(task.n_classes),
        seed=task.seed,
        threads=budget.threads,
        device="cuda" if budget.engine == "cuda" else "cpu",
    )


def _as_sklearn(weights: list[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> MLPClassifier:
    """Store the weights as scikit-learn's MLPClassifier does, so that `cost_of_model` works."""
    model = MLPClassifier(tuple(len(offset) for _, offset in weights[:-1]))
    model.coefs_ = [matrix for matrix, _ in weights]
    model.intercepts_ = [offset for _, offset in weights]
    return model


class _EpochScores:
    """The best score of each trial so far, and how long ago it last improved.

    `patience` counts evaluations on the validation rows, not epochs.
    """

    def __init__(self, n_trials: int, *, patience: int) -> None:
        self.best = np.full(n_trials, -np.inf)
        self._stale = np.zeros(n_trials, dtype=np.intp)
        self._patience = patience

    def add(self, trials: NDArray[np.intp], accuracies: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Add one evaluation of some trials (trials, folds); return which ones should go on.

        >>> scores = _EpochScores(2, patience=1)
        >>> scores.add(np.array([0, 1]), np.array([[0.5, 0.7], [0.5, 0.5]])).tolist()
        [True, True]
        >>> scores.add(np.array([0, 1]), np.array([[0.5, 0.7], [0.6, 0.6]])).tolist()
        [False, True]
        >>> scores.best.round(2).tolist()
        [0.59, 0.6]
        """
        score = score_trials(accuracies)
        better = score > self.best[trials]
        self.best[trials] = np.maximum(score, self.best[trials])
        self._stale[trials] = np.where(better, 0, self._stale[trials] + 1)
        going_on: NDArray[np.bool_] = self._stale[trials] < self._patience
        return going_on
