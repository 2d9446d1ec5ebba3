"""Choose what to train for a target of numbers: the user's options, completed with defaults."""

from __future__ import annotations

from typing import NamedTuple

from dln.train.number_networks import NumberRecipe
from dln.train.options import FitEffort, FitOptions
from dln.train.recipe import make_candidates
from dln.train.trees import Growth, TreeOptions


class NumberLevel(NamedTuple):
    """What one level of effort does.

    Attributes
    ----------
    n_networks
        Number of networks.
    n_leaves, n_trees, rate
        The sizes of trees to compare, their maximum number, and the part of a step that each takes.
    """

    n_networks: int
    n_leaves: tuple[int, ...]
    n_trees: int
    rate: float


LEVELS: dict[FitEffort, NumberLevel] = {
    "quick": NumberLevel(1, (16,), 100, 0.1),
    "normal": NumberLevel(3, (8, 32), 400, 0.1),
    "high": NumberLevel(5, (8, 16, 64), 600, 0.1),
    "best": NumberLevel(9, (8, 16, 32, 64), 600, 0.05),
}


def make_growths(requested: FitOptions) -> tuple[Growth, ...]:
    """Return the trees that may be grown, one for each size.

    There are none beside networks of a stated size, unless asked for, and none beside bagged or
    boosted networks.
    """
    if requested.ensemble != "sum":
        return ()
    level = LEVELS[requested.effort]
    n_trees = requested.n_trees
    if n_trees == "auto":
        n_trees = level.n_trees if may_leave_out_networks(requested) else 0
    if n_trees == 0:
        return ()
    return tuple(Growth(n_trees, TreeOptions(leaves, level.rate)) for leaves in level.n_leaves)


def may_leave_out_networks(requested: FitOptions) -> bool:
    """Return whether trees without networks may be chosen: if nothing is stated of networks."""
    is_open = requested.layers == requested.n_networks == "auto"
    return is_open and requested.ensemble == "sum"


def make_recipe(requested: FitOptions, n_rows: int, n_columns: int) -> NumberRecipe:
    """Return the networks to train on a table of this size: like those of two classes."""
    usual = make_candidates(requested, n_rows, 2, n_columns).usual
    wanted = LEVELS[requested.effort].n_networks
    assert requested.ensemble != "boosting"  # by weights of classes
    return NumberRecipe(
        usual.shape,
        usual.options,
        usual.slope,
        usual.encode,
        wanted if requested.n_networks == "auto" else requested.n_networks,
        ensemble=requested.ensemble,
    )
