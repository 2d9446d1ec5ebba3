"""Boosted trees of tests on encoded columns, grown from given points.

Each tree is fitted to the gradient of the loss at the points so far. A leaf gives points to all
classes: a Newton step, times the rate. For each split, one cutoff is drawn at random for each
column, and the best of them is taken (extremely randomised trees). Sums of such trees are smoother
and more accurate than those of trees with exact splits.

Promise: a tree's tests are literals, so that each leaf becomes a rule of a circuit. A tree within
limits reads only columns that may meet. If columns have a direction, the points of a tree are
monotone in them, and its rules are the levels of these points (`dln.train.levels`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.tree import ExtraTreeRegressor

from dln.core.limits import Limits
from dln.core.literals import LiteralKind
from dln.encode.bits import EncodedLiteral, LiteralSet, evaluate_literals
from dln.train.levels import LeadTree, Level, bounded_steps, levels

Floats = NDArray[np.float64]

MIN_LEAF_ROWS = 5
"""Minimum number of rows in a leaf."""

MAX_FEATURES = 500
"""Number of features that compete for a split; more are sampled."""

_PENALTY = 1.0
"""Rows of mean weight that are added to a leaf without changing its gradient."""


@dataclass(frozen=True)
class TreeOptions:
    """The size of each tree, and the part of a Newton step that it takes."""

    n_leaves: int
    rate: float


@dataclass(frozen=True)
class Growth:
    """What may be grown: the maximum number of trees, and their options."""

    n_trees: int
    tree: TreeOptions


class Leaf(NamedTuple):
    """A leaf of a tree as a rule: the literals on the way to it, true or false, and its votes."""

    path: tuple[tuple[EncodedLiteral, bool], ...]
    votes: tuple[int, ...]

    @property
    def tests(self) -> Iterator[EncodedLiteral]:
        """The literals of the rule."""
        return (test for test, _ in self.path)


@dataclass(frozen=True)
class Features:
    """What trees split on.

    Attributes
    ----------
    matrix : (n_rows, n_features)
        Scaled columns with missing values at the lower end, where `>` is false; and the bits of
        literals that are not thresholds.
    literals : (n_features,)
        The literal of each feature. The cutoff of a scaled column is not used: splits choose it.
    """

    matrix: NDArray[np.float32]
    literals: LiteralSet

    def split_literal(self, feature: int, threshold: float) -> EncodedLiteral:
        """Return the literal of a split; it is true on the right-hand side."""
        kind = LiteralKind(self.literals.kind[feature])
        value = self.literals.value[feature]
        if kind == LiteralKind.ABOVE:
            # Columns are in single precision: the largest such number that is not above.
            value = np.float32(threshold)
            if value > threshold:
                value = np.nextafter(value, np.float32(-np.inf))
        return EncodedLiteral(kind, int(self.literals.column[feature]), float(value))


def make_features(literals: LiteralSet, cells: NDArray[np.float32]) -> Features:
    """Make features from encoded rows and the literals that training starts from."""
    above = literals.kind == LiteralKind.ABOVE
    columns, first = np.unique(literals.column[above], return_index=True)
    own = LiteralSet.join([literals.take(np.flatnonzero(above)[first]), literals.take(~above)])
    matrix = np.empty((len(cells), len(own)), dtype=np.float32)
    matrix[:, : len(columns)] = np.nan_to_num(cells[:, columns], nan=0.0)
    for feature in range(len(columns), len(own)):
        kind = LiteralKind(own.kind[feature])
        matrix[:, feature] = evaluate_literals(
            kind, cells[:, own.column[feature]], own.value[feature]
        )
    return Features(matrix, own)


@dataclass(frozen=True)
class Tree:
    """A fitted tree and the points of its nodes, (n_nodes, n_classes); only leaves give points.

    Attributes
    ----------
    features : (n,)
        The features that the tree could split on, by number.
    signs : (n,)
        The direction, 1 or -1, of the points in each of them, or 0; None if no column has one.
    output
        The class whose points are monotone. With more than two classes only it gets points.
    """

    structure: Any
    points: Floats
    features: NDArray[np.intp]
    signs: NDArray[np.int8] | None = None
    output: int = 1

    def give(self, matrix: NDArray[np.float32]) -> Floats:
        """Return the points of rows, (n_rows, n_classes)."""
        given: Floats = self.points[self.structure.apply(take_features(matrix, self.features))]
        return given

    def rules(self, features: Features, unit: float) -> Iterator[Leaf | Level]:
        """Yield the rules of the tree, with votes that stand for `unit` points each."""
        if self.signs is None:
            yield from self._leaves(features, unit)
            return
        lead = np.rint(self.points[:, self.output] / unit).astype(int)
        if self.points.shape[1] == 2:
            lead -= np.rint(self.points[:, 1 - self.output] / unit).astype(int)
        left, right = self.structure.children_left.tolist(), self.structure.children_right.tolist()
        tests = [self._test(features, at) if low >= 0 else None for at, low in enumerate(left)]
        signs = self.signs[np.maximum(self.structure.feature, 0)].tolist()  # leaves have none
        tree = LeadTree(tests, signs, left, right, lead.tolist())
        yield from levels(tree, self.output, self.points.shape[1])

    def _test(self, features: Features, node: int) -> EncodedLiteral:
        """Return the literal of a split."""
        feature = int(self.features[self.structure.feature[node]])
        return features.split_literal(feature, float(self.structure.threshold[node]))

    def _leaves(self, features: Features, unit: float) -> Iterator[Leaf]:
        """Yield the leaves as rules.

        All rows reach exactly one leaf, so the least votes of a leaf's classes can be 0.
        """
        left, right = self.structure.children_left, self.structure.children_right
        stack: list[tuple[int, tuple[tuple[EncodedLiteral, bool], ...]]] = [(0, ())]
        while stack:
            node, path = stack.pop()
            if left[node] < 0:
                votes = np.rint(self.points[node] / unit).astype(int)
                yield Leaf(path, tuple((votes - votes.min()).tolist()))
                continue
            test = self._test(features, node)
            stack.append((int(right[node]), (*path, (test, True))))
            stack.append((int(left[node]), (*path, (test, False))))


def take_features(matrix: NDArray[np.float32], features: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return some columns of a matrix; the matrix itself if these are all of them."""
    return matrix if len(features) == matrix.shape[1] else np.ascontiguousarray(matrix[:, features])


def grow_trees(
    features: Features,
    rows: NDArray[np.bool_] | slice,
    target: NDArray[np.int32],
    weight: NDArray[np.float32],
    start: Floats,
    options: TreeOptions,
    rng: np.random.Generator,
    limits: Limits | None = None,
) -> Iterator[Tree]:
    """Grow trees without end, each on the points that `start` and the trees before it give.

    `target`, `weight` and `start` are those of the `rows` of the features.
    """
    matrix = features.matrix[rows]
    n_classes = start.shape[1]
    weights = weight.astype(np.float64) / weight.mean()
    is_class = np.eye(n_classes)[target]
    points = start.copy()
    every = np.arange(matrix.shape[1])
    for turn in count():
        probabilities = softmax(points)
        gradient = is_class - probabilities
        curvature = probabilities * (1.0 - probabilities)
        output = 1 if n_classes == 2 else turn % n_classes
        chosen, signs = every, None
        if limits is not None:
            chosen, signs = _choose_features(features.literals, limits, output, rng)
            if len(chosen) == 0:  # the class may read none of the columns that were drawn
                continue
        own = take_features(matrix, chosen)
        tree = ExtraTreeRegressor(
            max_leaf_nodes=options.n_leaves,
            min_samples_leaf=MIN_LEAF_ROWS,
            max_features=min(MAX_FEATURES, own.shape[1]),
            random_state=int(rng.integers(2**31)),
            monotonic_cst=signs,
        )
        # Two classes have opposite gradients, so one of them is enough.
        single = n_classes == 2 or signs is not None
        goal = gradient[:, output] if single else gradient
        with config_context(skip_parameter_validation=True):
            tree.fit(own, goal, sample_weight=weights, check_input=False)
        structure = tree.tree_
        leaf = structure.apply(own)
        steps = np.zeros((structure.node_count, n_classes))
        for number in range(n_classes) if signs is None else (output,):
            pull = _sums(leaf, weights * gradient[:, number], structure.node_count)
            hold = _sums(leaf, weights * curvature[:, number], structure.node_count)
            if signs is None:
                steps[:, number] = pull / (hold + _PENALTY)
            else:
                steps[:, number] = bounded_steps(structure, signs, pull, hold, _PENALTY)
        if signs is not None and n_classes == 2:
            steps[:, 1 - output] = -steps[:, output]
        given = steps * (options.rate * (n_classes - 1) / n_classes)
        grown = Tree(structure, given, chosen, signs, output)
        points += grown.points[leaf]
        yield grown


def _sums(leaf: NDArray[np.intp], values: Floats, n_nodes: int) -> Floats:
    """Add up the values of the rows of each leaf."""
    return np.asarray(np.bincount(leaf, values, n_nodes), dtype=np.float64)


def _choose_features(
    literals: LiteralSet, limits: Limits, output: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.int8] | None]:
    """Draw the features of a tree, and their directions; None if none of them has one."""
    usable = np.unique(literals.column).tolist()
    columns = np.zeros(limits.signs.shape[1], dtype=bool)
    columns[sorted(limits.draw_columns(usable, rng) if limits.limits_columns else usable)] = True
    above = literals.kind == LiteralKind.ABOVE
    allowed = columns[literals.column] & ~(above & limits.barred[output, literals.column])
    chosen = np.flatnonzero(allowed)
    signs = np.where(above[chosen], limits.signs[output, literals.column[chosen]], 0)
    return chosen, signs.astype(np.int8) if signs.any() else None


def softmax(points: Floats) -> Floats:
    """Return the softmax of each row."""
    shifted = np.exp(points - points.max(axis=1, keepdims=True))
    probabilities: Floats = shifted / shifted.sum(axis=1, keepdims=True)
    return probabilities
