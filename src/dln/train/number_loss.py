"""The losses of a number: how far a prediction is from the target, and how trees reduce it.

Scores are on the scale of the link: a prediction is the score, or exp(score). Each loss is stated
once, with its link and the targets that it accepts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.core.score import Link
from dln.train.leaves import MIN_LEAF_ROWS, PENALTY, bounded_newton_steps
from dln.train.levels import bound_steps
from dln.train.losses import LOSSES, Loss, quantile

Floats = NDArray[np.float64]
LossName = OneOf["squared", "absolute", "quantile", "poisson", "gamma"]

_MOST_SCORE = 30.0
"""Scores of the log link are clipped here, so that exponentials stay finite."""


@dataclass(frozen=True)
class NumberLoss:
    """A loss of scores.

    Attributes
    ----------
    name
        "squared", "absolute", "quantile", "poisson" or "gamma".
    level
        The level of the quantile; one half for "absolute".
    """

    name: LossName
    level: float = 0.5

    @property
    def training(self) -> Loss:
        """The same loss for the engines that train networks."""
        return quantile(self.level) if self.name == "quantile" else LOSSES[self.name]

    @property
    def link(self) -> Link:
        """What turns a score into a prediction."""
        return self.training.link

    @property
    def least_rows(self) -> int:
        """Minimum number of rows in a leaf: enough to estimate the quantile."""
        tail = min(self.level, 1.0 - self.level)
        return max(MIN_LEAF_ROWS, int(np.ceil(1.0 / tail))) if self._is_quantile else MIN_LEAF_ROWS

    @property
    def _is_quantile(self) -> bool:
        return self.name in ("absolute", "quantile")

    def mean(self, scores: Floats, target: Floats, weight: NDArray[np.float32]) -> float:
        """Return the weighted mean of the loss of rows."""
        return float(np.average(self.each(scores, target), weights=weight))

    def each(self, scores: Floats, target: Floats) -> Floats:
        """Return the loss of each row."""
        error = target - scores
        match self.name:
            case "squared":
                return np.asarray(0.5 * error**2)
            case "absolute":
                return np.abs(error)
            case "quantile":
                return np.maximum(self.level * error, (self.level - 1.0) * error)
            case "poisson":
                return np.asarray(_exp(scores) - target * scores)
            case "gamma":
                return np.asarray(target * _exp(-scores) + scores)
            case _:
                assert_never(self.name)

    def deviance(self, scores: Floats, target: Floats, weight: NDArray[np.float32]) -> float:
        """Return the mean loss beyond that of perfect scores, so 0 is the best."""
        perfect: Floats = target
        if self.link == "log":
            with np.errstate(divide="ignore"):
                perfect = np.maximum(np.log(target), -_MOST_SCORE)
        return self.mean(scores, target, weight) - self.mean(perfect, target, weight)

    def explained(self, scores: Floats, target: Floats, weight: NDArray[np.float32]) -> float:
        """Return the share of the loss of the best constant that is removed: R² or D²."""
        constant = np.full(len(target), self.constant(target, weight))
        start = self.deviance(constant, target, weight)
        return 1.0 - self.deviance(scores, target, weight) / start if start > 0 else 0.0

    @property
    def measure(self) -> str:
        """What `explained` is called."""
        return "R²" if self.name == "squared" else "D²"

    def pulls(self, scores: Floats, target: Floats) -> Floats:
        """Return the downhill gradient of each row."""
        match self.name:
            case "squared":
                return target - scores
            case "absolute" | "quantile":
                return np.where(target > scores, self.level, self.level - 1.0)
            case "poisson":
                return np.asarray(target - _exp(scores))
            case "gamma":
                return np.asarray(target * _exp(-scores) - 1.0)
            case _:
                assert_never(self.name)

    def curvature(self, scores: Floats, target: Floats) -> Floats:
        """Return a second derivative of each row, large enough that a step does not overshoot."""
        match self.name:
            case "squared" | "absolute" | "quantile":
                return np.ones(len(target))
            case "poisson":
                return _exp(scores)
            case "gamma":
                # With the expected curvature, 1, a large target would overshoot; with its own, a
                # small one.
                return np.maximum(target * _exp(-scores), 1.0)
            case _:
                assert_never(self.name)

    def constant(
        self, target: Floats, weight: NDArray[np.float32], before: Floats | float = 0.0
    ) -> float:
        """Return the best score to add to all rows, which have scores (n,) before."""
        match self.name:
            case "absolute" | "quantile":
                return weighted_quantile(target - before, weight, self.level)
            case "squared":
                return float(np.average(target - before, weights=weight))
            case "poisson":
                predicted = np.broadcast_to(_exp(np.asarray(before)), target.shape)
                wanted, had = (np.average(each, weights=weight) for each in (target, predicted))
                return float(np.log(wanted / had))
            case "gamma":
                ratio = target * _exp(-np.asarray(before))
                return float(np.log(np.average(ratio, weights=weight)))
            case _:
                assert_never(self.name)


@dataclass(frozen=True)
class NumberBoosting:
    """The loss of some rows as trees need it, see `Boosting`; points are (n_rows, 1)."""

    loss: NumberLoss
    target: Floats

    def take(self, rows: NDArray[np.int64]) -> NumberBoosting:
        """Return the loss of some of the rows."""
        return NumberBoosting(self.loss, self.target[rows])

    def holds(self, points: Floats) -> Floats:
        """Return the curvature."""
        return self.loss.curvature(points[:, 0], self.target)

    def pulls(self, points: Floats) -> Floats:
        """Return the downhill gradient."""
        return self.loss.pulls(points[:, 0], self.target)

    def steps(
        self, points: Floats, leaf: NDArray[np.int64], n_nodes: int, weights: Floats
    ) -> Floats:
        """Return a Newton step; for a quantile, the quantile of the rest of each leaf."""
        scores = points[:, 0]
        if self.loss.name in ("absolute", "quantile"):
            rest = self.target - scores
            return _quantiles(rest, leaf, n_nodes, weights, self.loss.level)[:, None]
        pull = np.bincount(leaf, weights * self.loss.pulls(scores, self.target), n_nodes)
        hold = np.bincount(leaf, weights * self.loss.curvature(scores, self.target), n_nodes)
        return np.asarray(pull / (hold + PENALTY))[:, None]

    def monotone_steps(
        self,
        points: Floats,
        leaf: NDArray[np.int64],
        structure: Any,
        weights: Floats,
        signs: NDArray[np.int8],
        output: int,
    ) -> Floats:
        """Return steps that have a direction in some features; the only output is 0."""
        assert output == 0
        scores = points[:, 0]
        if self.loss.name in ("absolute", "quantile"):
            steps = _node_quantiles(self.target - scores, leaf, structure, weights, self.loss.level)
            return bound_steps(structure, signs, steps)[:, None]
        pull = weights * self.loss.pulls(scores, self.target)
        hold = weights * self.loss.curvature(scores, self.target)
        return bounded_newton_steps(structure, signs, leaf, pull, hold)[:, None]


def weighted_quantile(values: Floats, weight: NDArray[np.floating], level: float) -> float:
    """Return the least value with at least a fraction `level` of the weight at or below it.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.ones(3), 0.5)
    2.0
    """
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order], dtype=np.float64)
    # Rounding of the sum must not move the place by one row.
    place = int(np.searchsorted(mass, level * mass[-1] * (1.0 - 1e-12)))
    return float(values[order[min(place, len(order) - 1)]])


def _quantiles(
    values: Floats, leaf: NDArray[np.int64], n_nodes: int, weights: Floats, level: float
) -> Floats:
    """Return the quantile of the rows of each leaf."""
    found = np.zeros(n_nodes)
    order = np.argsort(leaf, kind="stable")
    nodes, starts = np.unique(leaf[order], return_index=True)
    for node, rows in zip(nodes.tolist(), np.split(order, starts[1:]), strict=True):
        found[node] = weighted_quantile(values[rows], weights[rows], level)
    return found


def _node_quantiles(
    values: Floats, leaf: NDArray[np.int64], structure: Any, weights: Floats, level: float
) -> Floats:
    """Return the quantile of the rows below each node of a tree, not only of its leaves."""
    found = _quantiles(values, leaf, structure.node_count, weights, level)
    left, right = structure.children_left.tolist(), structure.children_right.tolist()
    rows: dict[int, NDArray[np.intp]] = {}
    for node in range(len(left) - 1, -1, -1):  # children come after their parent
        if left[node] < 0:
            rows[node] = np.flatnonzero(leaf == node)
            continue
        rows[node] = own = np.concatenate([rows.pop(left[node]), rows.pop(right[node])])
        found[node] = weighted_quantile(values[own], weights[own], level)
    return found


def _exp(scores: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(scores, -_MOST_SCORE, _MOST_SCORE)))
