"""Successive halving: all candidates on few folds, the best third of them on three times as many.

Candidates that are left out early keep the scores of their folds. To compare them with the others,
a score counts relative to the mean of the finalists on the same fold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

KEPT = 3
"""One of this number of candidates is kept after each round; at most this number in the last."""

Floats = NDArray[np.float64]


class Round(NamedTuple):
    """A round of a comparison: the number of candidates, and their folds."""

    n_candidates: int
    folds: range


def plan_rounds(n_candidates: int, n_fits: int) -> tuple[Round, ...]:
    """Plan a comparison in which the last candidates are trained on `n_fits` folds.

    >>> [(n, len(folds)) for n, folds in plan_rounds(20, 15)]
    [(20, 2), (7, 3), (3, 10)]
    """
    counts = [n_candidates]
    while counts[-1] > KEPT and len(counts) < n_fits:
        counts.append(-(-counts[-1] // KEPT))
    last = len(counts) - 1
    ends = [max(place + 1, -(-n_fits // KEPT ** (last - place))) for place in range(len(counts))]
    starts = [0, *ends[:-1]]
    return tuple(
        Round(count, range(start, end))
        for count, start, end in zip(counts, starts, ends, strict=True)
    )


def estimate(scores: Floats) -> Floats:
    """Estimate the mean score of each candidate over all folds.

    `scores` is (candidates, folds), NaN where a candidate was not trained. At least one candidate
    has all folds.
    """
    finalists = ~np.isnan(scores).any(axis=1)
    by_fold = scores[finalists].mean(axis=0)
    found: Floats = by_fold.mean() + np.nanmean(scores - by_fold, axis=1)
    return found


def smooth(estimates: Floats) -> Floats:
    """Average neighbouring temperatures, the columns of (sizes, temperatures).

    Their scores are similar, so this removes noise without hiding real differences.
    """
    padded = np.pad(estimates, ((0, 0), (1, 1)), mode="edge")
    averaged: Floats = (padded[:, :-2] + 2 * estimates + padded[:, 2:]) / 4
    return averaged


def best_candidates(scores: Floats, n_temperatures: int, n_best: int) -> list[int]:
    """Return the best of those candidates that have scores for all folds so far, in their order."""
    ranking = smooth(estimate(scores).reshape(-1, n_temperatures)).ravel()
    ranking[np.isnan(scores).any(axis=1)] = -np.inf
    return sorted(np.argsort(-ranking, kind="stable")[:n_best].tolist())
