"""Choose a recipe by cross-validation on the training rows.

All recipes and folds train side by side as one population. Each fold has an encoder of its own,
fitted without its validation rows: nothing leaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit

from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.table import Table
from dln.train.native import Job, Progress, TrainingRows, train_population
from dln.train.network import build_network
from dln.train.recipe import Recipe


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
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], Progress | None] = lambda jobs: None,
) -> tuple[Score, ...]:
    """Score every recipe on the same folds, with about `n_fits` networks for each.

    `on_progress` is given the jobs and gives back what to call while they train.
    """
    jobs: list[Job] = []
    folds = _folds(target, n_fits, int(rng.integers(2**31)))
    for train, valid in folds:
        encoder, _ = fit_encoder(table.take(train), target[train], weight[train], encode)
        data = TrainingRows(encoder.encode(table), target, weight)
        seed = int(rng.integers(2**63))
        for recipe in recipes:
            network = build_network(
                encoder.literals,
                recipe.shape,
                n_classes=n_classes,
                slope=recipe.slope,
                vote_threshold=recipe.options.vote_threshold,
                vote_density=recipe.vote_density,
                rng=np.random.default_rng(seed),
            )
            options = replace(recipe.options, seed=seed, eval_every=recipe.options.epochs)
            jobs.append(Job(network, data, train, options, valid_rows=valid))
    if not jobs:
        return ()
    trained = train_population(jobs, n_threads=n_threads, on_progress=on_progress(jobs))
    accuracy = np.array([result.history[-1, 2] for result in trained], dtype=np.float64)
    by_recipe = accuracy.reshape(len(folds), len(recipes)).T
    return tuple(
        Score(recipe, float(row.mean()), float(row.std() / np.sqrt(len(row))))
        for recipe, row in zip(recipes, by_recipe, strict=True)
    )


def _folds(
    target: NDArray[np.int32], n_fits: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Split rows into training and validation parts: repeated folds, or one part held out."""
    rarest = int(np.bincount(target)[np.unique(target)].min())
    rows = np.zeros((len(target), 0))
    n_folds = min(5, rarest, n_fits)
    if n_folds >= 2:
        splitter = RepeatedStratifiedKFold(
            n_splits=n_folds, n_repeats=max(1, n_fits // n_folds), random_state=seed
        )
        return list(splitter.split(rows, target))
    if rarest >= 2:
        holdout = StratifiedShuffleSplit(n_splits=n_fits, test_size=0.2, random_state=seed)
        return list(holdout.split(rows, target))
    return []
