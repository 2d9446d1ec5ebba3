"""What a fit learns from: a table, the class or the number of each row, and weights."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks
from dln.core.labels import Label
from dln.data.table import Table


class _Rows:
    """A frozen dataclass of a table and of arrays with one value for each of its rows."""

    table: Table
    weight: NDArray[np.float32]

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Select some rows."""
        return replace(self.only(rows), table=self.table.take(rows))  # type: ignore[type-var]

    def only(self, rows: NDArray[np.int64]) -> Self:
        """Select what the arrays say of some rows; the table stays as it is."""
        parts: dict[str, Any] = {}
        for own in fields(self):  # type: ignore[arg-type]
            value = getattr(self, own.name)
            if isinstance(value, np.ndarray):
                parts[own.name] = value[rows]
        return replace(self, **parts)  # type: ignore[type-var]

    def kept(self) -> Self:
        """Return a copy whose columns are read once, for code that uses them often."""
        return replace(self, table=self.table.kept())  # type: ignore[type-var]

    def counting(self) -> Self:
        """Return the problem without the rows of weight 0."""
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))


@dataclass(frozen=True)
class Problem(_Rows):
    """A table to learn from: class numbers (n,) and weights (n,) beside it.

    `shares` are the class frequencies of the rows, before class weights; None: those of `target`.
    `groups` (n,) are numbers of rows that belong together; folds do not separate them.
    `top` (n,) is set if rows have class probabilities. Then each row is there once for each class,
    weighted by its probability, and `top` says where that is the most probable class.
    `given` (n, n_classes) are points that rows have beforehand, from given rules, in log odds.
    """

    table: Table
    target: NDArray[np.int32]
    weight: NDArray[np.float32]
    classes: tuple[Label, ...]
    shares: tuple[float, ...] | None = None
    groups: NDArray[np.int64] | None = None
    top: NDArray[np.bool_] | None = None
    given: NDArray[np.float64] | None = None

    @property
    def outputs(self) -> tuple[Label | None, ...]:
        """What votes are for: the classes."""
        return self.classes

    def class_shares(self) -> NDArray[np.float64]:
        """Return the class frequencies of the rows, before class weights."""
        if self.shares is not None:
            return np.array(self.shares)
        counts = np.bincount(self.target, minlength=len(self.classes))
        return np.asarray(counts / counts.sum())

    def heaviest_class(self) -> float:
        """Return the largest class weight relative to the mean row weight."""
        rows, weights = np.zeros(len(self.classes)), np.zeros(len(self.classes))
        for part in row_blocks(len(self.target)):
            target, weight = self.target[part], self.weight[part]
            rows += np.bincount(target[weight > 0], minlength=len(rows))
            weights += np.bincount(target, weight, minlength=len(rows))
        mean = weights.sum() / max(1, rows.sum())
        known = rows > 0
        return float((weights[known] / rows[known] / mean).max(initial=1.0))


@dataclass(frozen=True)
class NumberProblem(_Rows):
    """A table to learn from: numbers (n,) and weights (n,) beside it.

    `groups` (n,) are numbers of rows that belong together; folds do not separate them. `name` is
    that of the target. `given` (n,) are scores that rows have beforehand, from given rules, on the
    scale of the link.
    """

    table: Table
    target: NDArray[np.float64]
    weight: NDArray[np.float32]
    groups: NDArray[np.int64] | None = None
    name: str = "prediction"
    given: NDArray[np.float64] | None = None

    @property
    def outputs(self) -> tuple[Label | None, ...]:
        """What points are for: the number, which has no label."""
        return (None,)


def split_target(problem: Problem | NumberProblem) -> NDArray[np.int32] | NDArray[np.float32]:
    """Return the target as cutoffs are placed for it: class numbers, or numbers around 0."""
    if isinstance(problem, Problem):
        return problem.target
    return np.asarray(problem.target - problem.target.mean(), dtype=np.float32)
