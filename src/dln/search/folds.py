"""Which rows a trial trains on and which it is judged by."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from dln.errors import OptionError, TableError

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to train on, and rows to judge by."""

    train: Rows
    valid: Rows


def repeated_folds(target: NDArray[np.int32], n_fits: int, seed: int) -> list[Fold]:
    """Split into five folds, again and again until there are `n_fits` of them."""
    n_folds = min(5, count_rarest(target))
    splitter = RepeatedStratifiedKFold(
        n_splits=n_folds, n_repeats=math.ceil(n_fits / n_folds), random_state=seed
    )
    return split_rows(splitter, target)[:n_fits]


def count_folds(target: NDArray[np.int32], n_folds: int, seed: int) -> list[Fold]:
    """Split into so many folds."""
    if n_folds < 2:
        raise OptionError(f"cv is {n_folds}, expected at least 2 folds")
    if n_folds > count_rarest(target):
        raise TableError(
            f"cv is {n_folds}, but the rarest class has {count_rarest(target)} rows; "
            "use fewer folds"
        )
    return split_rows(StratifiedKFold(n_folds, shuffle=True, random_state=seed), target)


def user_folds(
    target: NDArray[np.int32], counts: NDArray[np.bool_], cv: Any, groups: Any
) -> list[Fold]:
    """Split all rows by what scikit-learn calls a cv, and keep those that count.

    The folds number the rows that count from 0.
    """
    try:
        splitter = check_cv(cv, target, classifier=True)
        parts = splitter.split(np.zeros((len(target), 1)), target, groups)
        folds = [Fold(np.asarray(train), np.asarray(valid)) for train, valid in parts]
    except (TypeError, ValueError) as error:
        raise OptionError(f"cv is {_short(cv)}, which cannot split the rows: {error}") from error
    if not folds or not all(_is_sound(fold, len(target)) for fold in folds):
        raise OptionError(
            f"cv is {_short(cv)}, which does not give rows of the table to train on and to judge by"
        )
    numbers = np.cumsum(counts) - 1
    kept = [
        Fold(numbers[fold.train[counts[fold.train]]], numbers[fold.valid[counts[fold.valid]]])
        for fold in folds
    ]
    if not all(len(fold.train) and len(fold.valid) for fold in kept):
        raise OptionError(f"cv is {_short(cv)}, which gives folds whose rows all have weight 0")
    return kept


def hold_out(target: NDArray[np.int32], part: float, seed: int) -> Fold:
    """Hold out a part of every class."""
    count_rarest(target)
    return split_rows(StratifiedShuffleSplit(1, test_size=part, random_state=seed), target)[0]


def sample_rows(target: NDArray[np.int32], n: int, seed: int) -> Rows:
    """Draw `n` rows, in order, of which every class has its part, and one at least.

    There is one row of each where there are more classes than `n`, and all rows where there are no
    more of them.

    >>> target = np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.int32)
    >>> target[sample_rows(target, 3, seed=0)].tolist()
    [0, 0, 1]
    """
    if n >= len(target):
        return np.arange(len(target))
    counts = np.unique(target, return_counts=True)[1]
    mixed = np.random.default_rng(seed).permutation(len(target))
    by_class = mixed[np.argsort(target[mixed], kind="stable")]
    of_class = np.split(by_class, np.cumsum(counts)[:-1])
    shares = _share_out(n, counts)
    return np.sort(np.concatenate([rows[:k] for rows, k in zip(of_class, shares, strict=True)]))


def split_rows(splitter: Any, target: NDArray[np.int32]) -> list[Fold]:
    """Split the rows, class by class; the only row of a class is trained on in every fold."""
    counts = np.bincount(target)[target]
    split, lone = np.flatnonzero(counts > 1), np.flatnonzero(counts == 1)
    try:
        parts = list(splitter.split(np.zeros((len(split), 0)), target[split]))
    except ValueError as error:  # scikit-learn's words on rows that are too few
        raise TableError(f"the {len(target)} rows cannot be split: {error}") from error
    return [Fold(np.sort(np.append(split[train], lone)), split[valid]) for train, valid in parts]


def count_rarest(target: NDArray[np.int32]) -> int:
    """Count the rows of the rarest class that can be on both sides of a split."""
    counts = np.bincount(target)
    if counts.max() < 2:
        raise TableError(
            "no class has two rows, so that nothing is left to judge a trial by; give more rows"
        )
    return int(counts[counts > 1].min())


def _share_out(n: int, counts: Rows) -> Rows:
    """Share `n` rows out to classes: one at least, and the least squares from proportion."""
    wanted = n * counts / counts.sum()
    shares: Rows = np.maximum(1, np.floor(wanted).astype(np.int64))
    while shares.sum() < n:
        shares[(wanted - shares).argmax()] += 1
    # The rows of rare classes are taken from those that are furthest above their part.
    while shares.sum() > max(n, len(counts)):
        shares[np.where(shares > 1, shares - wanted, -np.inf).argmax()] -= 1
    return shares


def _is_sound(fold: Fold, n_rows: int) -> bool:
    """Tell whether both parts are numbers of rows, and there are some."""
    return all(
        len(rows) and rows.dtype.kind in "iu" and rows.min() >= 0 and rows.max() < n_rows
        for rows in (fold.train, fold.valid)
    )


def _short(cv: Any) -> str:
    return textwrap.shorten(repr(cv), 200, placeholder=" ...")
