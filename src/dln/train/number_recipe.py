"""Choose what to grow for a target of numbers: the user's options, completed with defaults."""

from __future__ import annotations

from typing import NamedTuple

from dln.train.options import FitEffort, FitOptions
from dln.train.trees import Growth, TreeOptions


class NumberLevel(NamedTuple):
    """What one level of effort does: the sizes of trees to compare, and their number."""

    n_leaves: tuple[int, ...]
    n_trees: int
    rate: float


LEVELS: dict[FitEffort, NumberLevel] = {
    "quick": NumberLevel((16,), 100, 0.1),
    "normal": NumberLevel((8, 32), 400, 0.1),
    "high": NumberLevel((8, 16, 64), 600, 0.1),
    "best": NumberLevel((8, 16, 32, 64), 600, 0.05),
}


def make_growths(requested: FitOptions) -> tuple[Growth, ...]:
    """Return the trees that may be grown, one for each size."""
    level = LEVELS[requested.effort]
    n_trees = level.n_trees if requested.n_trees == "auto" else requested.n_trees
    if n_trees == 0:
        return ()
    return tuple(Growth(n_trees, TreeOptions(leaves, level.rate)) for leaves in level.n_leaves)
