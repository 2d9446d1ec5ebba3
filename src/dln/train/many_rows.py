"""Grow trees on a table of many rows; one part of the rows is left out to choose their number.

With many rows, networks and trees hardly fit single rows. So trees start from the points of the
final networks on their own training rows, and a part that neither was trained on is enough to tell
how many trees help. Each tree is grown on other rows, drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.core.limits import Limits
from dln.encode.bits import LiteralSet
from dln.train.coded_trees import (
    CodedColumns,
    ColumnTests,
    Derivatives,
    GrowOptions,
    Structure,
    code_columns,
    grow_tree,
)
from dln.train.leaves import PENALTY
from dln.train.trees import Boosting, Floats, Growth, Tree, in_units

FROM_ROWS = 100_000
"""From this number of rows, trees are grown in this way."""

HELD_OUT = 0.1
"""Fraction of the rows that are left out to choose the number of trees."""

MAX_HELD_OUT = 50_000
"""Maximum number of these rows."""

MAX_ROWS = 2_000_000
"""Number of rows that trees are grown on; a larger table is sampled."""

MAX_BYTES = 1 << 28
"""Maximum memory of the codes and points of these rows."""

LEAF_BYTES = 1 << 27
"""Maximum memory of the sums of a tree; columns of a wide table are drawn anew for each tree."""

MAX_COLUMNS = 500
"""Number of columns that compete for a split; more are sampled."""

STEP = 5
"""The number of trees is a multiple of this."""

PATIENCE = 20
"""Growth ends if this many further trees do not reduce the loss."""

ENOUGH = 0.003
"""This share of the fall of the loss may be given up for fewer trees."""


def hold_out(
    target: NDArray[np.int32] | NDArray[np.float64],
    groups: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw rows to leave out, in order. Groups stay together, so their number is only about right.

    Some rows of each class remain, unless it is in a single group.
    """
    n_rows = len(target)
    most = min(int(HELD_OUT * n_rows), MAX_HELD_OUT)
    if groups is not None:
        numbers, size = np.unique(groups, return_counts=True)
        order = rng.permutation(len(numbers))
        chosen = order[np.cumsum(size[order]) <= most]
        return np.flatnonzero(np.isin(groups, numbers[chosen]))
    drawn = _draw(n_rows, most, rng)
    if target.dtype != np.int32:
        return drawn
    # Of each class at most half of the rows: a rare one could be drawn completely.
    classes = target[drawn]
    keep = np.ones(len(drawn), dtype=bool)
    known, counts = np.unique(classes, return_counts=True)
    for number, count in zip(known.tolist(), counts.tolist(), strict=True):
        least = int(np.count_nonzero(target == number)) // 2
        if count > least:
            keep[np.flatnonzero(classes == number)[least:]] = False
    return drawn[keep]


def draw_pool(
    n_rows: int,
    held: NDArray[np.int64],
    n_columns: int,
    n_outputs: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw the rows to grow trees on, in order; none of them is held out."""
    most = min(MAX_ROWS, MAX_BYTES // (n_columns + 8 * n_outputs))
    if n_rows > 2 * most:  # without a list of all rows
        return np.setdiff1d(_draw(n_rows, most, rng), held, assume_unique=True)
    rest = np.delete(np.arange(n_rows), held)
    return np.sort(rng.permutation(rest)[:most]) if len(rest) > most else rest


def _draw(n_rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw at most some number of rows, in order."""
    is_drawn = np.zeros(n_rows, dtype=bool)
    is_drawn[rng.integers(0, n_rows, most)] = True
    return np.flatnonzero(is_drawn)


@dataclass(frozen=True)
class Rows:
    """Rows of a table: their loss, weights and codes, and points (n, n_outputs) to start from."""

    loss: Boosting
    weight: NDArray[np.float32]
    codes: NDArray[np.uint8]
    start: Floats


def grow_on_many(
    growth: Growth,
    columns: CodedColumns,
    pool: Rows,
    held: Rows,
    measure: Callable[[Floats], float],
    limits: Limits | None,
    *,
    rng: np.random.Generator,
    n_threads: int,
) -> tuple[tuple[Tree, ...], Floats]:
    """Grow as many trees as help on the rows held out.

    `measure` takes the points of the rows held out and returns their loss. Return the trees, and
    these points.
    """
    trees: list[Tree] = []
    points, found = held.start.copy(), held.start.copy()
    losses = [measure(points)]
    for tree in _grow_trees(growth, columns, pool, limits, rng, n_threads):
        trees.append(tree)
        points += tree.give(held.codes)
        if len(trees) % STEP == 0 or len(trees) == growth.n_trees:
            losses.append(measure(points))
        if len(trees) >= growth.n_trees:
            break
        if (len(losses) - 1 - int(np.argmin(losses))) * STEP >= PATIENCE:
            break
    enough = min(losses) + ENOUGH * (losses[0] - min(losses))
    number = min(len(trees), STEP * next(i for i, loss in enumerate(losses) if loss <= enough))
    for tree in trees[:number]:
        found += tree.give(held.codes)
    return tuple(trees[:number]), found


def _grow_trees(
    growth: Growth,
    columns: CodedColumns,
    pool: Rows,
    limits: Limits | None,
    rng: np.random.Generator,
    n_threads: int,
) -> Iterator[Tree]:
    """Grow trees without end, each on the points that the pool's start and earlier trees give."""
    options, n_rows = growth.tree, len(pool.weight)
    weights = pool.weight.astype(np.float64) / pool.weight.mean()
    points = pool.start.copy()
    n_outputs = points.shape[1]
    most = min(MAX_COLUMNS, max(8, LEAF_BYTES // (2048 * (2 + n_outputs) * options.n_leaves)))
    turn = -1
    while True:
        turn += 1
        output = n_outputs - 1 if n_outputs <= 2 else turn % n_outputs
        tests, signs = _choose_tests(columns, limits, output, most, rng)
        if not tests.any():  # the class may read none of the columns that were drawn
            continue
        rows = np.arange(n_rows)
        if growth.rows_per_tree is not None and n_rows > growth.rows_per_tree:
            rows = _draw(n_rows, growth.rows_per_tree, rng)
        loss, own, weight = pool.loss.take(rows), points[rows], weights[rows]
        pulls, holds = loss.pulls(own), weight * loss.holds(own)
        if pulls.ndim > 1 and signs.any():
            pulls = pulls[:, output]
        pulls = weight[:, None] * pulls.reshape(len(rows), -1)
        structure = grow_tree(
            pool.codes,
            rows.astype(np.int32),
            Derivatives.of(pulls, holds, PENALTY),
            GrowOptions(options.n_leaves, options.least_rows, tests, signs),
            n_threads,
        )
        leaf = structure.apply(pool.codes, n_threads)
        tree = _give_points(
            structure, loss, own, leaf[rows].astype(np.int64), weight, signs, output, growth
        )
        points += tree.points[leaf]
        yield tree


def _give_points(
    structure: Structure,
    loss: Boosting,
    points: Floats,
    leaf: NDArray[np.int64],
    weight: Floats,
    signs: NDArray[np.int8],
    output: int,
    growth: Growth,
) -> Tree:
    """Return the tree with a step for each leaf."""
    own_signs = None
    if signs.any():
        own_signs = np.concatenate([signs, np.zeros_like(signs)])  # see `Structure.feature`
        steps = loss.monotone_steps(points, leaf, structure, weight, own_signs, output)
    else:
        steps = loss.steps(points, leaf, structure.node_count, weight)
    steps = growth.tree.rate * steps
    if growth.tree.unit is not None:
        steps = in_units(steps, growth.tree.unit)
    return Tree(structure, steps, None, own_signs, output)


def _choose_tests(
    columns: CodedColumns,
    limits: Limits | None,
    output: int,
    most: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Draw the tests of a tree, and their directions: (n_columns,) each."""
    tests, signs = columns.tests.copy(), np.zeros(len(columns.columns), dtype=np.int8)
    if limits is not None:
        if limits.limits_columns:
            drawn = limits.draw_columns(columns.columns.tolist(), rng)
            tests[~np.isin(columns.columns, sorted(drawn))] = ColumnTests.NONE
        above = tests == ColumnTests.ABOVE
        tests[above & limits.barred[output, columns.columns]] = ColumnTests.MISSING
        above = tests == ColumnTests.ABOVE
        signs[above] = limits.signs[output, columns.columns[above]]
    usable = np.flatnonzero(tests)
    if len(usable) > most:
        tests[rng.permutation(usable)[most:]] = ColumnTests.NONE
    return tests, np.where(tests == ColumnTests.ABOVE, signs, 0).astype(np.int8)


def code_pool(
    literals: LiteralSet,
    cells: NDArray[np.float32],
    held: NDArray[np.int64],
    n_outputs: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], CodedColumns, CodedColumns]:
    """Draw the rows to grow trees on, and code them and those held out."""
    n_columns = len(np.unique(literals.column))
    pool = draw_pool(len(cells), held, n_columns, n_outputs, rng)
    columns = code_columns(literals, cells, pool)
    return pool, columns, columns.on(cells, held)
