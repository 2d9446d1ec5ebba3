"""Right and wrong predictions -> accuracies with the range in which the true ones lie.

Rows are taken as drawn at random from those that the circuit will meet. With Jeffreys' prior the
share of a class's rows that is predicted rightly is then Beta(right + 1/2, wrong + 1/2); ranges are
its quantiles. The range of the mean over classes is put together from theirs: the distances from
the figure to the ends are added as errors that know nothing of each other, squared. The mean of
draws from the Beta distributions would not do: the prior pulls every class towards 1/2 alike, and
over many classes that does not average out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from dln.scores import Tally

LEVEL = 0.95


@dataclass(frozen=True)
class Share:
    """A share of rows, with the range that holds the true one with 95 % probability."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.share:.1f} %"

    @property
    def range(self) -> str:
        """Write the range."""
        return f"{100 * self.low:.1f} to {100 * self.high:.1f} %"


def share_of(some: int, whole: int) -> Share | None:
    """Estimate a share; None where there are no rows.

    >>> share_of(9, 10).range
    '61.9 to 98.9 %'
    """
    if not whole:
        return None
    low, high = beta.ppf(_tails(), some + 0.5, whole - some + 0.5)
    return Share(some / whole, 0.0 if some == 0 else float(low), 1.0 if some == whole else high)


def accuracy(tally: Tally) -> Share:
    """Estimate the share of all rows that is predicted rightly."""
    found = share_of(int(tally.confusion.trace()), int(tally.confusion.sum()))
    assert found is not None
    return found


def balanced_accuracy(tally: Tally) -> Share:
    """Estimate the mean over classes of the share that is predicted rightly."""
    recalls = [recall for _, recall in by_class(tally) if recall is not None]
    share = tally.balanced_accuracy
    below = math.hypot(*(recall.share - recall.low for recall in recalls)) / len(recalls)
    above = math.hypot(*(recall.high - recall.share for recall in recalls)) / len(recalls)
    return Share(share, max(share - below, 0.0), min(share + above, 1.0))


def by_class(tally: Tally) -> list[tuple[Share | None, Share | None]]:
    """Estimate precision and recall of each class; None where there are no rows to tell."""
    right = tally.confusion.diagonal().tolist()
    predicted, support = tally.confusion.sum(axis=0).tolist(), tally.support.tolist()
    return [
        (share_of(hits, n_predicted), share_of(hits, n_rows))
        for hits, n_predicted, n_rows in zip(right, predicted, support, strict=True)
    ]


def _tails() -> NDArray[np.float64]:
    return np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
