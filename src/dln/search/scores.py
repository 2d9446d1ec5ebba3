"""The score of a trial from the evaluations on its folds, and its standard error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import percent
from dln.search.tasks import Outcome

ACCURACY = "balanced accuracy"
"""Name of the score of classes."""


def score_text(score: float, measure: str) -> str:
    """Write a score for people.

    >>> score_text(0.912, "balanced accuracy"), score_text(0.912, "R²")
    ('91.2 %', 'R² 0.912')
    """
    return percent(score) if measure == ACCURACY else f"{measure} {score:.3f}"


def fold_scores(outcomes: Sequence[Outcome], penalty: float) -> NDArray[np.float64]:
    """Return the accuracy on each fold at the epoch where mean − penalty · deviation is largest.

    A fold that stopped earlier than the others keeps its last accuracy.
    """
    longest = max(len(outcome.accuracies) for outcome in outcomes)
    accuracies = np.array(
        [
            outcome.accuracies + outcome.accuracies[-1:] * (longest - len(outcome.accuracies))
            for outcome in outcomes
        ]
    )
    score = penalised_mean(accuracies, penalty, axis=0)
    # The latest of tied epochs wins: it was trained longer.
    best = longest - 1 - int(score[::-1].argmax())
    return accuracies[:, best]


def penalised_mean(
    accuracies: NDArray[np.float64], penalty: float, *, axis: int
) -> NDArray[np.float64]:
    """Return mean − penalty · deviation over the folds, which lie along `axis`."""
    score: NDArray[np.float64] = accuracies.mean(axis=axis) - penalty * accuracies.std(axis=axis)
    return score


def standard_error(scores: NDArray[np.float64]) -> float:
    """Return the standard error of the mean; 0 for a single fold, which does not show it."""
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
