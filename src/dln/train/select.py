"""Choose a recipe by cross-validation on the training rows.

All recipes and folds are trained in parallel as one population. Each fold has its own encoder,
fitted without the validation rows, so that nothing leaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold

from dln.data.table import Table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.train.jobs import Engine, Job, OnProgress, TrainingRows
from dln.train.recipe import Recipe

SHORT_FROM_ROWS = 1_000
"""From this number of rows, recipes are compared with half the epochs; the ranking is the same."""

MAX_TOLERANCE = 0.01
"""Balanced accuracy that may be lost for a smaller circuit, and at most one standard error."""


@dataclass(frozen=True)
class Score:
    """The balanced accuracy of a recipe on rows that it was not trained on."""

    recipe: Recipe
    mean: float
    standard_error: float


def cross_validate(
    recipes: Sequence[Recipe],
    table: Table,
    target: NDArray[np.int32],
    weight: NDArray[np.float32],
    *,
    encode: EncodeOptions,
    n_classes: int,
    n_fits: int,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], OnProgress | None] = lambda jobs: None,
) -> tuple[Score, ...]:
    """Score all recipes on the same folds, with about `n_fits` networks for each.

    `on_progress` takes the jobs and returns the function to call while they train.
    """
    jobs: list[Job] = []
    folds = _folds(target, n_fits, int(rng.integers(2**31)))
    for train, valid in folds:
        encoder, _ = fit_encoder(table.take(train), target[train], weight[train], encode)
        data = TrainingRows(encoder.encode(table), target, weight)
        seed = int(rng.integers(2**63))
        for recipe in recipes:
            network = recipe.draw_network(encoder.literals, n_classes, seed)
            epochs = recipe.options.epochs
            if len(target) >= SHORT_FROM_ROWS:
                epochs = -(-epochs // 2)
            options = replace(
                recipe.options, seed=seed, epochs=epochs, eval_every=epochs, trace_every=0
            )
            jobs.append(Job(network, data, train, options, valid_rows=valid))
    if not jobs:
        return ()
    trained = engine(jobs, n_threads=n_threads, on_progress=on_progress(jobs))
    accuracy = np.array([result.valid_accuracy[-1] for result in trained], dtype=np.float64)
    by_recipe = accuracy.reshape(len(folds), len(recipes)).T
    return tuple(
        Score(recipe, float(row.mean()), float(row.std() / np.sqrt(len(row))))
        for recipe, row in zip(recipes, by_recipe, strict=True)
    )


def choose(scores: Sequence[Sequence[Score]]) -> Recipe:
    """Choose the smallest size that is about as good as the best, at its best temperature.

    `scores` has a row for each size, smallest first, with its temperatures in order. Scores of
    neighbouring temperatures are averaged first. They are similar, so this removes most of the
    noise of small tables without hiding real differences.
    """
    means = np.array([[score.mean for score in row] for row in scores])
    for _ in range(2):
        padded = np.pad(means, ((0, 0), (1, 1)), mode="edge")
        means = (padded[:, :-2] + 2 * means + padded[:, 2:]) / 4
    best_size, best_tau = divmod(int(means.argmax()), means.shape[1])
    tolerance = min(MAX_TOLERANCE, scores[best_size][best_tau].standard_error)
    size = int(np.argmax(means.max(axis=1) >= means.max() - tolerance))
    return scores[size][int(means[size].argmax())].recipe


def _folds(
    target: NDArray[np.int32], n_fits: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Split rows into training and validation parts: the first `n_fits` of repeated folds.

    None if a class has a single row, which cannot be in both parts.
    """
    rarest = int(np.bincount(target)[np.unique(target)].min())
    n_folds = min(5, rarest)
    if n_folds < 2:
        return []
    splitter = RepeatedStratifiedKFold(
        n_splits=n_folds, n_repeats=-(-n_fits // n_folds), random_state=seed
    )
    return list(splitter.split(np.zeros((len(target), 0)), target))[:n_fits]
