"""What a fit learns from: a table, the class of each row, and weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dln.core.labels import Label
from dln.data.table import Table


@dataclass(frozen=True)
class Problem:
    """A table to learn from: class numbers (n,) and weights (n,) beside it.

    `shares` are the class frequencies of the rows, before class weights; None: those of `target`.
    `groups` (n,) are numbers of rows that belong together; folds do not separate them.
    `top` (n,) is set if rows have class probabilities. Then each row is there once for each class,
    weighted by its probability, and `top` says where that is the most probable class.
    """

    table: Table
    target: NDArray[np.int32]
    weight: NDArray[np.float32]
    classes: tuple[Label, ...]
    shares: tuple[float, ...] | None = None
    groups: NDArray[np.int64] | None = None
    top: NDArray[np.bool_] | None = None

    def take(self, rows: NDArray[np.int64]) -> Problem:
        """Select some rows."""
        return replace(
            self,
            table=self.table.take(rows),
            target=self.target[rows],
            weight=self.weight[rows],
            groups=None if self.groups is None else self.groups[rows],
            top=None if self.top is None else self.top[rows],
        )

    def class_shares(self) -> NDArray[np.float64]:
        """Return the class frequencies of the rows, before class weights."""
        if self.shares is not None:
            return np.array(self.shares)
        counts = np.bincount(self.target, minlength=len(self.classes))
        return np.asarray(counts / counts.sum())

    def heaviest_class(self) -> float:
        """Return the largest class weight relative to the mean row weight."""
        rows = np.bincount(self.target[self.weight > 0])
        weights = np.bincount(self.target, self.weight)
        mean = weights.sum() / max(1, rows.sum())
        known = rows > 0
        return float((weights[: len(rows)][known] / rows[known] / mean).max(initial=1.0))

    def kept(self) -> Problem:
        """Return a copy whose columns are read once, for code that uses them often."""
        return replace(self, table=self.table.kept())

    def counting(self) -> Problem:
        """Return the problem without the rows of weight 0."""
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))
