"""The levels of `effort`: the sizes that a fit compares, and the work that it may do."""

from __future__ import annotations

from typing import NamedTuple

from dln.train.options import FitEffort


class Size(NamedTuple):
    """A size to compare, for two classes: a second layer has half the width of the first."""

    width: int
    n_layers: int
    n_cutoffs: int


class ManyTrees(NamedTuple):
    """Trees on a table of many rows: how many at most, their leaves, their rate and their rows."""

    n_trees: int
    n_leaves: int
    rate: float
    rows_per_tree: int


class Level(NamedTuple):
    """What one level does.

    Attributes
    ----------
    sizes
        Sizes to compare, smallest first. More classes get wider layers, up to `max_width`.
    n_fits
        Networks that are trained to compare the best candidates: on tables of less than 1,000
        rows, of less than 4,000, and larger ones.
    n_networks
        Networks of the final fit, on tables of less than 2,000 rows and on larger ones.
    work
        Operations that the comparison may take, and also the final fit. One core does about 10^10
        a second.
    n_trees, n_leaves
        Maximum number of trees that are grown to correct the errors of the networks, and the
        leaves of each.
    many
        What is grown instead on tables of many rows, see `dln.train.many_rows`.
    """

    sizes: tuple[Size, ...]
    max_width: int
    n_fits: tuple[int, int, int]
    n_networks: tuple[int, int]
    work: float
    n_trees: int
    n_leaves: int
    many: ManyTrees


_SMALL = (Size(64, 2, 6), Size(256, 2, 12))
_ALL = (*_SMALL, Size(1024, 1, 24), Size(1024, 2, 24))

_MANY = (
    ManyTrees(30, 31, 0.3, 200_000),
    ManyTrees(200, 31, 0.1, 1_000_000),
    ManyTrees(300, 31, 0.1, 2_000_000),
    ManyTrees(600, 31, 0.1, 2_000_000),
)

LEVELS: dict[FitEffort, Level] = {
    "quick": Level(_SMALL, 512, (10, 5, 3), (3, 1), 1e11, 0, 16, _MANY[0]),
    "normal": Level(_ALL, 1024, (15, 7, 4), (5, 5), 5e11, 100, 16, _MANY[1]),
    "high": Level(_ALL, 2048, (30, 12, 6), (9, 9), 2e12, 300, 31, _MANY[2]),
    "best": Level(_ALL, 2048, (60, 25, 10), (15, 15), 1e13, 600, 31, _MANY[3]),
}
