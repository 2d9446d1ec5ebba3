"""Split rows into folds: rows to train on and rows to score a trial on."""

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
from dln.train.folds import N_FOLDS, draw_number_folds, make_folds

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows and validation rows."""

    train: Rows
    valid: Rows


def repeated_folds(target: NDArray[np.int32], n_fits: int, seed: int) -> list[Fold]:
    """Repeat five-fold cross-validation until there are `n_fits` folds."""
    n_folds = min(5, count_rarest(target))
    splitter = RepeatedStratifiedKFold(
        n_splits=n_folds, n_repeats=math.ceil(n_fits / n_folds), random_state=seed
    )
    return split_rows(splitter, target)[:n_fits]


def count_folds(target: NDArray[np.int32], n_folds: int, seed: int) -> list[Fold]:
    """Split into a given number of folds."""
    if n_folds < 2:
        raise OptionError(f"cv is {n_folds}, expected at least 2 folds")
    if n_folds > count_rarest(target):
        raise TableError(
            f"cv is {n_folds}, but the rarest class has {count_rarest(target)} rows; "
            "use fewer folds"
        )
    return split_rows(StratifiedKFold(n_folds, shuffle=True, random_state=seed), target)


def number_folds(
    target: NDArray[np.float64], n_folds: int, seed: int, groups: NDArray[np.int64] | None = None
) -> list[Fold]:
    """Split rows with a target of numbers; each fold has about the same distribution of them."""
    if n_folds < 2:
        raise OptionError(f"cv is {n_folds}, expected at least 2 folds")
    n_units = len(target) if groups is None else len(np.unique(groups))
    if n_folds > n_units:
        what = "rows" if groups is None else "groups"
        raise TableError(f"cv is {n_folds}, but there are {n_units} {what}; use fewer folds")
    fold = draw_number_folds(target, n_folds, np.random.default_rng(seed), groups)
    return [
        Fold(np.flatnonzero(fold != number), np.flatnonzero(fold == number))
        for number in range(n_folds)
    ]


def user_folds(
    n_rows: int,
    classes: NDArray[np.int32] | None,
    counts: NDArray[np.bool_],
    cv: Any,
    groups: Any,
) -> list[Fold]:
    """Split by a scikit-learn splitter or by given splits, and keep the rows with weight.

    `classes` is None for a target of numbers. Row numbers in the folds count only the rows with
    weight, from 0.
    """
    try:
        splitter = check_cv(cv, classes, classifier=classes is not None)
        parts = splitter.split(np.zeros((n_rows, 1)), classes, groups)
        folds = [Fold(np.asarray(train), np.asarray(valid)) for train, valid in parts]
    except (TypeError, ValueError) as error:
        raise OptionError(f"cv is {_short(cv)}, which cannot split the rows: {error}") from error
    if not folds or not all(_is_sound(fold, n_rows) for fold in folds):
        raise OptionError(f"cv is {_short(cv)}, expected row numbers for training and validation")
    numbers = np.cumsum(counts) - 1
    kept = [
        Fold(numbers[fold.train[counts[fold.train]]], numbers[fold.valid[counts[fold.valid]]])
        for fold in folds
    ]
    if not all(len(fold.train) and len(fold.valid) for fold in kept):
        raise OptionError(f"cv is {_short(cv)}, which returns folds whose rows all have weight 0")
    return kept


def group_folds(
    target: NDArray[np.int32],
    groups: NDArray[np.int64],
    n_fits: int,
    seed: int,
    n_folds: int = N_FOLDS,
) -> list[Fold]:
    """Split into at most `n_folds` folds that keep groups together, repeated for `n_fits` folds."""
    found = make_folds(target, n_fits, seed, groups, n_folds)
    if not found:
        raise TableError(
            "a class is in a single group, so that folds cannot keep groups together; add groups"
        )
    return [Fold(*rows) for rows in found]


def hold_out(
    target: NDArray[np.int32], part: float, seed: int, groups: NDArray[np.int64] | None = None
) -> Fold:
    """Split off a fraction of each class as validation rows; groups stay together."""
    if groups is not None:
        return group_folds(target, groups, 1, seed, max(2, round(1 / part)))[0]
    count_rarest(target)
    return split_rows(StratifiedShuffleSplit(1, test_size=part, random_state=seed), target)[0]


def sample_rows(target: NDArray[np.int32], n: int, seed: int) -> Rows:
    """Draw `n` rows with about the same class frequencies, at least one per class.

    If there are more classes than `n`, one row of each is drawn; if there are at most `n` rows,
    all are. Rows keep their order.

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
    """Split the rows class by class. If a class has one row, all folds train on it."""
    counts = np.bincount(target)[target]
    split, lone = np.flatnonzero(counts > 1), np.flatnonzero(counts == 1)
    try:
        parts = list(splitter.split(np.zeros((len(split), 0)), target[split]))
    except ValueError as error:  # scikit-learn's message about too few rows
        raise TableError(f"the {len(target)} rows cannot be split: {error}") from error
    return [Fold(np.sort(np.append(split[train], lone)), split[valid]) for train, valid in parts]


def count_rarest(target: NDArray[np.int32]) -> int:
    """Count the rows of the rarest class that has at least two."""
    counts = np.bincount(target)
    if counts.max() < 2:
        raise TableError("no class has two rows, so trials cannot be scored; add rows")
    return int(counts[counts > 1].min())


def _share_out(n: int, counts: Rows) -> Rows:
    """Distribute `n` rows over classes: at least one each, as close to proportional as possible."""
    wanted = n * counts / counts.sum()
    shares: Rows = np.maximum(1, np.floor(wanted).astype(np.int64))
    while shares.sum() < n:
        shares[(wanted - shares).argmax()] += 1
    # Rows for rare classes are taken from the classes that most exceed their share.
    while shares.sum() > max(n, len(counts)):
        shares[np.where(shares > 1, shares - wanted, -np.inf).argmax()] -= 1
    return shares


def _is_sound(fold: Fold, n_rows: int) -> bool:
    """Return whether both parts are valid row numbers and not empty."""
    return all(
        len(rows) and rows.dtype.kind in "iu" and rows.min() >= 0 and rows.max() < n_rows
        for rows in (fold.train, fold.valid)
    )


def _short(cv: Any) -> str:
    return textwrap.shorten(repr(cv), 200, placeholder=" ...")
