"""Counts of correct predictions -> figures with 95 % confidence intervals.

Test rows are treated as a random sample of the rows that the model will see.

- A proportion has Wilson's score interval. The page computes it too (`page/statistics.js`), because
  its counts change with the threshold; a test compares the two.
- The mean over classes combines the intervals of the classes: distances to the limits are added as
  independent errors, in squares (Zou and Donner, 2008).
- The area under the ROC curve has Newcombe's score interval (2006, part 2, method 5), which also
  works at 0 % and 100 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dln._util.messages import percent
from dln.evaluate.scores import Tally

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_BISECTIONS = 60


@dataclass(frozen=True)
class Estimate:
    """A figure between 0 and 1 with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return percent(self.value)

    @property
    def range(self) -> str:
        """The interval as text."""
        return f"{100 * self.low:.1f} to {percent(self.high)}"


def proportion(hits: int, total: int) -> Estimate | None:
    """Estimate a proportion with Wilson's interval; None if there are no rows.

    >>> proportion(9, 10).range
    '59.6 to 98.2 %'
    """
    if not total:
        return None
    share, weight = hits / total, Z * Z / total
    centre = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / total + weight / (4 * total)) / (1 + weight)
    # Rounding must not put a limit beyond the figure itself at 0 % and 100 %.
    low = 0.0 if hits == 0 else max(centre - half, 0.0)
    high = 1.0 if hits == total else min(centre + half, 1.0)
    return Estimate(share, low, high)


def accuracy(tally: Tally) -> Estimate:
    """Estimate the accuracy."""
    found = proportion(int(tally.confusion.trace()), int(tally.confusion.sum()))
    assert found is not None
    return found


def balanced_accuracy(tally: Tally) -> Estimate:
    """Estimate the mean sensitivity of the classes that have rows."""
    recalls = [recall for _, recall in by_class(tally) if recall is not None]
    value = tally.balanced_accuracy
    below = math.hypot(*(recall.value - recall.low for recall in recalls)) / len(recalls)
    above = math.hypot(*(recall.high - recall.value for recall in recalls)) / len(recalls)
    return Estimate(value, max(value - below, 0.0), min(value + above, 1.0))


def by_class(tally: Tally) -> list[tuple[Estimate | None, Estimate | None]]:
    """Estimate precision and recall of each class; None where it has no rows."""
    right = tally.confusion.diagonal().tolist()
    predicted, support = tally.confusion.sum(axis=0).tolist(), tally.support.tolist()
    return [
        (proportion(hits, n_predicted), proportion(hits, n_rows))
        for hits, n_predicted, n_rows in zip(right, predicted, support, strict=True)
    ]


def area(auc: float, n_positive: int, n_negative: int) -> Estimate:
    """Add the interval to an area under the ROC curve.

    >>> area(1.0, 20, 20).range
    '89.9 to 100.0 %'
    """
    size = (n_positive + n_negative) / 2

    def outside(truth: float) -> bool:
        """Return whether the observed area would be unlikely if this were the true one."""
        spread = (1 - truth) / (2 - truth) + truth / (1 + truth)
        variance = truth * (1 - truth) * (1 + (size - 1) * spread) / (n_positive * n_negative)
        return (truth - auc) ** 2 > Z * Z * variance

    return Estimate(auc, _limit(outside, 0.0, auc), _limit(outside, 1.0, auc))


def _limit(outside: Callable[[float], bool], end: float, inside: float) -> float:
    """Find a limit of the interval by bisection between an end of the scale and a point inside."""
    if not outside(end):
        return end
    far, near = end, inside
    for _ in range(_BISECTIONS):
        middle = (far + near) / 2
        far, near = (middle, near) if outside(middle) else (far, middle)
    return near
