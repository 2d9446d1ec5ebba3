"""Test rows -> for each class against the rest: the ROC curve, its area, and the calibration.

The page needs no rows to move a threshold: counts of rows by probability are enough. They are kept
for every distinct probability if there are few, and otherwise for groups of neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.evaluate.scores import count_pairs
from dln.report.intervals import Estimate, area

N_BINS = 10
_MOST_LEVELS, _LEAST_LEVELS, _ALL_LEVELS = 200, 20, 6_000


@dataclass(frozen=True, eq=False)
class Curve:
    """One class against all others.

    Attributes
    ----------
    levels
        (n_levels,): probabilities of the class, ascending. A threshold at a level predicts the
        class for this level and all above.
    negative, positive
        (n_levels,): how many rows at each level are of another class, and of the class.
    auc
        The area under the ROC curve, from all rows; None if the class has no rows or all rows.
    bin_rows, bin_positive
        (N_BINS,): rows with a probability in each tenth, and how many of them are of the class.
    bin_mean
        (N_BINS,): their mean probability; 0 where there are none.
    """

    levels: NDArray[np.float64]
    negative: NDArray[np.int64]
    positive: NDArray[np.int64]
    auc: Estimate | None
    bin_rows: NDArray[np.int64]
    bin_positive: NDArray[np.int64]
    bin_mean: NDArray[np.float64]

    @property
    def calibration_error(self) -> float:
        """The mean distance between probability and frequency in the bins, weighted by rows."""
        gaps = np.abs(self.bin_rows * self.bin_mean - self.bin_positive)
        return float(gaps.sum() / self.bin_rows.sum())

    def to_json(self) -> dict[str, Any]:
        """Return plain values for the page."""
        auc = self.auc
        return {
            "levels": [float(f"{level:.6g}") for level in self.levels.tolist()],
            "negative": self.negative.tolist(),
            "positive": self.positive.tolist(),
            "auc": auc and [auc.value, auc.low, auc.high],
            "bins": [
                [int(rows), float(f"{mean:.6g}"), int(positive)]
                for rows, mean, positive in zip(
                    self.bin_rows, self.bin_mean, self.bin_positive, strict=True
                )
            ],
            "calibrationError": self.calibration_error,
        }


def make_curves(proba: NDArray[np.float64], target: NDArray[np.int64]) -> list[Curve]:
    """Make the curve of every class.

    Parameters
    ----------
    proba
        (n_rows, n_classes).
    target
        The class number of each row.
    """
    n_classes = proba.shape[1]
    most = max(_LEAST_LEVELS, min(_MOST_LEVELS, _ALL_LEVELS // n_classes))
    return [_curve(proba[:, number], target == number, most) for number in range(n_classes)]


def mean_auc(curves: list[Curve]) -> Estimate | None:
    """Return the AUC of two classes, or the mean over classes of one against the rest.

    The interval of a mean depends on the correlations between the classes, which are not known. The
    widest interval is returned, which assumes full correlation.
    """
    found = [curve.auc for curve in curves if curve.auc is not None]
    if not found:
        return None
    if len(curves) == 2:
        return curves[1].auc
    mean = [math.fsum(part) / len(found) for part in zip(*map(_parts, found), strict=True)]
    return Estimate(*mean)


def _parts(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


def _curve(scores: NDArray[np.float64], is_class: NDArray[np.bool_], most: int) -> Curve:
    # The softmax of the same vote differences may differ in its last bits.
    exact = np.round(scores, 12)
    levels, place = np.unique(exact, return_inverse=True)
    negative, positive = count_pairs(place, is_class, (len(levels), 2)).T
    auc = _area_under(positive, negative)
    if len(levels) > most:
        levels, positive, negative = _merge(levels, positive, negative, most)
    bins = np.minimum((exact * N_BINS).astype(np.int64), N_BINS - 1)
    rows = np.bincount(bins, minlength=N_BINS)
    sums = np.bincount(bins, weights=scores, minlength=N_BINS)
    return Curve(
        levels,
        negative,
        positive,
        auc,
        rows,
        np.bincount(bins[is_class], minlength=N_BINS),
        np.divide(sums, rows, out=np.zeros(N_BINS), where=rows > 0),
    )


def _area_under(positive: NDArray[np.int64], negative: NDArray[np.int64]) -> Estimate | None:
    """Count the pairs that are ranked correctly; ties count half."""
    n_positive, n_negative = int(positive.sum()), int(negative.sum())
    if not n_positive or not n_negative:
        return None
    below = np.cumsum(negative) - negative
    pairs = float((positive * (below + negative / 2)).sum())
    return area(pairs / (n_positive * n_negative), n_positive, n_negative)


def _merge(
    levels: NDArray[np.float64],
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
    most: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Group neighbouring levels so that all groups have about the same share of the rows.

    Both kinds of rows have the same total weight. The level of a group is its lowest probability,
    so that the counts are exact at that threshold.
    """
    weight = positive / max(positive.sum(), 1) + negative / max(negative.sum(), 1)
    share = (np.cumsum(weight) - weight) / weight.sum()
    group = np.floor(share * most).astype(np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return levels[starts], np.add.reduceat(positive, starts), np.add.reduceat(negative, starts)
