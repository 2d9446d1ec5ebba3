"""The loss of a path of circuits that predict a number, and the coefficients that minimise it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dln.paths.loss import Bounds, Floats, Slopes
from dln.train.number_loss import NumberLoss
from dln.train.refit import derivatives, fit_coefficients

_RIDGE = 1.0
"""Shrinks coefficients towards 0, as a number of effective rows."""
_NOISE = 0.15
"""Share of the loss of a constant that chance is assumed to cause."""


@dataclass(frozen=True)
class NumberPathLoss:
    """The loss of standardised targets; weights (n_rows,) sum to 1. See `PathLoss`.

    `start` (n_rows,) is added to all scores: what given rules say.
    """

    loss: NumberLoss
    target: Floats
    weight: Floats
    start: Floats | float = 0.0

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
        return float(self.weight @ self.loss.each(scores[:, 0] + self.start, self.target)) + shrink

    def slopes(self, scores: Floats) -> Slopes:
        """Return the derivatives of the loss, downhill."""
        pull, hold = derivatives(self.loss, scores[:, 0] + self.start, self.target)
        first = (self.weight * pull)[:, None].astype(np.float32)
        return Slopes(first, (self.weight * hold).astype(np.float32))

    def fit(
        self, fires: Floats, votes: Floats, n_steps: int, bounds: Bounds | None = None
    ) -> Floats:
        """Improve coefficients (n_rules, 1) of rules that fire (n_rows, n_rules) 0.0 or 1.0."""
        found = fit_coefficients(
            self.loss,
            fires,
            self.target,
            self.weight,
            self.ridge,
            votes[:, 0],
            2 * n_steps,
            None if bounds is None else (bounds.low[:, 0], bounds.high[:, 0]),
            self.start,
        )
        return found[:, None]
