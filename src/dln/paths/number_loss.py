"""The loss of a path of circuits that predict a number, and the coefficients that minimise it.

Squared errors have one solution. The other losses are minimised by repeated weighted least squares:
Newton steps for the log link, and a quadratic bound for absolute errors and quantiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dln.paths.loss import Floats, Slopes
from dln.train.number_loss import NumberLoss

_RIDGE = 1.0
"""Shrinks coefficients towards 0, as a number of effective rows."""
_NOISE = 0.15
"""Share of the loss of a constant that chance is assumed to cause."""
_SMOOTH = 0.05
"""Absolute errors below this count as this in the weights of the bound."""
_MOST_STEP = 2.0
"""Maximum change of a coefficient in one step with the log link."""


@dataclass(frozen=True)
class NumberPathLoss:
    """The loss of standardised targets; weights (n_rows,) sum to 1. See `PathLoss`."""

    loss: NumberLoss
    target: Floats
    weight: Floats

    @cached_property
    def n_effective(self) -> float:
        """Number of equally weighted rows that say as much."""
        return float(1.0 / (self.weight**2).sum())

    @cached_property
    def ridge(self) -> float:
        """How much coefficients are shrunk towards 0."""
        return _RIDGE / self.n_effective

    @cached_property
    def price(self) -> float:
        """What the loss may change by if one effective row is fitted by chance."""
        return _NOISE / self.n_effective

    @property
    def n_outputs(self) -> int:
        """Numbers for each rule: one coefficient."""
        return 1

    def total(self, scores: Floats, votes: Floats) -> float:
        """Return the loss of scores (n_rows, 1), and of the size of all coefficients but one."""
        shrink = 0.5 * self.ridge * float((votes[1:] ** 2).sum())
        return float(self.weight @ self.loss.each(scores[:, 0], self.target)) + shrink

    def slopes(self, scores: Floats) -> Slopes:
        """Return the derivatives of the loss, downhill."""
        pull, hold = self._derivatives(scores[:, 0])
        first = (self.weight * pull)[:, None].astype(np.float32)
        return Slopes(first, (self.weight * hold).astype(np.float32))

    def fit(self, fires: Floats, votes: Floats, n_steps: int) -> Floats:
        """Improve coefficients (n_rules, 1) of rules that fire (n_rows, n_rules) 0.0 or 1.0."""
        ridge = np.full(len(votes), self.ridge)
        ridge[0] = 0.0
        found = votes[:, 0]
        for _ in range(1 if self.loss.name == "squared" else 2 * n_steps):
            pull, hold = self._derivatives(fires @ found)
            curve = (fires * (self.weight * hold)[:, None]).T @ fires
            curve[np.diag_indices_from(curve)] += ridge + 1e-9
            step = np.linalg.solve(curve, fires.T @ (self.weight * pull) - ridge * found)
            largest = np.abs(step).max()
            if self.loss.link == "log":
                step *= min(1.0, _MOST_STEP / max(largest, 1e-12))
            found = found + step
            if largest < 1e-4:
                break
        return np.asarray(found[:, None])

    def _derivatives(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the downhill gradient of each row, and a curvature."""
        if self.loss.name not in ("absolute", "quantile"):
            curve = self.loss.curvature(scores, self.target)
            return self.loss.pulls(scores, self.target), np.maximum(curve, 1e-3)
        # The pinball loss is |rest| / 2 + (level - 1/2) rest, and |rest| has a quadratic bound that
        # touches it. For "absolute", which is twice that with the level one half, steps are equal.
        rest = self.target - scores
        hold = 0.5 / np.maximum(np.abs(rest), _SMOOTH)
        return (self.loss.level - 0.5) + hold * rest, hold
