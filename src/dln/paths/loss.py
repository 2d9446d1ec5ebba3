"""The loss that a path minimises, and the votes that minimise it for given rules.

The loss of classes is the weighted cross-entropy of the softmax of votes. Two classes need one
number for each rule, the lead of the second class; more classes need one for each class. The loss
of a number is in `number_loss`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_RIDGE = 3.0
"""Shrinks votes towards 0, as a number of effective rows."""
_MOST_STEP = 3.0
"""Maximum change of a vote in one Newton step."""


class Bounds(NamedTuple):
    """The least and the largest vote (n_rules, n_outputs) of each rule; infinite if free."""

    low: Floats
    high: Floats

    def clip(self, votes: Floats) -> Floats:
        """Move votes into the bounds."""
        inside: Floats = np.clip(votes, self.low, self.high)
        return inside


class Slopes(NamedTuple):
    """First derivatives (n_rows, n_outputs) and second derivatives (n_rows,) of the loss."""

    first: NDArray[np.float32]
    second: NDArray[np.float32]


class PathLoss(Protocol):
    """What a search needs of a loss. The first rule is constant and gives the base votes."""

    @property
    def weight(self) -> Floats:
        """Weights (n_rows,) that sum to 1."""

    @property
    def n_effective(self) -> float:
        """Number of equally weighted rows that say as much."""

    @property
    def ridge(self) -> float:
        """How much votes are shrunk towards 0."""

    @property
    def price(self) -> float:
        """What the loss may change by if one effective row is fitted by chance."""

    @property
    def n_outputs(self) -> int:
        """Numbers for each rule."""

    def total(self, scores: Floats, votes: Floats) -> float:
        """Return the loss of scores (n_rows, n_outputs), and of the size of votes but the first."""

    def slopes(self, scores: Floats) -> Slopes:
        """Return the derivatives of the loss, downhill."""

    def fit(
        self, fires: Floats, votes: Floats, n_steps: int, bounds: Bounds | None = None
    ) -> Floats:
        """Improve votes (n_rules, n_outputs) of rules that fire (n_rows, n_rules) 0.0 or 1.0.

        The first rule is constant. Votes stay in the bounds, if there are any.
        """


@dataclass(frozen=True)
class ClassLoss:
    """Cross-entropy of classes; weights (n_rows,) sum to 1.

    `start` (n_rows, n_outputs) is added to all scores: what given rules say.
    """

    target: NDArray[np.int32]
    weight: Floats
    n_classes: int
    start: Floats | float = 0.0

    @cached_property
    def n_effective(self) -> float:
        """Number of equally weighted rows that say as much: few if a rare class weighs much."""
        return float(1.0 / (self.weight**2).sum())

    @cached_property
    def ridge(self) -> float:
        """How much votes are shrunk towards 0."""
        return _RIDGE / self.n_effective

    @property
    def price(self) -> float:
        """What the loss may change by if one effective row is fitted by chance."""
        return 1.0 / self.n_effective

    @property
    def n_outputs(self) -> int:
        """Numbers for each rule: 1 for two classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    def total(self, scores: Floats, votes: Floats) -> float:
        """Return the loss of scores (n_rows, n_outputs), and of the size of votes but the first."""
        shrink = 0.5 * self.ridge * float((votes[1:] ** 2).sum())
        scores = scores + self.start
        if self.n_classes == 2:
            lead = scores[:, 0]
            # The same as logaddexp(0, lead), but four times faster.
            each = np.log1p(np.exp(-np.abs(lead))) + np.maximum(lead, 0.0) - self.target * lead
        else:
            by_class = np.ascontiguousarray(scores.T)
            highest = by_class.max(axis=0)
            spread = np.exp(by_class - highest).sum(axis=0)
            each = np.log(spread) + highest - scores[np.arange(len(scores)), self.target]
        return float(self.weight @ each) + shrink

    def slopes(self, scores: Floats) -> Slopes:
        """Return the derivatives of the loss, downhill; the second ones are a mean over classes."""
        weight = self.weight[:, None]
        scores = scores + self.start
        if self.n_classes == 2:
            chance = 1.0 / (1.0 + np.exp(-scores))
            first = weight * (self.target[:, None] - chance)
            second = weight * chance * (1.0 - chance)
        else:
            chance = _softmax(scores)
            first = -weight * chance
            first[np.arange(len(first)), self.target] += self.weight
            second = weight * (chance * (1.0 - chance)).mean(axis=1, keepdims=True)
        return Slopes(first.astype(np.float32), second[:, 0].astype(np.float32))

    def fit(
        self, fires: Floats, votes: Floats, n_steps: int, bounds: Bounds | None = None
    ) -> Floats:
        """Improve votes (n_rules, n_outputs) of rules that fire (n_rows, n_rules) 0.0 or 1.0.

        The first rule is constant. Votes stay in the bounds, if there are any.
        """
        ridge = np.full(len(votes), self.ridge)
        ridge[0] = 1e-6
        if self.n_classes == 2:
            return self._newton(fires, votes[:, 0], ridge, n_steps, bounds)[:, None]
        return self._bounded_newton(fires, votes, ridge, 3 * n_steps, bounds)

    def _newton(
        self,
        fires: Floats,
        votes: Floats,
        ridge: Floats,
        n_steps: int,
        bounds: Bounds | None,
    ) -> Floats:
        start = np.broadcast_to(self.start, (len(fires), 1))[:, 0]
        for _ in range(n_steps):
            chance = 1.0 / (1.0 + np.exp(-(fires @ votes + start)))
            downhill = fires.T @ (self.weight * (self.target - chance)) - ridge * votes
            curve = (fires * (self.weight * chance * (1.0 - chance))[:, None]).T @ fires
            curve[np.diag_indices_from(curve)] += ridge + 1e-9
            if bounds is not None:
                # A vote at a bound that would cross it stays.
                down, up = downhill < 0, downhill > 0
                stays = (down & (votes <= bounds.low[:, 0])) | (up & (votes >= bounds.high[:, 0]))
                curve[stays], curve[:, stays] = 0.0, 0.0
                curve[stays, stays], downhill[stays] = 1.0, 0.0
            step = np.linalg.solve(curve, downhill)
            votes = votes + step * min(1.0, _MOST_STEP / max(np.abs(step).max(), 1e-12))
            if bounds is not None:
                votes = np.clip(votes, bounds.low[:, 0], bounds.high[:, 0])
            if np.abs(step).max() < 1e-3:
                break
        return votes

    def _bounded_newton(
        self,
        fires: Floats,
        votes: Floats,
        ridge: Floats,
        n_steps: int,
        bounds: Bounds | None,
    ) -> Floats:
        """Use one bound of the second derivatives for all classes, with Nesterov's momentum."""
        curve = 0.5 * (fires * self.weight[:, None]).T @ fires
        curve[np.diag_indices_from(curve)] += ridge + 1e-9
        inverse = np.linalg.inv(curve)
        ahead, pace = votes, 1.0
        for _ in range(n_steps):
            first = -_softmax(fires @ ahead + self.start) * self.weight[:, None]
            first[np.arange(len(first)), self.target] += self.weight
            better = ahead + inverse @ (fires.T @ first - ridge[:, None] * ahead)
            if bounds is not None:
                better = bounds.clip(better)
            faster = (1.0 + np.sqrt(1.0 + 4.0 * pace * pace)) / 2.0
            ahead = better + (pace - 1.0) / faster * (better - votes)
            votes, pace = better, faster
        return votes


def _softmax(scores: Floats) -> Floats:
    by_class = np.ascontiguousarray(scores.T)  # sums over the few classes are faster this way
    odds: Floats = np.exp(by_class - by_class.max(axis=0))
    odds /= odds.sum(axis=0)
    return odds.T
