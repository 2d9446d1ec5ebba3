"""Presets of a search by name: "default" is here, the others are in `dln.search.paper`.

The default search starts from two layers of usual widths, each with several temperatures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any
from typing import Literal as OneOf

from dln.errors import OptionError
from dln.estimators.parameters import Parameters
from dln.search.budget_preset import budget_preset
from dln.search.folds import repeated_folds
from dln.search.paper import paper_preset, program_preset
from dln.search.preset import Preset, Values
from dln.search.scoring import MakeFolds, Scoring
from dln.search.space import LIMITS, Between, check_space
from dln.train.problem import Problem
from dln.train.recipe import MAX_WIDTH, widen

SpaceName = OneOf["default", "paper", "program"]


def find_preset(
    space: Any, problem: Problem, fixed: Mapping[str, Any] = MappingProxyType({})
) -> Preset:
    """Return the preset with a name, or make one from a user's space.

    Limits in `fixed` or in the space are a budget, and trials with a budget train no network.
    """
    limits = [name for name in LIMITS if fixed.get(name) is not None]
    if limits and space == "default":
        n_fits, n_first = (5, 2) if len(problem.target) < 4_000 else (3, 1)
        scoring = Scoring(_repeated(n_fits), first_folds=n_first, max_rows=6_000)
        return budget_preset(scoring, fixed)
    if limits and isinstance(space, str) and space in _PRESETS:
        raise OptionError(
            f"fixed has {limits[0]}, but space={space!r} compares networks, and a fit with a "
            'budget trains none; use space="default"'
        )
    preset = _named_preset(space, problem)
    if limits or any(name in LIMITS for name in preset.space):
        return replace(preset, complete=dict)
    return preset


def _named_preset(space: Any, problem: Problem) -> Preset:
    if isinstance(space, str):
        if space not in _PRESETS:
            raise OptionError(
                f'space is {space!r}, expected "default", "paper", "program" or a dict of '
                "parameters"
            )
        return _PRESETS[space](problem)
    check_space(space, Parameters)
    return Preset(dict(space), _scoring(problem))


def _scoring(problem: Problem) -> Scoring:
    """Choose the folds: small tables get more, to reduce noise. Large tables are sampled.

    The sample is larger if there are many classes. With few rows per class, trials underestimate
    the value of width and overestimate unified phases. The limit of 500 rows per class was found on
    one table, Letter (`benchmarks/large_choice.py`).
    """
    n_rows, n_classes = len(problem.target), len(problem.classes)
    if n_rows < 1_000:
        return Scoring(_repeated(20), first_folds=5)
    if n_rows < 4_000:
        return Scoring(_repeated(5), first_folds=2)
    max_rows = max(6_000, 500 * n_classes)
    return Scoring(_repeated(3), first_folds=1, max_rows=max_rows, epochs_part=0.5)


def _repeated(n_fits: int) -> MakeFolds:
    return lambda target, seed: repeated_folds(target, n_fits, seed)


def _starts(n_layers: int, *points: tuple[int, float]) -> tuple[dict[str, Any], ...]:
    """Make starting points from widths and temperatures."""
    return tuple({"n_layers": n_layers, "width": width, "tau": tau} for width, tau in points)


_MAX_WIDTH = 2 * MAX_WIDTH
"""A search may use wider layers than `DLNClassifier` by default; Letter gains by it."""

_USUAL = {
    "n_layers": 2,
    "n_links": 16,
    "n_cutoffs": 6,
    "learning_rate": 0.05,
    "slope": 20.0,
    "phases": "batches",
}
# One layer has twice as many rules as two layers. It needs a higher temperature and is cheap.
_FLAT = _starts(1, (64, 4.0), (64, 8.0), (64, 16.0), (64, 32.0))
_FLAT_AND_WIDE = _starts(1, (200, 4.0), (200, 8.0), (600, 8.0), (600, 16.0))
_WIDE = _starts(2, (600, 8.0), (600, 16.0))
# More links and cutoffs to choose from: one point more for Letter, no loss for most tables
# (benchmarks/large_choice.py).
_FINE = tuple(
    {"n_layers": 1, "width": 600, "tau": 8.0, "n_links": 32, "n_cutoffs": 12, "phases": phases}
    for phases in ("batches", "unified")
)
# Single networks, for small circuits.
_SMALL = _starts(2, (8, 2.0), (16, 2.0), (32, 4.0)) + _starts(1, (8, 2.0), (16, 4.0))


@dataclass(frozen=True)
class _Scale:
    """Settings for a table size: number of networks that vote together, and starting points."""

    n_networks: int
    together: tuple[dict[str, Any], ...]


_FEW_ROWS = _Scale(15, _FLAT)
_MANY_ROWS = _Scale(9, _FLAT_AND_WIDE + _WIDE + _FINE)
_MAX_JUDGED = 3
"""Number of networks that a trial trains. More are better for all parameters: on nine small tables
15 are 0.34 points above 3, with a standard error of 0.13 (validation rows,
`benchmarks/networks_choice.py`)."""


def _default(problem: Problem) -> Preset:
    n_rows, n_classes = len(problem.target), len(problem.classes)
    widths = (16, 32, 64) if n_rows < 2_000 else (64, 128) if n_rows < 4_000 else (100, 300)
    # The lowest temperature helps only on small, clean tables.
    taus = (4.0, 8.0, 16.0, 32.0) if n_rows >= 2_000 else (2.0, 4.0, 8.0, 16.0, 32.0)
    scale = _FEW_ROWS if n_rows < 4_000 else _MANY_ROWS
    grid = [{"width": width, "tau": tau} for width in widths for tau in taus]
    together = {**_USUAL, "n_networks": scale.n_networks}
    first = [{**together, **start} for start in (*grid, *scale.together)]
    first += [{**_USUAL, "n_networks": 1, **start} for start in _SMALL]
    return Preset(
        space={
            "width": Between(4, 2 * max(widths), log=True),
            "tau": Between(1.0, 64.0, log=True),
            "n_layers": [1, 2],
            "n_networks": [1, scale.n_networks],
            "n_links": [8, 16, 32],
            "n_cutoffs": [3, 6, 12, 24],
            "learning_rate": Between(0.02, 0.15, log=True),
            "slope": Between(8.0, 50.0, log=True),
            "phases": ["batches", "unified"],
        },
        scoring=replace(_scoring(problem), max_networks=_MAX_JUDGED),
        translate=lambda values: _one_or_two_layers(values, n_classes),
        first=tuple(first),
    )


def _one_or_two_layers(values: Values, n_classes: int) -> dict[str, Any]:
    """Compute the layers. They are wider for more classes; the second has half the width."""
    own = ("width", "n_layers")
    first = min(_MAX_WIDTH, widen(values["width"], n_classes))
    layers = (first, math.ceil(first / 2))[: values["n_layers"]]
    # Each class needs at least one rule.
    layers = (*layers[:-1], max(n_classes, layers[-1]))
    return {"layers": layers, **{name: v for name, v in values.items() if name not in own}}


_PRESETS: dict[str, Callable[[Problem], Preset]] = {
    "default": _default,
    "paper": paper_preset,
    "program": program_preset,
}
