"""Coefficients of given rules that minimise the loss of a number, shrunk towards 0.

Squared errors have one solution. The other losses are minimised by repeated weighted least squares:
Newton steps for the log link, and a quadratic bound for absolute errors and quantiles.
"""

from __future__ import annotations

import numpy as np

from dln.train.number_loss import Floats, NumberLoss

_SMOOTH = 0.05
"""Absolute errors below this count as this in the weights of the bound."""

_MOST_STEP = 2.0
"""Maximum change of a coefficient in one step with the log link."""


def fit_coefficients(
    loss: NumberLoss,
    fires: Floats,
    target: Floats,
    weight: Floats,
    ridge: float,
    start: Floats,
    n_steps: int,
) -> Floats:
    """Improve the coefficients (n_rules,) of rules that fire (n_rows, n_rules) 0.0 or 1.0.

    The first rule is constant; its coefficient is not shrunk. Weights sum to 1, targets are
    standardised.
    """
    penalty = np.full(len(start), ridge)
    penalty[0] = 0.0
    found = start
    for _ in range(1 if loss.name == "squared" else n_steps):
        pull, hold = derivatives(loss, fires @ found, target)
        curve = (fires * (weight * hold)[:, None]).T @ fires
        curve[np.diag_indices_from(curve)] += penalty + 1e-9
        step = np.linalg.solve(curve, fires.T @ (weight * pull) - penalty * found)
        largest = float(np.abs(step).max())
        if loss.link == "log":
            step *= min(1.0, _MOST_STEP / max(largest, 1e-12))
        found = found + step
        if largest < 1e-4:
            break
    return np.asarray(found)


def derivatives(loss: NumberLoss, scores: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return the downhill gradient of each row, and a curvature with which steps are safe."""
    if loss.name not in ("absolute", "quantile"):
        return loss.pulls(scores, target), np.maximum(loss.curvature(scores, target), 1e-3)
    # The quantile loss is |rest| / 2 + (level - 1/2) rest, and |rest| has a quadratic bound that
    # touches it. "absolute" is twice that with the level one half, so its steps are the same.
    rest = target - scores
    hold = 0.5 / np.maximum(np.abs(rest), _SMOOTH)
    return (loss.level - 0.5) + hold * rest, hold
