"""Choose what to train for a table: the user's options, completed with defaults.

The defaults were chosen by measurement (`benchmarks/levels.py`), the same for all tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dln._util.option import options_of
from dln.core.limits import Limits
from dln.encode.bits import LiteralSet
from dln.encode.encoder import EncodeOptions
from dln.train.effort import LEVELS, Level
from dln.train.halving import plan_rounds
from dln.train.many_rows import FROM_ROWS
from dln.train.network import Network, Shape, build_network
from dln.train.options import Auto, Ensemble, FitOptions, SharedOptions, TrainOptions, VoteStart
from dln.train.trees import Growth, TreeOptions

T = TypeVar("T")

MAX_WIDTH = 2_100
"""Maximum width of the first layer without a comparison."""

MAX_BATCH_SIZE = 4_096
"""Maximum batch size by default."""

SELECTION_ROWS = 5_000
"""Maximum number of rows on which recipes are compared in the first round."""

MANY_ROWS = 20_000
"""From this number of rows, layers are twice as wide."""

SHORT_FROM_ROWS = 1_000
"""From this number of rows, recipes are compared with half the epochs; the ranking is the same."""

FEW_EPOCHS_ROWS = 30_000_000
"""A fit has at least three epochs, or as many as visit this number of rows, but at least one."""

TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Temperatures to compare, in units of the square root of a class's votes at the start."""

TREE_RATE = 0.1
"""Part of a Newton step that each grown tree takes."""

N_RESTARTS = 2
"""How often a network that failed to learn is trained again, from other starts."""

_KNOTS = {"quantiles": 33, "range": 2}
"""Knots of each scaling, see `EncodeOptions`."""


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a circuit, except the data and the seed.

    See `FitOptions` for `slope`, `vote_threshold`, `vote_density` and `n_networks`. `limits` are
    what rules may read and vote for; None means anything.
    """

    shape: Shape
    options: TrainOptions
    slope: float
    vote_threshold: float
    vote_density: float | VoteStart
    encode: EncodeOptions
    n_networks: int
    ensemble: Ensemble = "sum"
    limits: Limits | None = None

    def draw_network(self, literals: LiteralSet, n_classes: int, seed: int) -> Network:
        """Draw a network with random initial parameters."""
        return build_network(
            literals,
            self.shape,
            n_classes=n_classes,
            slope=self.slope,
            vote_threshold=self.vote_threshold,
            vote_density=self.vote_density,
            rng=np.random.default_rng(seed),
            limits=self.limits,
        )

    def within(self, limits: Limits) -> Recipe:
        """Return the recipe for circuits that satisfy limits."""
        return replace(self, limits=limits, encode=replace(self.encode, unused=limits.unused))

    def shortened(self, n_rows: int, n_sampled: int) -> Recipe:
        """Return the recipe as it is compared with others, on a sample of a table's rows.

        A sample gets as many steps as the table, or the epochs that are usual for its size.
        """
        own = self.options.epochs
        epochs = max(own, min(own * n_rows // n_sampled, _epochs(n_sampled)))
        if n_rows >= SHORT_FROM_ROWS:
            epochs = -(-epochs // 2)
        return replace(self, options=replace(self.options, epochs=epochs))

    def work(self, n_classes: int) -> float:
        """Estimate the operations to train one network, per row, from its links and votes."""
        layers, n_links = self.shape.layers, self.shape.n_links or 100
        return self.options.epochs * 2.0 * (sum(layers) * n_links + layers[-1] * n_classes)


@dataclass(frozen=True)
class Candidates:
    """Recipes to choose from: one row for each size (smallest first), with its temperatures.

    Attributes
    ----------
    usual
        The recipe to use without a comparison.
    n_fits
        Number of networks that are trained to compare the best recipes; 0 without a comparison.
    n_restarts
        How often a network of the final fit that failed to learn is trained again.
    growth
        The trees that may be grown to correct the errors of the networks; None: none.
    """

    grid: tuple[tuple[Recipe, ...], ...]
    usual: Recipe
    n_fits: int
    n_restarts: int
    growth: Growth | None = None

    def within(self, limits: Limits) -> Candidates:
        """Return candidates for circuits that satisfy limits."""
        grid = tuple(tuple(recipe.within(limits) for recipe in row) for row in self.grid)
        return replace(self, grid=grid, usual=self.usual.within(limits))


def make_candidates(
    requested: FitOptions, n_rows: int, n_classes: int, n_columns: int, heaviest: float = 1.0
) -> Candidates:
    """Complete the user's options for a table of this size.

    `heaviest` is the largest class weight relative to the mean row weight.
    """
    level = LEVELS[requested.effort]
    usual = _usual_recipe(requested, n_rows, n_classes, heaviest)
    sizes = [usual]
    if requested.layers == "auto":
        sizes = _sizes(usual, level, requested, n_rows, n_classes)
    work = [recipe.work(n_classes) * n_rows for recipe in sizes]
    # The smallest size is always compared; the others if the final fit is within the budget.
    sizes = [sizes[0], *(sizes[i] for i in range(1, len(sizes)) if work[i] <= level.work)]
    grid = tuple(
        tuple(_at_temperature(size, tau) for tau in _taus(requested, size))
        for size in (_with_networks(size, requested, level, n_rows, n_classes) for size in sizes)
    )
    n_fits = _or(requested.selection_fits, _n_fits(level, grid, n_rows, n_classes, n_columns))
    is_choice = n_fits > 0 and sum(map(len, grid)) > 1
    return Candidates(
        grid=grid,
        usual=_with_networks(usual, requested, level, n_rows, n_classes),
        n_fits=n_fits,
        n_restarts=N_RESTARTS if is_choice else 0,
        growth=_growth(requested, level, is_choice, n_rows),
    )


def _growth(requested: FitOptions, level: Level, is_choice: bool, n_rows: int) -> Growth | None:
    """Return what may be grown: nothing beside networks of a stated size, unless asked for."""
    is_open = requested.layers == requested.n_networks == "auto" and is_choice
    if requested.ensemble != "sum":
        return None
    growth = _trees(level, n_rows)
    n_trees = _or(requested.n_trees, growth.n_trees if is_open else 0)
    return replace(growth, n_trees=n_trees) if n_trees else None


def _trees(level: Level, n_rows: int) -> Growth:
    """Return the trees of a level for a table of this size."""
    if n_rows < FROM_ROWS:
        return Growth(level.n_trees, TreeOptions(level.n_leaves, TREE_RATE))
    many = level.many
    return Growth(many.n_trees, TreeOptions(many.n_leaves, many.rate), many.rows_per_tree)


def growth_from_circuit(requested: FitOptions, n_rows: int) -> Growth:
    """Return what may be grown to correct an earlier circuit, without networks."""
    growth = _trees(LEVELS[requested.effort], n_rows)
    most = max(growth.n_trees, LEVELS["normal"].n_trees)
    return replace(growth, n_trees=_or(requested.n_trees, most))


def _usual_recipe(requested: FitOptions, n_rows: int, n_classes: int, heaviest: float) -> Recipe:
    """Return the recipe for a table of this size if nothing is compared."""
    width = 64 if n_rows < 2_000 else 128 if n_rows < 4_000 else 300
    first = min(MAX_WIDTH, widen(width, n_classes))
    layers = _or(requested.layers, (first, -(-first // 2)))
    return Recipe(
        shape=Shape(
            layers,
            requested.n_links,
            requested.n_gates,
            requested.concatenation,
            requested.link_drawing,
            requested.gates,
        ),
        options=TrainOptions(
            tau=_or(requested.tau, TrainOptions.tau),
            epochs=_or(requested.epochs, _epochs(n_rows)),
            batch_size=_or(requested.batch_size, _batch_size(n_rows, heaviest)),
            **{name: getattr(requested, name) for name in options_of(SharedOptions)},
        ),
        slope=requested.slope,
        vote_threshold=requested.vote_threshold,
        vote_density=_or(requested.vote_density, _vote_density(n_classes)),
        encode=EncodeOptions(
            _or(requested.n_cutoffs, EncodeOptions.n_cutoffs),
            _KNOTS[requested.scaling],
            screening=requested.screening,
        ),
        n_networks=1,
        ensemble=requested.ensemble,
    )


def _sizes(
    usual: Recipe, level: Level, requested: FitOptions, n_rows: int, n_classes: int
) -> list[Recipe]:
    """Return a recipe for each size of a level: wider for more classes and for large tables."""
    growth = 2 if n_rows >= MANY_ROWS else 1
    sizes = {}
    for width, n_layers, n_cutoffs in level.sizes:
        first = min(growth * level.max_width, widen(growth * width, n_classes))
        layers = (first, -(-first // 2))[:n_layers]
        encode = replace(usual.encode, n_cutoffs=_or(requested.n_cutoffs, n_cutoffs))
        sizes[layers, encode] = replace(
            usual, shape=replace(usual.shape, layers=layers), encode=encode
        )
    return list(sizes.values())


def _with_networks(
    recipe: Recipe, requested: FitOptions, level: Level, n_rows: int, n_classes: int
) -> Recipe:
    """Set the number of networks: that of the level, or as many as its budget allows."""
    wanted = level.n_networks[0 if n_rows < 2_000 else 1]
    affordable = int(level.work / (recipe.work(n_classes) * n_rows))
    return replace(recipe, n_networks=_or(requested.n_networks, max(1, min(wanted, affordable))))


def _taus(requested: FitOptions, recipe: Recipe) -> tuple[float, ...]:
    """Return the temperatures to compare.

    A class starts with about `votes` votes, and their sum varies by the square root of that. So
    the same multiples of it suit networks of every size and any number of classes.
    """
    if requested.tau != "auto":
        return (requested.tau,)
    density = 0.0 if recipe.vote_density == "undecided" else recipe.vote_density
    votes = max(1.0, recipe.shape.layers[-1] * density)
    return tuple(float(f"{scale * math.sqrt(votes):.2g}") for scale in TEMPERATURES)


def _at_temperature(recipe: Recipe, tau: float) -> Recipe:
    return replace(recipe, options=replace(recipe.options, tau=tau))


def _n_fits(
    level: Level,
    grid: tuple[tuple[Recipe, ...], ...],
    n_rows: int,
    n_classes: int,
    n_columns: int,
) -> int:
    """Return the number of networks for the best candidates: the useful number, in the budget."""
    few, some, many = level.n_fits
    wanted = few if n_rows < 1_000 else some if n_rows < 4_000 else many
    # Each fold encodes the table again, with small trees for each column.
    wanted = min(wanted, max(5, 1_000 // max(1, n_columns)))
    recipes = [recipe for row in grid for recipe in row]
    while wanted > 1 and _selection_work(recipes, n_rows, n_classes, wanted) > level.work:
        wanted -= 1
    return wanted


def _selection_work(recipes: list[Recipe], n_rows: int, n_classes: int, n_fits: int) -> float:
    """Estimate the operations of a comparison, if average candidates are kept."""
    total = 0.0
    for number, (n_candidates, folds) in enumerate(plan_rounds(len(recipes), n_fits)):
        rows = min(n_rows, SELECTION_ROWS << number)
        work = sum(recipe.shortened(n_rows, rows).work(n_classes) for recipe in recipes)
        total += work / len(recipes) * n_candidates * len(folds) * rows
    return total


def widen(width: int, n_classes: int) -> int:
    """Convert a width for two classes to one for more classes."""
    growth: float = (n_classes / 2) ** 0.75
    return round(width * growth)


def _vote_density(n_classes: int) -> float:
    return 0.4 if n_classes == 2 else 0.3 if n_classes == 3 else 0.15 if n_classes < 10 else 0.1


def _epochs(n_rows: int) -> int:
    """Return the number of epochs: fewer for larger tables, to bound the number of steps."""
    if n_rows < 5_000:
        return TrainOptions.epochs
    least = max(1, min(3, FEW_EPOCHS_ROWS // n_rows))
    return max(least, min(60, math.ceil(60 * 20_000 / n_rows)))


def _batch_size(n_rows: int, heaviest: float) -> int:
    """Return the batch size, which is larger if a rare class has a large weight.

    The loss of a batch is divided by the weight of its rows, so batches without a class ignore its
    weight. If a usual batch would hold fewer than two rows of the rarer of two classes, the batch
    is enlarged to hold about four (`benchmarks/rare_choice.py`).
    """
    usual = TrainOptions.batch_size if n_rows < 4_000 else 128
    if 4 * heaviest <= usual:
        return usual
    wanted: int = 2 ** math.ceil(math.log2(8 * heaviest))
    return min(wanted, MAX_BATCH_SIZE)


def _or(requested: Auto | T, default: T) -> T:
    return default if requested == "auto" else requested
