"""Choose the columns of a wide table that are worth literals.

If most of thousands of columns are noise, a network sees mostly noise. Each column is scored by the
best single split of its rows: how much it lowers the Gini impurity of the classes, or the variance
of a target of numbers. The scores with a shuffled target show what noise reaches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dln.encode.cutoffs import Target

Floats = NDArray[np.float64]

WIDE = 200
"""A table with more columns is screened."""

MIN_KEPT, MAX_KEPT = 50, 600
"""Minimum and maximum number of columns that are kept."""

MAX_ROWS = 10_000
"""Maximum number of rows that scores are computed on."""

NOISE_LEVEL = 0.99
"""A column is kept if its score is above this quantile of the scores with a shuffled target."""

_BLOCK = 500
"""Columns that are scored at once, to bound the memory."""


def is_wide(n_columns: int) -> bool:
    """Check whether a table is screened."""
    return n_columns > WIDE


def screened_rows(n_rows: int) -> NDArray[np.intp]:
    """Return the rows that scores are computed on."""
    return np.arange(0, n_rows, -(-n_rows // MAX_ROWS))


def choose_columns(
    values: NDArray[np.float32], target: Target, weight: NDArray[np.float32]
) -> NDArray[np.intp]:
    """Return the columns of (n_rows, n_columns) that say something about the target, in order.

    Missing values (NaN) count as the largest ones.
    """
    scores = best_split_scores(values, target, weight)
    shuffled = np.random.default_rng(0).permutation(len(target))
    noise = best_split_scores(values, target[shuffled], weight[shuffled])
    n_above = int((scores > np.quantile(noise, NOISE_LEVEL)).sum())
    n_kept = min(max(n_above, MIN_KEPT), MAX_KEPT)
    return np.sort(np.argsort(-scores, kind="stable")[:n_kept])


def best_split_scores(
    values: NDArray[np.float32], target: Target, weight: NDArray[np.float32]
) -> Floats:
    """Return the largest decrease of impurity by one split, for each column; 0 for a constant."""
    share = weight.astype(np.float64) / weight.sum()
    outputs = target_outputs(target)
    total = share @ outputs
    scores = np.zeros(values.shape[1])
    for start in range(0, values.shape[1], _BLOCK):
        block = values[:, start : start + _BLOCK]
        order = np.argsort(block, axis=0, kind="stable")
        ordered = np.take_along_axis(block, order, axis=0)
        sorted_share = share[order]
        left_mass = np.cumsum(sorted_share, axis=0)[:-1]
        purity = np.zeros(left_mass.shape)
        for number, output in enumerate(outputs.T):
            left = np.cumsum(output[order] * sorted_share, axis=0)[:-1]
            with np.errstate(divide="ignore", invalid="ignore"):
                purity += left**2 / left_mass + (total[number] - left) ** 2 / (1.0 - left_mass)
        # Equal values cannot be separated. NaN differs from NaN, so missing values are compared.
        both_missing = np.isnan(ordered[1:]) & np.isnan(ordered[:-1])
        purity[(ordered[1:] == ordered[:-1]) | both_missing | ~np.isfinite(purity)] = 0.0
        scores[start : start + _BLOCK] = purity.max(axis=0, initial=0.0)
    found: Floats = np.maximum(scores - (total**2).sum(), 0.0)
    return found


def target_outputs(target: Target) -> Floats:
    """Return what a split should separate (n_rows, n_outputs): 0 or 1 for each class, or numbers.

    The impurity of a part is a constant minus the squared means of its outputs: Gini's for classes,
    the variance for numbers.
    """
    if target.dtype == np.int32:
        return np.asarray(np.eye(int(target.max()) + 1)[target])
    numbers = target.astype(np.float64)[:, None]
    return np.asarray(numbers - numbers.mean())
