"""Leads and classes of rows -> weights of classes by lead, for more than two classes.

The weight of a class is `scale * logistic(slope * lead + offset)`. Probabilities are weights
divided by their sum. A larger offset makes leads over 0 count less, as in a softmax of votes. With
one scale for all classes the class with the most votes is the most probable one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.decisions.curve import logistic

Floats = NDArray[np.float64]

_PULL = 4.0
"""Rows that hold the scale of a class at its expected value."""


@dataclass(frozen=True)
class Shares:
    """The weight of each class by its lead."""

    slope: float
    offset: float
    log_scales: tuple[float, ...]

    def __call__(self, leads: Floats, number: int) -> Floats:
        """Return the weight of a class at each lead; at most 1."""
        top = max(self.log_scales)
        scale = np.exp(self.log_scales[number] - top)
        found: Floats = scale * logistic(self.slope * leads + self.offset)
        return found

    def pair(self, leads: Floats) -> Floats:
        """Return the weights of two classes, one so far ahead and the other so far behind."""
        ahead = self.slope * np.abs(leads)
        found: Floats = logistic(ahead + self.offset) + logistic(-ahead + self.offset)
        return found

    def probabilities(self, leads: Floats) -> Floats:
        """Return the probabilities (n, n_classes) of leads (n, n_classes)."""
        return np.exp(_log_shares(leads, self.slope, self.offset, np.array(self.log_scales)))


def fit_shares(
    leads: Floats, target: NDArray[np.int64], weight: Floats, expected: Floats | None
) -> Shares:
    """Fit the weights of classes by leads (n, n_classes) of rows; `weight` (n,) counts rows.

    `expected` are the logarithms of the scales, which are fitted too; None gives all classes the
    same scale.
    """
    from scipy.optimize import minimize  # slow to load

    n_classes = leads.shape[1]
    unit = max(float(np.sqrt(np.mean(leads**2))), 1e-9)
    total = float(weight.sum())
    # A row may always be of another class, so that no probability becomes 0.
    doubt = n_classes / (total + n_classes)
    wanted = np.full(leads.shape, doubt / n_classes)
    wanted[np.arange(len(target)), target] += 1 - doubt
    start = np.zeros(n_classes) if expected is None else expected - expected.mean()

    def loss(point: Floats) -> float:
        scales = start + (0 if expected is None else point[2:])
        shares = _log_shares(leads, np.exp(point[0]) / unit, point[1], scales)
        found = float(-(weight @ (wanted * shares).sum(axis=1)) / total)
        return found + _PULL / total * float((point[2:] ** 2).sum())

    first = np.concatenate([[0.5, 0.0], np.zeros(0 if expected is None else n_classes)])
    bounds = [(-12.0, 6.0), (-30.0, 30.0), *[(-20.0, 20.0)] * (len(first) - 2)]
    point = minimize(loss, first, method="L-BFGS-B", bounds=bounds).x
    scales = start + (0 if expected is None else point[2:])
    return Shares(float(np.exp(point[0]) / unit), float(point[1]), tuple(scales.tolist()))


def _log_shares(leads: Floats, slope: float, offset: float, scales: Floats) -> Floats:
    weights = scales - np.logaddexp(0.0, -(slope * leads + offset))
    most = weights.max(axis=1, keepdims=True)
    found: Floats = weights - most - np.log(np.exp(weights - most).sum(axis=1, keepdims=True))
    return found
