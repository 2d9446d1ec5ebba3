"""The paper's protocol: training and test rows, search folds, column preparation.

All models of a (dataset, seed) get the same rows. Baselines get the paper's columns (scaled and
one-hot encoded). A DLN gets the raw table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, train_test_split

from reproduction.datasets import Dataset

SEEDS = (0, 1, 2, 3)
"""The paper uses four seeds; each has its own split, search, fit and test."""

TRIALS = 32
"""Number of trials of a hyperparameter search."""

MAX_EPOCHS = 1_000
"""Maximum number of passes over the training rows."""

EVAL_EVERY, FINAL_EVAL_EVERY = 20, 10
"""Epochs between two evaluations on validation rows: in a search, and in the final fit."""

PATIENCE = 200
"""Training on a fold stops after this number of epochs without improvement."""

HELD_BACK = 0.2
"""Fraction of the training rows that chooses the epoch of the final fit."""

_PENALTY = 0.1
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


@dataclass(frozen=True, eq=False)
class Task:
    """A dataset split by a seed."""

    dataset: Dataset
    seed: int

    @cached_property
    def rows(self) -> Fold:
        """Indices of the training and the test rows."""
        return split_rows(self.dataset, self.seed)

    @property
    def train(self) -> tuple[pd.DataFrame, pd.Series]:
        """The training rows as the raw table has them, and their classes."""
        rows = self.rows[0]
        return self.dataset.X.iloc[rows], self.dataset.y.iloc[rows]

    @property
    def test_table(self) -> pd.DataFrame:
        """The test rows as the raw table has them."""
        return self.dataset.X.iloc[self.rows[1]]

    @cached_property
    def arrays(self) -> Arrays:
        """The columns as the paper prepares them."""
        return prepare(self.dataset, *self.rows)

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


def batch_size(n_classes: int) -> int:
    """Return the batch size of the paper's networks."""
    return 64 if n_classes == 2 else 128


def first_layers(task: Task) -> tuple[int, int]:
    """Return the smallest and largest first layer: d, 2d and a third that depends on the rows.

    d counts four inputs for a number, and the levels of a category but one.
    """
    X = task.dataset.X.iloc[task.rows[0]]
    categories = X.select_dtypes("category")
    d = 4 * (X.shape[1] - categories.shape[1])
    d += sum(max(1, categories[name].nunique() - 1) for name in categories)
    third = min(len(X) // (2 * (d + task.n_classes)), 3 * d)
    if third < d / 2 or third in (d, 2 * d):
        third = d // 2
    widths = (d, 2 * d, max(1, third))
    return min(widths), max(widths)


def layer_sizes(first: int, ratio: float, n_layers: int, n_classes: int) -> tuple[int, ...]:
    """Return widths from `first` to `first * ratio`, the last a multiple of the number of classes.

    >>> layer_sizes(50, 0.25, 4, 2)
    (50, 31, 19, 12)
    """
    sizes = [round(size) for size in np.geomspace(first, max(1, round(first * ratio)), n_layers)]
    sizes[-1] = -(-sizes[-1] // n_classes) * n_classes
    return tuple(max(1, size) for size in sizes)


def score_trials(accuracies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Score trials by mean - 0.1 standard deviations over the folds: (..., folds) -> (...).

    >>> score_trials(np.array([[0.5, 0.7], [0.6, 0.6]])).round(2).tolist()
    [0.59, 0.6]
    """
    score: NDArray[np.float64] = accuracies.mean(axis=-1) - _PENALTY * accuracies.std(axis=-1)
    return score


def make_folds(target: NDArray[np.intp], seed: int) -> list[Fold]:
    """Split rows as the paper does: one part of 20 % from 5000 rows, 3 folds from 2000, else 4.

    All folds train on classes of one row.

    >>> len(make_folds(np.arange(2000) % 2, seed=0))
    3
    """
    sizes = np.bincount(target)[target]
    rows, lone = np.flatnonzero(sizes > 1), np.flatnonzero(sizes == 1)
    if len(target) >= 5_000:
        splitter = StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)
    else:
        n_folds = min(3 if len(target) >= 2_000 else 4, sizes[rows].min())
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return [
        (np.sort(np.append(rows[train], lone)), rows[valid])
        for train, valid in splitter.split(np.zeros(len(rows)), target[rows])
    ]


def hold_back(target: NDArray[np.intp], seed: int) -> Fold:
    """Split the training rows; the second part chooses the epoch of the final fit."""
    rows = np.arange(len(target))
    train, valid = train_test_split(rows, test_size=HELD_BACK, stratify=target, random_state=seed)
    return train, valid


def prepare(dataset: Dataset, train: Rows, test: Rows) -> Arrays:
    """Scale numbers to [0, 1], one-hot encode categories, impute; fitted on training rows."""
    numbers = dataset.X.select_dtypes("number")
    groups = dataset.X.select_dtypes("category")
    full = _ALL_LEVELS.get(dataset.name, ())
    columns = [_scaled(numbers[name].to_numpy(dtype=np.float64), train) for name in numbers]
    for name in groups:
        columns += _one_hot(groups[name], train, n_dropped=0 if name in full else 1)
    cells = np.column_stack(columns)
    target = dataset.y.astype("category").cat.codes.to_numpy(dtype=np.intp)
    return Arrays(cells[train], target[train], cells[test], target[test])


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
