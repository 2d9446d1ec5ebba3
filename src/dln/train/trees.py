"""Boosted trees of tests on encoded columns, grown from given points.

Each tree is fitted to the gradient of the loss at the points so far. A leaf gives points to all
outputs, the classes or one number: a Newton step, times the rate. For each split, one cutoff is
drawn at random for each column, and the best of them is taken (extremely randomised trees). Sums of
such trees are smoother and more accurate than those of trees with exact splits.

Promise: a tree's tests are literals, so that each leaf becomes a rule of a circuit. A tree within
limits reads only columns that may occur together. If columns have a direction, the points of a tree
are monotone in them, and its rules are the levels of these points (`dln.train.levels`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.tree import ExtraTreeRegressor

from dln.core.limits import Limits
from dln.core.literals import LiteralKind
from dln.encode.bits import EncodedLiteral, LiteralSet, evaluate_literals
from dln.train.leaves import MIN_LEAF_ROWS, PENALTY, bounded_newton_steps
from dln.train.levels import LeadTree, Level, levels

Floats = NDArray[np.float64]

MAX_FEATURES = 500
"""Number of features that compete for a split; more are sampled."""


@dataclass(frozen=True)
class TreeOptions:
    """The size of each tree, and the part of a Newton step that it takes.

    `least_rows` is the minimum number of rows in a leaf. If there is a `unit`, the points of leaves
    are multiples of it.
    """

    n_leaves: int
    rate: float
    least_rows: int = MIN_LEAF_ROWS
    unit: float | None = None

    def in_units(self, unit: float) -> TreeOptions:
        """Return options for points that are multiples of a unit, with steps that reach it."""
        return replace(self, unit=unit, rate=max(self.rate, min(1.0, unit)))


@dataclass(frozen=True)
class Growth:
    """What may be grown: the maximum number of trees, and their options.

    If there are `rows_per_tree`, the table has many rows: see `dln.train.many_rows`.
    """

    n_trees: int
    tree: TreeOptions
    rows_per_tree: int | None = None


Path = tuple[tuple[EncodedLiteral, bool], ...]
"""The literals on the way to a leaf, true or false."""


class Leaf(NamedTuple):
    """A leaf of a tree as a rule: the literals on the way to it, and its votes."""

    path: Path
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


class Splits(Protocol):
    """What trees split on: features, each with its literals."""

    def split_literal(self, feature: int, threshold: float) -> EncodedLiteral:
        """Return the literal of a split; it is true on the right-hand side."""


def make_features(literals: LiteralSet, cells: NDArray[np.float32]) -> Features:
    """Make features from encoded rows and the literals that training starts from."""
    above = literals.kind == LiteralKind.ABOVE
    _, first = np.unique(literals.column[above], return_index=True)
    own = LiteralSet.join([literals.take(np.flatnonzero(above)[first]), literals.take(~above)])
    return Features(feature_matrix(own, cells), own)


def feature_matrix(literals: LiteralSet, cells: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute features, given by their literals, on encoded rows: (n_rows, n_features)."""
    n_columns = int(np.count_nonzero(literals.kind == LiteralKind.ABOVE))
    matrix = np.empty((len(cells), len(literals)), dtype=np.float32)
    matrix[:, :n_columns] = np.nan_to_num(cells[:, literals.column[:n_columns]], nan=0.0)
    for feature in range(n_columns, len(literals)):
        kind = LiteralKind(literals.kind[feature])
        matrix[:, feature] = evaluate_literals(
            kind, cells[:, literals.column[feature]], literals.value[feature]
        )
    return matrix


@dataclass(frozen=True)
class Tree:
    """A fitted tree and the points of its nodes, (n_nodes, n_outputs); only leaves give points.

    Attributes
    ----------
    features : (n,)
        The features that the tree could split on, by number; None: all.
    signs : (n,)
        The direction, 1 or -1, of the points in each of them, or 0; None if no column has one.
    output
        The class whose points are monotone. With more than two classes only it gets points.
    """

    structure: Any
    points: Floats
    features: NDArray[np.intp] | None = None
    signs: NDArray[np.int8] | None = None
    output: int = 1

    def give(self, matrix: NDArray[Any]) -> Floats:
        """Return the points of rows, (n_rows, n_outputs)."""
        given: Floats = self.points[self.structure.apply(take_features(matrix, self.features))]
        return given

    def rules(self, features: Splits, unit: float) -> Iterator[Leaf | Level]:
        """Yield the rules of the tree, with votes that stand for `unit` points each."""
        if self.signs is None:
            yield from self.leaves(features, unit)
            return
        lead = np.rint(self.points[:, self.output] / unit).astype(int)
        if self.points.shape[1] == 2:
            lead -= np.rint(self.points[:, 1 - self.output] / unit).astype(int)
        yield from self.levels(features, lead)

    def levels(self, features: Splits, leads: NDArray[np.int64]) -> Iterator[Level]:
        """Yield rules whose votes add up to the leads (n_nodes,), which must be monotone."""
        assert self.signs is not None
        left, right = self.structure.children_left.tolist(), self.structure.children_right.tolist()
        tests = [self._test(features, at) if low >= 0 else None for at, low in enumerate(left)]
        signs = self.signs[np.maximum(self.structure.feature, 0)].tolist()  # leaves have none
        tree = LeadTree(tests, signs, left, right, leads.tolist())
        yield from levels(tree, self.output, self.points.shape[1])

    def _test(self, features: Splits, node: int) -> EncodedLiteral:
        """Return the literal of a split."""
        feature = int(self.structure.feature[node])
        if self.features is not None:
            feature = int(self.features[feature])
        return features.split_literal(feature, float(self.structure.threshold[node]))

    def paths(self, features: Splits) -> Iterator[tuple[int, Path]]:
        """Yield the node of each leaf and the literals on the way to it."""
        left, right = self.structure.children_left, self.structure.children_right
        stack: list[tuple[int, Path]] = [(0, ())]
        while stack:
            node, path = stack.pop()
            if left[node] < 0:
                yield node, path
                continue
            test = self._test(features, node)
            stack.append((int(right[node]), (*path, (test, True))))
            stack.append((int(left[node]), (*path, (test, False))))

    def leaves(self, features: Splits, unit: float) -> Iterator[Leaf]:
        """Yield the leaves as rules, with votes that stand for `unit` points each.

        All rows reach exactly one leaf, so the least votes of a leaf's classes can be 0.
        """
        for node, path in self.paths(features):
            votes = np.rint(self.points[node] / unit).astype(int)
            yield Leaf(path, tuple((votes - votes.min()).tolist()))


class Boosting(Protocol):
    """The loss of some rows, as trees need it. Weights have the mean 1."""

    def take(self, rows: NDArray[np.int64]) -> Boosting:
        """Return the loss of some of the rows."""

    def holds(self, points: Floats) -> Floats:
        """Return the curvature of each row (n_rows,), added up over the outputs."""

    def pulls(self, points: Floats) -> Floats:
        """Return the downhill gradient that a tree is fitted to, (n_rows,) or (n_rows, n)."""

    def steps(
        self, points: Floats, leaf: NDArray[np.int64], n_nodes: int, weights: Floats
    ) -> Floats:
        """Return the change of the points (n_nodes, n_outputs) of rows with these leaves."""

    def monotone_steps(
        self,
        points: Floats,
        leaf: NDArray[np.int64],
        structure: Any,
        weights: Floats,
        signs: NDArray[np.int8],
        output: int,
    ) -> Floats:
        """Return steps of one output that have a direction, `signs`, in features of the tree."""


@dataclass(frozen=True)
class ClassBoosting:
    """The log loss of class numbers (n_rows,)."""

    target: NDArray[np.int32]

    def take(self, rows: NDArray[np.int64]) -> ClassBoosting:
        """Return the loss of some of the rows."""
        return ClassBoosting(self.target[rows])

    def holds(self, points: Floats) -> Floats:
        """Return the curvature; two classes have the same one, so one is enough."""
        probabilities = softmax(points)
        curvature = probabilities * (1.0 - probabilities)
        return np.asarray(curvature[:, 1] if points.shape[1] == 2 else curvature.sum(axis=1))

    def pulls(self, points: Floats) -> Floats:
        """Return the gradient of each class; two classes have opposite ones, so one is enough."""
        gradient = self._is_class(points) - softmax(points)
        return gradient[:, 1] if points.shape[1] == 2 else gradient

    def steps(
        self, points: Floats, leaf: NDArray[np.int64], n_nodes: int, weights: Floats
    ) -> Floats:
        """Return a Newton step for each class."""
        probabilities = softmax(points)
        gradient = self._is_class(points) - probabilities
        curvature = probabilities * (1.0 - probabilities)
        n_classes = points.shape[1]
        steps = np.empty((n_nodes, n_classes))
        for number in range(n_classes):
            pull = np.bincount(leaf, weights * gradient[:, number], n_nodes)
            hold = np.bincount(leaf, weights * curvature[:, number], n_nodes)
            steps[:, number] = pull / (hold + PENALTY)
        return np.asarray(steps * ((n_classes - 1) / n_classes))

    def monotone_steps(
        self,
        points: Floats,
        leaf: NDArray[np.int64],
        structure: Any,
        weights: Floats,
        signs: NDArray[np.int8],
        output: int,
    ) -> Floats:
        """Return a bounded Newton step for one class; the other of two classes moves against it."""
        own, n_classes = softmax(points)[:, output], points.shape[1]
        steps = np.zeros((structure.node_count, n_classes))
        steps[:, output] = bounded_newton_steps(
            structure,
            signs,
            leaf,
            weights * ((self.target == output) - own),
            weights * own * (1.0 - own),
        )
        if n_classes == 2:
            steps[:, 1 - output] = -steps[:, output]
        return np.asarray(steps * ((n_classes - 1) / n_classes))

    def _is_class(self, points: Floats) -> Floats:
        return np.asarray(np.eye(points.shape[1])[self.target])


def take_features(matrix: NDArray[Any], features: NDArray[np.intp] | None) -> NDArray[Any]:
    """Return some columns of a matrix; the matrix itself if these are all of them."""
    if features is None or len(features) == matrix.shape[1]:
        return matrix
    return np.ascontiguousarray(matrix[:, features])


class FeatureLimits(NamedTuple):
    """What trees may read: limits, and the literal of each feature."""

    literals: LiteralSet
    limits: Limits


def grow_trees(
    matrix: NDArray[np.float32],
    loss: Boosting,
    weight: NDArray[np.float32],
    start: Floats,
    options: TreeOptions,
    rng: np.random.Generator,
    limits: FeatureLimits | None = None,
) -> Iterator[Tree]:
    """Grow trees without end, each on the points that `start` and the trees before it give."""
    weights = weight.astype(np.float64) / weight.mean()
    points = start.copy()
    for turn in count():
        output = 1 if points.shape[1] == 2 else turn % points.shape[1]
        chosen, signs = None, None
        if limits is not None:
            chosen, signs = _choose_features(limits.literals, limits.limits, output, rng)
            if len(chosen) == 0:  # the class may read none of the columns that were drawn
                continue
        own = take_features(matrix, chosen)
        tree = ExtraTreeRegressor(
            max_leaf_nodes=options.n_leaves,
            min_samples_leaf=options.least_rows,
            max_features=min(MAX_FEATURES, own.shape[1]),
            random_state=int(rng.integers(2**31)),
            monotonic_cst=signs,
        )
        goal = loss.pulls(points)
        if signs is not None and goal.ndim > 1:
            goal = goal[:, output]
        with config_context(skip_parameter_validation=True):
            tree.fit(own, goal, sample_weight=weights, check_input=False)
        structure = tree.tree_
        leaf = structure.apply(own)
        if signs is None:
            steps = loss.steps(points, leaf, structure.node_count, weights)
        else:
            steps = loss.monotone_steps(points, leaf, structure, weights, signs, output)
        own_points = options.rate * steps
        if options.unit is not None:
            own_points = in_units(own_points, options.unit)
        grown = Tree(structure, own_points, chosen, signs, output)
        points += grown.points[leaf]
        yield grown


def in_units(points: Floats, unit: float) -> Floats:
    """Round points (n, n_outputs) to multiples of a unit; of two classes only the lead counts."""
    if points.shape[1] == 2:
        points = np.stack([np.zeros(len(points)), points[:, 1] - points[:, 0]], axis=1)
    return np.asarray(unit * np.rint(points / unit))


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
