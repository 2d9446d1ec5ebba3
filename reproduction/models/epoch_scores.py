"""The paper's score of each trial at its best epoch, and when to stop a trial."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduction.protocol import score_trials


class EpochScores:
    """The best score of each trial so far, and how long ago it last improved.

    `patience` counts evaluations on the validation rows, not epochs.
    """

    def __init__(self, n_trials: int, *, patience: int) -> None:
        self.best = np.full(n_trials, -np.inf)
        self._stale = np.zeros(n_trials, dtype=np.intp)
        self._patience = patience

    def add(self, trials: NDArray[np.intp], accuracies: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Add one evaluation of some trials (trials, folds); return which ones should go on.

        >>> scores = EpochScores(2, patience=1)
        >>> scores.add(np.array([0, 1]), np.array([[0.5, 0.7], [0.5, 0.5]])).tolist()
        [True, True]
        >>> scores.add(np.array([0, 1]), np.array([[0.5, 0.7], [0.6, 0.6]])).tolist()
        [False, True]
        >>> scores.best.round(2).tolist()
        [0.59, 0.6]
        """
        score = score_trials(accuracies)
        better = score > self.best[trials]
        self.best[trials] = np.maximum(score, self.best[trials])
        self._stale[trials] = np.where(better, 0, self._stale[trials] + 1)
        going_on: NDArray[np.bool_] = self._stale[trials] < self._patience
        return going_on
