"""Smooth the scores of trials: trials with similar parameters have similar scores.

A Gaussian process over the space estimates the score of a trial from its own and its neighbours'
scores. On eight small tables, on folds that were not used to choose, the trial chosen by this
estimate was better than the trial with the highest score by 0.2 points (standard error 0.13). The
method itself was chosen on the same tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dln.search.space import Space, places
from dln.search.trial import Trial

ENOUGH = 8
"""With fewer trials, scores are not smoothed."""

_LENGTH = 3.0
"""Length scale of the kernel, where the range of each parameter is 1."""

_NOISE = (0.03, 0.1, 0.3, 1.0)
"""Candidates for the variance of the noise, relative to the variance of the scores.

The most likely one is used. With larger values, all estimates would be about the same.
"""


def smooth(trials: Sequence[Trial], space: Space) -> tuple[Trial, ...]:
    """Add estimates to the trials that were trained on all folds; return all trials in order.

    Trials whose training diverged are not used for estimates.
    """
    whole = [trial for trial in trials if not trial.stopped and trial.score > 0]
    scores = np.array([trial.score for trial in whole])
    if len(whole) < ENOUGH or np.ptp(scores) == 0:
        return tuple(trials)
    points = np.array([places(space, trial.values) for trial in whole])
    estimates = dict(
        zip([trial.number for trial in whole], _estimate(points, scores).tolist(), strict=True)
    )
    return tuple(
        replace(trial, estimate=estimates.get(trial.number, trial.score)) for trial in trials
    )


def _estimate(points: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of a Gaussian process at the points (n, parameters) of its scores (n,)."""
    middle = scores.mean()
    differences = scores - middle
    alike = _similarity(points)
    likeliest, found = -np.inf, differences
    for noise in _NOISE:
        covariance = alike + noise * np.eye(len(scores))
        weights = np.linalg.solve(covariance, differences)
        variance = differences @ weights / len(scores)
        likelihood = -0.5 * (
            len(scores) * np.log(variance) + np.linalg.slogdet(covariance).logabsdet
        )
        if likelihood > likeliest:
            likeliest, found = likelihood, alike @ weights
    estimates: NDArray[np.float64] = middle + found
    return estimates


def _similarity(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the similarity of trials, from 0 to 1, (n, n): Matérn's kernel of order 3/2."""
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    distances = np.sqrt(3.0 * squares) / _LENGTH
    kernel: NDArray[np.float64] = (1.0 + distances) * np.exp(-distances)
    return kernel
