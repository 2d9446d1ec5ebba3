"""Folds of rows for cross-validation, stratified by target; rows of one group stay together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Training rows and validation rows."""

N_FOLDS = 5


def make_folds(
    target: NDArray[np.int32],
    n_fits: int,
    seed: int,
    groups: NDArray[np.int64] | None = None,
    n_folds: int = N_FOLDS,
) -> list[Fold]:
    """Split rows into training and validation parts: the first `n_fits` of repeated folds.

    None if a class has a single row or group, which cannot be in both parts.
    """
    if groups is not None:
        return _group_folds(target, n_fits, seed, groups, n_folds)
    rarest = int(np.bincount(target)[np.unique(target)].min())
    n_folds = min(n_folds, rarest)
    if n_folds < 2:
        return []
    splitter = RepeatedStratifiedKFold(
        n_splits=n_folds, n_repeats=-(-n_fits // n_folds), random_state=seed
    )
    return list(splitter.split(np.zeros((len(target), 0)), target))[:n_fits]


def _group_folds(
    target: NDArray[np.int32],
    n_fits: int,
    seed: int,
    groups: NDArray[np.int64],
    n_folds: int,
) -> list[Fold]:
    classes = np.unique(target)
    rarest = min(len(np.unique(groups[target == number])) for number in classes)
    n_folds = min(n_folds, rarest)
    if n_folds < 2:
        return []
    found: list[Fold] = []
    for repeat in range(-(-n_fits // n_folds)):
        for train, valid in split_groups(target, groups, n_folds, seed + repeat):
            # Groups of several classes may leave a fold empty, or a class without training rows.
            if len(valid) and len(np.unique(target[train])) == len(classes):
                found.append((train, valid))
    return found[:n_fits]


def split_groups(
    target: NDArray[np.int32], groups: NDArray[np.int64], n_folds: int, seed: int
) -> Iterator[Fold]:
    """Split rows into folds with similar class frequencies; groups stay together.

    Groups are shuffled here, because `shuffle=True` of scikit-learn 1.7 assigns groups to folds by
    the classes of other groups. From 1.8 on, it returns the same folds as this function.
    """
    names, group = np.unique(groups, return_inverse=True)
    place = np.argsort(np.random.RandomState(seed).permutation(len(names)))
    splitter = StratifiedGroupKFold(n_folds)
    yield from splitter.split(np.zeros((len(target), 0)), target, place[group])


def draw_number_folds(
    target: NDArray[np.float64],
    n_folds: int,
    rng: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Draw the fold of each row; each has about the same distribution of targets.

    There are fewer folds if there are fewer rows or groups, and none if there is only one.
    """
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        means = np.bincount(group, target) / np.bincount(group)
        return np.asarray(draw_number_folds(means, n_folds, rng)[group])
    n_rows = len(target)
    n_folds = min(n_folds, n_rows)
    if n_folds < 2:
        return np.empty(0, dtype=np.int64)
    shuffled = rng.permutation(n_rows)  # so that equal targets are in a random order
    order = shuffled[np.argsort(target[shuffled], kind="stable")]
    n_blocks = -(-n_rows // n_folds)
    numbers = rng.permuted(np.tile(np.arange(n_folds), (n_blocks, 1)), axis=1).ravel()[:n_rows]
    fold = np.empty(n_rows, dtype=np.int64)
    fold[order] = numbers
    return fold
