"""Leads and classes of rows -> a smooth, ascending curve of probabilities, for two classes.

The curve is a logistic one (Platt's method), blended with isotonic regression where
cross-validation says that this predicts better, which needs many rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)
_FEWEST_ROWS = 1_000
"""From this number of rows, isotonic regression is tried."""
_N_FOLDS = 5
_LEAST_GAIN = 2e-4
"""The log loss that a blend must gain for each row, relative to the logistic curve alone."""


@dataclass(frozen=True)
class Curve:
    """A probability at every lead: logistic(slope * lead + offset), blended with steps.

    `steps` are leads and the isotonic probabilities there; between them it is linear.
    """

    slope: float
    offset: float
    blend: float = 0.0
    steps: tuple[tuple[float, ...], tuple[float, ...]] = ((0.0,), (0.5,))

    def __call__(self, leads: Floats) -> Floats:
        """Return the probability at each lead."""
        smooth = logistic(self.slope * leads + self.offset)
        if not self.blend:
            return smooth
        found: Floats = (1 - self.blend) * smooth + self.blend * np.interp(leads, *self.steps)
        return found


def fit_curve(leads: Floats, own: NDArray[np.bool_], weight: Floats) -> Curve:
    """Fit the probability that a row is of the class, by its lead; weights count rows."""
    plain = _fit_logistic(leads, own, weight)
    if np.count_nonzero(weight) < _FEWEST_ROWS:
        return plain
    folds = np.argsort(np.argsort(leads, kind="stable"), kind="stable") % _N_FOLDS
    losses = np.zeros(len(_BLENDS))
    for fold in range(_N_FOLDS):
        fit, check = folds != fold, folds == fold
        smooth = _fit_logistic(leads[fit], own[fit], weight[fit])(leads[check])
        steps = np.interp(leads[check], *_isotonic(leads[fit], own[fit], weight[fit]))
        for place, blend in enumerate(_BLENDS):
            p = (1 - blend) * smooth + blend * steps
            losses[place] -= weight[check] @ np.log(np.where(own[check], p, 1 - p))
    best = int(np.argmin(losses))
    if losses[0] - losses[best] < _LEAST_GAIN * weight.sum():
        return plain
    x, y = _isotonic(leads, own, weight)
    return Curve(plain.slope, plain.offset, _BLENDS[best], (tuple(x), tuple(y)))


def logistic(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), without overflow."""
    found: Floats = np.exp(-np.logaddexp(0.0, -x))
    return found


def _fit_logistic(leads: Floats, own: NDArray[np.bool_], weight: Floats) -> Curve:
    """Fit slope and offset by Newton's method; targets are slightly inside 0 and 1, as Platt's."""
    mass = np.array([weight[~own].sum(), weight[own].sum()])
    target = np.where(own, (mass[1] + 1) / (mass[1] + 2), 1 / (mass[0] + 2))
    scale = float(np.sqrt(weight @ leads**2 / weight.sum())) or 1.0
    x = np.stack([leads / scale, np.ones(len(leads))], axis=1)
    point = np.array([1.0, np.log((mass[1] + 1) / (mass[0] + 1))])
    loss = _loss(x @ point, target, weight)
    for _ in range(50):
        p = logistic(x @ point)
        gradient = x.T @ (weight * (p - target))
        curvature = (x * (weight * p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-6 and _loss(x @ (point - size * step), target, weight) > loss:
            size /= 2
        before, point = loss, point - size * step
        loss = _loss(x @ point, target, weight)
        if before - loss < 1e-9 * weight.sum():
            break
    if point[0] <= 0:  # leads say nothing: the frequency of the class everywhere
        return Curve(1e-6 / scale, float(np.log((mass[1] + 1) / (mass[0] + 1))))
    return Curve(float(point[0] / scale), float(point[1]))


def _loss(logits: Floats, target: Floats, weight: Floats) -> float:
    return float(weight @ (np.logaddexp(0.0, logits) - target * logits))


def _isotonic(leads: Floats, own: NDArray[np.bool_], weight: Floats) -> tuple[Floats, Floats]:
    """Return leads, ascending, and isotonic probabilities, kept inside 0 and 1 by their rows."""
    from sklearn.isotonic import isotonic_regression  # slow to load

    x, places = np.unique(leads, return_inverse=True)
    rows = np.bincount(places, weight)
    hits = np.bincount(places, weight * own)
    x, rows, hits = x[rows > 0], rows[rows > 0], hits[rows > 0]
    steps = isotonic_regression(hits / rows, sample_weight=rows)
    _, places = np.unique(steps, return_inverse=True)
    mass = np.bincount(places, rows)
    hits = np.bincount(places, steps * rows)
    # The rate of succession: a block of rows that are all of the class is not certain.
    inside: Floats = np.maximum.accumulate((hits + 0.5) / (mass + 1.0))
    return x, inside[places]
