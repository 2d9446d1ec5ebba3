"""Take the noise out of the scores of trials: those of similar parameters are nearly alike.

A Gaussian process over the space tells what a score is worth beside its neighbours'. On eight small
tables the trial chosen by that did better than the one of the highest score, on folds that had no
part in the choice, by 0.2 points with a standard error of 0.13; the rule was chosen on these too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dln.search.space import Space, places
from dln.search.trial import Trial

ENOUGH = 8
"""Fewer trials than that say too little about each other."""

_LENGTH = 3.0
"""How far apart two trials may be to be alike, where the whole range of a parameter is 1."""

_NOISE = (0.03, 0.1, 0.3, 1.0)
"""Variances of the noise, as parts of that of the scores, of which the likeliest is taken.

With more of it, all estimates would be about the same.
"""


def smooth(trials: Sequence[Trial], space: Space) -> tuple[Trial, ...]:
    """Estimate what the trials that saw all folds are worth; gives all trials, in order.

    A trial whose training ran away says nothing about its neighbours.
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
    """Give the mean of a Gaussian process at the points (n, parameters) of its scores (n,)."""
    middle = scores.mean()
    differences = scores - middle
    alike = _alike(points)
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


def _alike(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Say how alike trials are, from 0 to 1 (n, n): Matérn's kernel of order 3/2."""
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    distances = np.sqrt(3.0 * squares) / _LENGTH
    kernel: NDArray[np.float64] = (1.0 + distances) * np.exp(-distances)
    return kernel
