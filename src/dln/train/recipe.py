"""Choose what to train for a table: the user's options, completed with defaults.

The defaults were chosen by measurement (`benchmarks/default_accuracy.py`), the same for all tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dln._util.option import options_of
from dln.encode.bits import LiteralSet
from dln.train.network import Network, Shape, build_network
from dln.train.options import Auto, FitOptions, SharedOptions, TrainOptions

T = TypeVar("T")

MAX_WIDTH = 2_100
"""Maximum width of the first layer by default."""

MAX_BATCH_SIZE = 4_096
"""Maximum batch size by default."""

SELECTION_ROWS = 5_000
"""Maximum number of rows on which recipes are compared."""

SELECTION_WORK = 6e11
"""Operations that comparing recipes may take: about ten seconds on two cores."""


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a network and its training, except the data and the seed.

    See `FitOptions` for `slope`, `vote_threshold` and `vote_density`.
    """

    shape: Shape
    options: TrainOptions
    slope: float
    vote_threshold: float
    vote_density: float

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
        )


@dataclass(frozen=True)
class Candidates:
    """Recipes to choose from: one row for each size (smallest first), with its temperatures.

    Attributes
    ----------
    usual
        The recipe to use without a comparison.
    n_fits
        Number of networks that are trained to compare each recipe.
    n_networks
        Number of networks to train with the chosen recipe.
    """

    grid: tuple[tuple[Recipe, ...], ...]
    usual: Recipe
    n_fits: int
    n_networks: int


def make_candidates(
    requested: FitOptions, n_rows: int, n_classes: int, n_columns: int, heaviest: float = 1.0
) -> Candidates:
    """Complete the user's options for a table of this size.

    `heaviest` is the largest class weight relative to the mean row weight.
    """
    sizes = (requested.layers,) if requested.layers != "auto" else _sizes(n_rows, n_classes)
    taus = (requested.tau,) if requested.tau != "auto" else usual_taus(n_rows)
    batch_size = _or(requested.batch_size, _batch_size(n_rows, heaviest))
    grid = tuple(
        tuple(_recipe(requested, layers, tau, batch_size, n_rows, n_classes) for tau in taus)
        for layers in sizes
    )
    return Candidates(
        grid=grid,
        usual=grid[-1][taus.index(TrainOptions.tau) if len(taus) > 1 else 0],
        n_fits=_or(requested.selection_fits, _n_fits(grid, n_rows, n_classes, n_columns)),
        n_networks=_or(requested.n_networks, 3 if n_rows < 2_000 else 1),
    )


def _recipe(
    requested: FitOptions,
    layers: tuple[int, ...],
    tau: float,
    batch_size: int,
    n_rows: int,
    n_classes: int,
) -> Recipe:
    return Recipe(
        shape=Shape(layers, requested.n_links, requested.n_gates, requested.concatenation),
        options=TrainOptions(
            tau=tau,
            epochs=_or(requested.epochs, _epochs(n_rows)),
            batch_size=batch_size,
            **{name: getattr(requested, name) for name in options_of(SharedOptions)},
        ),
        slope=requested.slope,
        vote_threshold=requested.vote_threshold,
        vote_density=_or(requested.vote_density, _vote_density(n_classes)),
    )


def usual_widths(n_rows: int) -> tuple[int, ...]:
    """Return the widths of the first layer to choose from, for two classes."""
    return (16, 32, 64) if n_rows < 2_000 else (64, 128) if n_rows < 4_000 else (100, 300)


def widen(width: int, n_classes: int) -> int:
    """Convert a width for two classes to one for more classes."""
    growth: float = (n_classes / 2) ** 0.75
    return round(width * growth)


def _sizes(n_rows: int, n_classes: int) -> tuple[tuple[int, ...], ...]:
    """Return the sizes to choose from: two layers, the second half as wide as the first."""
    scaled = [min(MAX_WIDTH, widen(width, n_classes)) for width in usual_widths(n_rows)]
    return tuple((first, -(-first // 2)) for first in dict.fromkeys(scaled))


def _n_fits(
    grid: tuple[tuple[Recipe, ...], ...], n_rows: int, n_classes: int, n_columns: int
) -> int:
    """Return the number of networks to train per recipe: the useful number, within a budget."""
    wanted = 20 if n_rows < 1_000 else 5 if n_rows < 4_000 else 4
    rows = min(n_rows, SELECTION_ROWS)
    work = sum(_work(recipe, n_classes) for row in grid for recipe in row) * rows
    # Each fit encodes the table again, with a small tree for each column.
    return max(1, min(wanted, int(SELECTION_WORK / work), max(5, 1_000 // max(1, n_columns))))


def _work(recipe: Recipe, n_classes: int) -> float:
    """Estimate the operations of a training run per row, from its links and votes."""
    layers, n_links = recipe.shape.layers, recipe.shape.n_links or 100
    return recipe.options.epochs * 2.0 * (sum(layers) * n_links + layers[-1] * n_classes)


def usual_taus(n_rows: int) -> tuple[float, ...]:
    """Return the temperatures to choose from. The lowest helps only on small, clean tables."""
    return (2.0, 4.0, 8.0, 16.0, 32.0) if n_rows < 2_000 else (4.0, 8.0, 16.0, 32.0)


def _vote_density(n_classes: int) -> float:
    return 0.4 if n_classes == 2 else 0.3 if n_classes == 3 else 0.15 if n_classes < 10 else 0.1


def _epochs(n_rows: int) -> int:
    """Return the number of epochs: fewer for larger tables, to bound the number of steps."""
    if n_rows < 5_000:
        return TrainOptions.epochs
    return max(3, min(60, math.ceil(60 * 20_000 / n_rows)))


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
