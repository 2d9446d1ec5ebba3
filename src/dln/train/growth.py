"""Grow trees that correct the errors of a model; cross-validation chooses their number.

The model is a recipe of networks, or an earlier circuit.

Networks fit their own rows better than others. So trees start from the points that networks give to
rows that they were *not* trained on. To choose the number of trees, a fold is left out by all: its
own points come from a network trained on the other folds, and the points that trees start from, on
each other fold, from a network trained without both. With 4 folds that is 4 + 6 networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from dln.core.limits import Limits
from dln.encode.bits import LiteralSet
from dln.encode.encoder import fit_encoder
from dln.train.coded_trees import CodedColumns
from dln.train.earlier import Earlier
from dln.train.encoded_votes import count_votes_of
from dln.train.folds import split_groups
from dln.train.jobs import Engine, Job, OnProgress, TrainingRows
from dln.train.levels import Level
from dln.train.many_rows import Rows, code_pool, grow_on_many
from dln.train.network import Network
from dln.train.problem import Problem
from dln.train.recipe import Recipe
from dln.train.trees import (
    ClassBoosting,
    FeatureLimits,
    Floats,
    Growth,
    Leaf,
    Splits,
    Tree,
    grow_trees,
    make_features,
    softmax,
)
from dln.train.votes import count_votes

N_FOLDS = 4
"""Folds of the rows; fewer if a class has fewer rows."""

NUMBERS = (0, 10, 25, 50, 100, 200, 300, 450, 600)
"""Numbers of trees to choose from."""

MAX_ROWS = 50_000
"""Number of rows that trees are grown on; a larger table is sampled."""

SCALES = 2.0 ** np.arange(-4, 4.01, 0.25)
"""Factors of the points of networks to choose from."""

_FINEST = 0.02
"""Points that one vote stands for, at most: the rounding of a leaf is below half of it."""


Start = Callable[[Problem, NDArray[np.int64]], list[Floats]]
"""Takes rows and the fold of each. Returns the points of a model on rows that it does not know.

First those of the model trained without one fold, for each row without its own fold. Then, for each
fold, those of the model trained without it and without the row's own fold.
"""


@dataclass(frozen=True)
class Grown:
    """Trees to add to a model; perhaps none.

    Attributes
    ----------
    features
        What the trees split on.
    scale
        Factor of the points of the model.
    held_out : (n, n_classes)
        Points of the whole model on rows that it was not trained on.
    rows : (n,)
        Those rows.
    unit
        Points that one vote stands for, if given rules determine it.
    is_final
        Whether `held_out` are points of the final networks, which were trained without these rows.
    """

    trees: tuple[Tree, ...]
    features: Splits
    scale: float
    held_out: Floats
    rows: NDArray[np.int64]
    unit: float | None = None
    is_final: bool = False

    def rules(self, unit: float) -> list[Leaf | Level]:
        """Return the rules of all trees, with votes that stand for `unit` points each."""
        return [rule for tree in self.trees for rule in tree.rules(self.features, unit)]

    def units(self, tau: float, n_networks: int) -> tuple[int, float]:
        """Return the votes of a network's rule, and the points that one vote stands for."""
        own = self.scale / (tau * n_networks)
        if self.unit is not None:
            return max(1, round(own / self.unit)), self.unit
        votes = max(1, int(np.ceil(own / _FINEST)))
        return votes, own / votes


def grow(
    growth: Growth,
    problem: Problem,
    literals: LiteralSet,
    cells: NDArray[np.float32],
    start: Start,
    rng: np.random.Generator,
    limits: Limits | None = None,
    scales: Floats = SCALES,
) -> Grown | None:
    """Grow as many trees as help, within limits; None if there are too few rows to tell.

    `literals` and `cells` are those that networks are trained on. `scales` are the factors of the
    points of the model to choose from.
    """
    rows, fold = _draw_folds(problem.target, rng, problem.groups)
    if len(rows) == 0:
        return None
    sample = problem if len(rows) == len(problem.target) else problem.take(rows)
    features = make_features(literals, cells if len(rows) == len(cells) else cells[rows])
    own_limits = None if limits is None else FeatureLimits(features.literals, limits)
    starts = start(sample, fold)
    n_folds = int(fold.max()) + 1
    numbers = [number for number in NUMBERS if number <= growth.n_trees]
    held = np.zeros((len(numbers), *starts[0].shape))
    seed = int(rng.integers(2**63))
    for left_out in range(n_folds):
        others, own = fold != left_out, fold == left_out
        points = starts[1 + left_out]
        known = sample.take(np.flatnonzero(others))
        scale = _best_scale(points[others], known, scales)
        trees = grow_trees(
            features.matrix[others],
            ClassBoosting(known.target),
            known.weight,
            _with_given(scale * points[others], known),
            growth.tree,
            np.random.default_rng(seed),
            own_limits,
        )
        total = _with_given(scale * starts[0][own], sample.take(np.flatnonzero(own)))
        held[0, own] = total
        for place, (few, many) in enumerate(pairwise(numbers), start=1):
            for tree in islice(trees, many - few):
                total += tree.give(features.matrix[own])
            held[place, own] = total
    losses = [_loss(points, sample.target, sample.weight) for points in held]
    chosen = int(np.argmin(losses))
    scale = _best_scale(starts[0], sample, scales)
    trees = grow_trees(
        features.matrix,
        ClassBoosting(sample.target),
        sample.weight,
        _with_given(scale * starts[0], sample),
        growth.tree,
        np.random.default_rng(seed),
        own_limits,
    )
    found = tuple(islice(trees, numbers[chosen]))
    return Grown(found, features, scale, held[chosen], rows, growth.tree.unit)


def grow_large(
    growth: Growth,
    problem: Problem,
    literals: LiteralSet,
    cells: NDArray[np.float32],
    start: Callable[[NDArray[np.int64]], Floats],
    held: NDArray[np.int64],
    rng: np.random.Generator,
    limits: Limits | None = None,
    scales: Floats = SCALES,
    n_threads: int = 1,
) -> Grown:
    """Grow as many trees as help on the rows `held` out of a large table, within limits.

    `start` takes rows and returns the points of a model that was not trained on `held`.
    """
    pool, columns, own = code_pool(literals, cells, held, len(problem.classes), rng)
    known = problem.only(held)
    points = start(held)
    scale = _best_scale(points, known, scales)

    def part(some: Problem, codes: CodedColumns, before: Floats) -> Rows:
        begin = _with_given(scale * before, some)
        return Rows(ClassBoosting(some.target), some.weight, codes.codes, begin)

    trees, found = grow_on_many(
        growth,
        columns,
        part(problem.only(pool), columns, start(pool)),
        part(known, own, points),
        lambda points: _loss(points, known.target, known.weight),
        limits,
        rng=rng,
        n_threads=n_threads,
    )
    return Grown(trees, columns, scale, found, held, growth.tree.unit, is_final=True)


def _draw_folds(
    target: NDArray[np.int32], rng: np.random.Generator, groups: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the rows to use, and the fold of each; none if a class has too few rows for three."""
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    n_folds = min(N_FOLDS, int(np.bincount(target)[np.unique(target)].min()))
    if n_folds < 3:
        return nothing
    rows = np.sort(rng.permutation(len(target))[:MAX_ROWS])
    fold = np.zeros(len(rows), dtype=np.int64)
    seed = int(rng.integers(2**31))
    if groups is None:
        parts = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(rows, target[rows])
    else:
        own = groups[rows]
        if len(np.unique(own)) < n_folds:
            return nothing
        parts = split_groups(target[rows], own, n_folds, seed)
    for number, (_, valid) in enumerate(parts):
        fold[valid] = number
    if groups is not None and not _is_complete(target[rows], fold, n_folds):
        return nothing
    return rows, fold


def _is_complete(target: NDArray[np.int32], fold: NDArray[np.int64], n_folds: int) -> bool:
    """Return whether every class has rows without any two folds, and every fold has rows."""
    kept = [target[~np.isin(fold, absent)] for absent in combinations(range(n_folds), 2)]
    n_classes = len(np.unique(target))
    has_classes = all(len(np.unique(some)) == n_classes for some in kept)
    return has_classes and len(np.unique(fold)) == n_folds


def start_from_networks(
    problem: Problem,
    fold: NDArray[np.int64],
    *,
    recipe: Recipe,
    engine: Engine,
    rng: np.random.Generator,
    n_threads: int,
    on_progress: Callable[[list[Job]], OnProgress | None] = lambda jobs: None,
) -> list[Floats]:
    """Train networks without one fold and without two; a `Start` with their votes / tau."""
    folds = range(int(fold.max()) + 1)
    table = problem.table.kept()
    jobs: list[Job] = []
    left_out = [(one,) for one in folds] + list(combinations(folds, 2))
    for absent in left_out:
        train = np.flatnonzero(~np.isin(fold, absent))
        some = replace(problem, table=table).take(train)
        encoder, _ = fit_encoder(some.table, some.target, some.weight, recipe.encode)
        data = TrainingRows.of(problem, encoder.encode(table), recipe.options.tau)
        seed = int(rng.integers(2**63))
        network = recipe.draw_network(encoder.literals, len(problem.classes), seed)
        jobs.append(Job(network, data, train, replace(recipe.options.untraced(), seed=seed)))
    engine(jobs, n_threads=n_threads, on_progress=on_progress(jobs))
    starts = [np.zeros((len(fold), len(problem.classes))) for _ in range(1 + len(folds))]
    for absent, job in zip(left_out, jobs, strict=True):
        for own in absent:
            rows = np.flatnonzero(fold == own)
            points = count_votes([job.network], job.data.cells[rows]) / recipe.options.tau
            for other in absent:
                if len(absent) == 1:
                    starts[0][rows] = points
                elif other != own:
                    starts[1 + other][rows] = points
    return starts


def points_of_networks(
    networks: Sequence[Network], recipe: Recipe, cells: NDArray[np.float32]
) -> Callable[[NDArray[np.int64]], Floats]:
    """Return the function from rows to the points of networks that vote together."""
    unit = recipe.options.tau * len(networks)
    return lambda rows: count_votes_of(networks, cells, rows) / unit


def start_from_circuit(
    problem: Problem, fold: NDArray[np.int64], *, earlier: Earlier
) -> list[Floats]:
    """Take the points of an earlier circuit, which knows none of the rows; a `Start`."""
    return [earlier.points(problem.table)] * (2 + int(fold.max()))


def _with_given(points: Floats, problem: Problem) -> Floats:
    """Add the points that rows have beforehand."""
    return points if problem.given is None else points + problem.given


def _best_scale(points: Floats, problem: Problem, scales: Floats) -> float:
    """Return the factor with which points predict the classes best."""
    target, weight = problem.target, problem.weight
    losses = [_loss(_with_given(scale * points, problem), target, weight) for scale in scales]
    return float(scales[int(np.argmin(losses))])


def _loss(points: Floats, target: NDArray[np.int32], weight: NDArray[np.float32]) -> float:
    """Return the weighted log loss."""
    own = softmax(points)[np.arange(len(target)), target]
    return float(-(weight * np.log(np.maximum(own, 1e-12))).sum() / weight.sum())
