"""Coefficients of given rules that minimise the loss of a number, shrunk towards 0.

Squared errors have one solution. The other losses are minimised by repeated weighted least squares:
Newton steps for the log link, and a quadratic bound for absolute errors and quantiles.
"""

from __future__ import annotations

import numpy as np

from dln.train.number_loss import Floats, NumberLoss

_SMOOTH = 0.05
"""Absolute errors below this count as this in the weights of the bound."""

_MOST_ROUNDS = 50
"""Maximum number of guesses which coefficients are at a bound. A few are usually enough."""

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
    bounds: tuple[Floats, Floats] | None = None,
    before: Floats | float = 0.0,
) -> Floats:
    """Improve the coefficients (n_rules,) of rules that fire (n_rows, n_rules) 0.0 or 1.0.

    The first rule is constant; its coefficient is not shrunk. Weights sum to 1, targets are
    standardised. `bounds` are the smallest and the largest value of each coefficient; `start` is
    within them, and so is the result. `before` (n_rows,) are scores that rows have beforehand.
    """
    penalty = np.full(len(start), ridge)
    penalty[0] = 0.0
    found = start
    for _ in range(1 if loss.name == "squared" else n_steps):
        pull, hold = derivatives(loss, fires @ found + before, target)
        curve = (fires * (weight * hold)[:, None]).T @ fires
        curve[np.diag_indices_from(curve)] += penalty + 1e-9
        downhill = fires.T @ (weight * pull) - penalty * found
        if bounds is None:
            step = np.linalg.solve(curve, downhill)
        else:
            step = solve_bounded(curve, downhill, bounds[0] - found, bounds[1] - found)
        largest = float(np.abs(step).max())
        if loss.link == "log":
            step *= min(1.0, _MOST_STEP / max(largest, 1e-12))
        found = found + step
        if largest < 1e-4:
            break
    return np.asarray(found if bounds is None else np.clip(found, *bounds))


def solve_bounded(curve: Floats, downhill: Floats, low: Floats, high: Floats) -> Floats:
    """Return the step in a box that minimises step @ curve @ step / 2 - downhill @ step.

    An active set method: the coefficients at a bound are guessed, the others are solved for, and
    those on the wrong side change places, until none does.
    """
    at_low, at_high = np.zeros(len(downhill), dtype=bool), np.zeros(len(downhill), dtype=bool)
    step = np.zeros(len(downhill))
    for _ in range(_MOST_ROUNDS):
        fixed = at_low | at_high
        free = np.flatnonzero(~fixed)
        step = np.where(at_low, low, np.where(at_high, high, 0.0))
        rest = downhill[free] - curve[np.ix_(free, np.flatnonzero(fixed))] @ step[fixed]
        step[free] = np.linalg.solve(curve[np.ix_(free, free)], rest)
        pull = downhill - curve @ step
        low_next = np.where(fixed, at_low & (pull <= 0), step < low)
        high_next = np.where(fixed, at_high & (pull >= 0), step > high)
        if np.array_equal(low_next, at_low) and np.array_equal(high_next, at_high):
            break
        at_low, at_high = low_next, high_next
    return np.clip(step, low, high)


def derivatives(loss: NumberLoss, scores: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return the downhill gradient of each row, and a curvature with which steps are safe."""
    if loss.name not in ("absolute", "quantile"):
        return loss.pulls(scores, target), np.maximum(loss.curvature(scores, target), 1e-3)
    # The quantile loss is |rest| / 2 + (level - 1/2) rest, and |rest| has a quadratic bound that
    # touches it. "absolute" is twice that with the level one half, so its steps are the same.
    rest = target - scores
    hold = 0.5 / np.maximum(np.abs(rest), _SMOOTH)
    return (loss.level - 0.5) + hold * rest, hold
