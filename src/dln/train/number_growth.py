"""Grow trees for a target of numbers; cross-validation chooses their size and number.

The trees of each fold start from scores that were not fitted on the fold's rows, so their loss on
these rows is honest. A few more trees than needed make the circuit larger for nothing. So the
smallest number is taken whose loss is nearly the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dln.train.number_loss import Floats, NumberBoosting, NumberLoss
from dln.train.trees import FeatureLimits, Growth, Tree, TreeOptions, grow_trees

NUMBERS = (0, 10, 25, 50, 100, 150, 200, 300, 400, 500, 600)
"""Numbers of trees to choose from."""

ENOUGH = 0.001
"""This share of the fall of the loss may be given up for fewer trees."""

_PATIENCE = 2
"""Growth ends if this many further numbers of trees do not reduce the loss."""


@dataclass(frozen=True)
class GrownNumber:
    """Trees that add to a score.

    Attributes
    ----------
    held_out : (n,)
        Scores of the whole model on rows that it was not fitted on.
    loss
        Mean loss of these scores.
    """

    trees: tuple[Tree, ...]
    held_out: Floats
    loss: float


@dataclass(frozen=True)
class FoldScores:
    """The fold of each row (n,), and scores to start from that were not fitted on a row's fold.

    Attributes
    ----------
    honest : (n,)
        The score of each row by a model without its fold.
    without : (n_folds, n)
        For each fold, the scores of all rows by models without this fold (and, for other rows,
        without their own fold).
    """

    fold: NDArray[np.int64]
    honest: Floats
    without: Floats


def grow_number(
    growths: Sequence[Growth],
    loss: NumberLoss,
    matrix: NDArray[np.float32],
    target: Floats,
    weight: NDArray[np.float32],
    starts: FoldScores,
    limits: FeatureLimits | None = None,
    *,
    rng: np.random.Generator,
    n_threads: int = 1,
    on_progress: Callable[[float], None] | None = None,
) -> GrownNumber:
    """Grow trees with the size and number of the lowest loss on rows left out, within limits.

    There are no trees if they do not help.
    """
    seed = int(rng.integers(2**63))
    best: tuple[float, int, Growth, Floats] | None = None
    with ThreadPoolExecutor(n_threads) as pool:
        for place, growth in enumerate(growths):
            growth = replace(growth, tree=replace(growth.tree, least_rows=loss.least_rows))
            folds = [
                _Fold(number, growth.tree, loss, matrix, target, weight, starts, limits, seed)
                for number in range(int(starts.fold.max()) + 1)
            ]
            numbers = [number for number in NUMBERS if number <= growth.n_trees]
            losses: list[float] = []
            held: list[Floats] = []
            for step, number in enumerate(numbers):
                grown = list(pool.map(lambda own, n=number: own.grow_to(n), folds))
                scores = starts.honest.copy()
                for own, found in zip(folds, grown, strict=True):
                    scores[own.rows] = found
                held.append(scores)
                losses.append(loss.mean(scores, target, weight))
                if on_progress is not None:
                    on_progress((place + (step + 1) / len(numbers)) / (len(growths) + 1))
                if step - int(np.argmin(losses)) >= _PATIENCE:
                    break
            chosen = _smallest(losses)
            if best is None or losses[chosen] < best[0]:
                best = losses[chosen], numbers[chosen], growth, held[chosen]
    assert best is not None
    lowest, number, growth, scores = best
    rng = np.random.default_rng(seed)
    boosting = NumberBoosting(loss, target)
    trees = grow_trees(matrix, boosting, weight, starts.honest[:, None], growth.tree, rng, limits)
    return GrownNumber(tuple(islice(trees, number)), scores, lowest)


def _smallest(losses: Sequence[float]) -> int:
    """Return the place of the first loss that is nearly the lowest."""
    lowest = min(losses)
    enough = lowest + ENOUGH * (losses[0] - lowest)
    return next(place for place, loss in enumerate(losses) if loss <= enough)


class _Fold:
    """The trees of one fold, grown as far as asked."""

    def __init__(
        self,
        number: int,
        options: TreeOptions,
        loss: NumberLoss,
        matrix: NDArray[np.float32],
        target: Floats,
        weight: NDArray[np.float32],
        starts: FoldScores,
        limits: FeatureLimits | None,
        seed: int,
    ) -> None:
        others = starts.fold != number
        self.rows = np.flatnonzero(~others)
        self._matrix = np.ascontiguousarray(matrix[self.rows])
        self._scores = starts.honest[self.rows].copy()
        self._n_trees = 0
        self._trees: Iterator[Tree] = grow_trees(
            matrix[others],
            NumberBoosting(loss, target[others]),
            weight[others],
            starts.without[number][others][:, None],
            options,
            np.random.default_rng(seed),
            limits,
        )

    def grow_to(self, n_trees: int) -> Floats:
        """Return the scores of the fold's rows after a number of trees."""
        for tree in islice(self._trees, n_trees - self._n_trees):
            self._scores += tree.give(self._matrix)[:, 0]
        self._n_trees = n_trees
        return self._scores.copy()
