"""The paper's protocol: training and test rows, search folds, column preparation.

All models of a (dataset, seed) get the same rows. Baselines get the paper's columns (scaled and
one-hot encoded). A DLN gets the raw table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dln.datasets import Dataset
from dln.estimator import DLNClassifier
from dln.manners import read_problem
from dln.search.paper import HELD_BACK, paper_folds
from dln.train.fit import Problem

if TYPE_CHECKING:
    import pandas as pd

SEEDS = (0, 1, 2, 3)
"""The paper uses four seeds; each has its own split, search, fit and test."""

TRIALS = 32
"""Number of trials of a hyperparameter search."""

_TEST_PART = 0.25
_CLIPPED = (0.005, 0.995)

# The paper does not treat all tables alike: these columns keep all their levels.
_ALL_LEVELS = {"Compas": ("age_cat", "race", "c_charge_degree")}

Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]


@dataclass(frozen=True)
class Arrays:
    """Prepared training and test rows: values (n, d) in [0, 1] and class numbers (n,)."""

    train: NDArray[np.float64]
    train_target: NDArray[np.intp]
    test: NDArray[np.float64]
    test_target: NDArray[np.intp]
    n_continuous: int
    n_categorical: int


@dataclass(frozen=True, eq=False)
class Task:
    """A dataset split by a seed."""

    dataset: Dataset
    seed: int

    @cached_property
    def rows(self) -> Fold:
        """Indices of the training and the test rows."""
        return split_rows(self.dataset, self.seed)

    @cached_property
    def arrays(self) -> Arrays:
        """The columns as the paper prepares them."""
        return prepare(self.dataset, *self.rows)

    @cached_property
    def problem(self) -> Problem:
        """The training rows as a DLN reads them, with balanced class weights."""
        train = self.rows[0]
        X, y = self.dataset.X.iloc[train], self.dataset.y.iloc[train]
        problem, _ = read_problem(DLNClassifier(), X, y, None, "balanced")
        return problem.kept()

    @cached_property
    def folds(self) -> list[Fold]:
        """Training and validation rows of the search, as indices into the training rows."""
        return make_folds(self.arrays.train_target, self.seed)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.dataset.y.nunique())


def split_rows(dataset: Dataset, seed: int) -> Fold:
    """Return training and test row indices: the official split, or a stratified 75/25 one."""
    if dataset.split is not None:
        is_train = np.asarray(dataset.split) == "train"
        return np.flatnonzero(is_train), np.flatnonzero(~is_train)
    rows = np.arange(len(dataset.y))
    train, test = train_test_split(
        rows, test_size=_TEST_PART, stratify=dataset.y, random_state=seed
    )
    return train, test


def make_folds(target: NDArray[np.intp], seed: int) -> list[Fold]:
    """Split the training rows for a search as the paper does; return scikit-learn style folds.

    >>> len(make_folds(np.arange(2000) % 2, seed=0))
    3
    """
    return [(fold.train, fold.valid) for fold in paper_folds(target.astype(np.int32), seed)]


def hold_back(target: NDArray[np.intp], seed: int) -> Fold:
    """Split the training rows; the second part chooses the epoch of the final fit."""
    # The same rows as `dln.search.folds.hold_out`, but unsorted: batches depend on the order.
    rows = np.arange(len(target))
    train, valid = train_test_split(rows, test_size=HELD_BACK, stratify=target, random_state=seed)
    return train, valid


def prepare(dataset: Dataset, train: Rows, test: Rows) -> Arrays:
    """Scale numbers to [0, 1], one-hot encode categories, impute; fitted on training rows."""
    numbers = dataset.X.select_dtypes("number")
    groups = dataset.X.select_dtypes("category")
    full = _ALL_LEVELS.get(dataset.name, ())
    columns = [_scaled(numbers[name].to_numpy(dtype=np.float64), train) for name in numbers]
    n_continuous = len(columns)
    for name in groups:
        columns += _one_hot(groups[name], train, n_dropped=0 if name in full else 1)
    cells = np.column_stack(columns)
    target = dataset.y.astype("category").cat.codes.to_numpy(dtype=np.intp)
    return Arrays(
        train=cells[train],
        train_target=target[train],
        test=cells[test],
        test_target=target[test],
        n_continuous=n_continuous,
        n_categorical=len(columns) - n_continuous,
    )


def _scaled(values: NDArray[np.float64], train: Rows) -> NDArray[np.float64]:
    """Impute the mean, clip to the outer quantiles of the training rows, scale to [0, 1]."""
    known = values[train][~np.isnan(values[train])]
    if len(known) == 0:
        return np.zeros(len(values))
    filled = np.where(np.isnan(values), known.mean(), values)
    low, high = np.quantile(filled[train], _CLIPPED)
    if low == high:
        low, high = filled[train].min(), filled[train].max()
    scaled: NDArray[np.float64] = (np.clip(filled, low, high) - low) / max(high - low, 1e-12)
    return scaled


def _one_hot(column: pd.Series, train: Rows, *, n_dropped: int) -> list[NDArray[np.float64]]:
    """Impute the most frequent level of the training rows; one-hot encode the levels."""
    filled = column.fillna(column.iloc[train].mode().iloc[0])
    levels = column.cat.categories[n_dropped:]
    return [(filled == level).to_numpy(dtype=np.float64) for level in levels]
