"""Counts of correct and wrong predictions: accuracy by class, and calibration.

Tallies of parts of a table add up to the tally of the whole table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_BINS = 10
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts over some rows.

    Attributes
    ----------
    confusion
        (n_classes, n_classes): rows by true class and predicted class.
    rows, right, confidence
        (N_BINS,): for the rows whose predicted probability is in the bin: their number, the number
        of correct predictions, and the sum of the probabilities.
    log_losses, squares
        The sum over the rows of -log(probability of the true class), and of the squared differences
        between probabilities and the true class (1) or other classes (0).
    """

    confusion: NDArray[np.int64]
    rows: NDArray[np.int64]
    right: NDArray[np.int64]
    confidence: NDArray[np.float64]
    log_losses: float
    squares: float

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.confusion + other.confusion,
            self.rows + other.rows,
            self.right + other.right,
            self.confidence + other.confidence,
            self.log_losses + other.log_losses,
            self.squares + other.squares,
        )

    # -- by class -----------------------------------------------------------------------------

    @property
    def support(self) -> NDArray[np.int64]:
        """Number of rows of each class."""
        return np.asarray(self.confusion.sum(axis=1))

    @property
    def recall(self) -> NDArray[np.float64]:
        """Fraction of each class's rows that are predicted as the class; NaN if it has no rows."""
        return _ratio(self.confusion.diagonal(), self.support)

    @property
    def precision(self) -> NDArray[np.float64]:
        """Fraction of each class's predictions that are correct; NaN if it is never predicted."""
        return _ratio(self.confusion.diagonal(), self.confusion.sum(axis=0))

    @property
    def f1(self) -> NDArray[np.float64]:
        """The harmonic mean of precision and recall."""
        return _ratio(2 * self.confusion.diagonal(), self.support + self.confusion.sum(axis=0))

    @property
    def accuracy(self) -> float:
        """Fraction of rows that are predicted correctly."""
        return float(self.confusion.trace() / self.confusion.sum())

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows."""
        return balanced_accuracy(self.confusion)

    # -- calibration --------------------------------------------------------------------------

    @property
    def calibration_error(self) -> float:
        """Mean difference between probabilities and frequencies, weighted by rows."""
        return float(np.abs(self.right - self.confidence).sum() / self.rows.sum())

    @property
    def log_loss(self) -> float:
        """Mean of -log(probability of the true class); 0 is perfect."""
        return float(self.log_losses / self.rows.sum())

    @property
    def brier_score(self) -> float:
        """Mean squared error of the probabilities, 0 to 1; 0 is perfect.

        It is half of the sum over the classes, so that two classes give the usual score.
        """
        return float(self.squares / (2 * self.rows.sum()))

    def reliability(self) -> list[dict[str, Any]]:
        """List the bins that have rows: mean probability and accuracy of each."""
        return [
            {
                "from": bin / N_BINS,
                "to": (bin + 1) / N_BINS,
                "rows": int(self.rows[bin]),
                "mean_probability": float(self.confidence[bin] / self.rows[bin]),
                "accuracy": float(self.right[bin] / self.rows[bin]),
            }
            for bin in np.flatnonzero(self.rows).tolist()
        ]


def tally(
    target: NDArray[np.int64], predicted: NDArray[np.int64], proba: NDArray[np.float64]
) -> Tally:
    """Count rows by the indices of their true and predicted classes, and by probability.

    >>> proba = np.array([[1, 0], [0, 1], [0.6, 0.4]])
    >>> once = tally(np.array([0, 1, 1]), np.array([0, 1, 0]), proba)
    >>> (once + once).confusion.tolist(), once.balanced_accuracy
    ([[2, 0], [2, 2]], 0.75)
    """
    n_classes = proba.shape[1]
    confidence = proba[np.arange(len(predicted)), predicted]
    own = proba[np.arange(len(target)), target]
    bins = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    return Tally(
        confusion=count_pairs(target, predicted, (n_classes, n_classes)),
        rows=np.bincount(bins, minlength=N_BINS),
        right=np.bincount(bins[target == predicted], minlength=N_BINS),
        confidence=np.bincount(bins, weights=confidence, minlength=N_BINS).astype(np.float64),
        # A probability of 0 counts as the smallest positive number, so that sums stay finite.
        log_losses=float(-np.log(np.maximum(own, _TINY)).sum()),
        squares=float((proba**2).sum() + (1 - 2 * own).sum()),
    )


def balanced_accuracy(confusion: NDArray[np.int64]) -> float:
    """Return the mean recall of the classes that have rows.

    >>> balanced_accuracy(np.array([[3, 1, 0], [1, 1, 0], [0, 0, 0]]))
    0.625
    """
    support = confusion.sum(axis=1)
    there = support > 0
    return float(np.mean(confusion.diagonal()[there] / support[there]))


def count_pairs(
    one: NDArray[np.integer[Any]], other: NDArray[Any], shape: tuple[int, int]
) -> NDArray[np.int64]:
    """Count the rows by two numbers, such as the true and the predicted class.

    >>> count_pairs(np.array([0, 1, 1]), np.array([2, 0, 0]), (2, 3)).tolist()
    [[0, 0, 1], [2, 0, 0]]
    """
    return np.bincount(one * shape[1] + other, minlength=shape[0] * shape[1]).reshape(shape)


def _ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[np.float64]:
    """Divide; NaN where the denominator is 0."""
    ratio = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return ratio
