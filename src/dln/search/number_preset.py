"""The search for a regressor: its space, and how trials are scored.

A regressor chooses its trees and penalties by cross-validation itself. The search varies what it
does not choose: the effort, the maximum number of trees, and networks of stated sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from typing import Literal as OneOf

from dln.errors import OptionError
from dln.estimators.parameters import NumberParameters
from dln.search.budget_preset import budget_preset
from dln.search.folds import number_folds
from dln.search.preset import Preset, Values
from dln.search.scoring import Scoring
from dln.search.space import LIMITS, Between, check_space
from dln.train.problem import NumberProblem

NumberSpaceName = OneOf["default"]

_NETWORK = {"n_networks": 3, "n_links": 16, "learning_rate": 0.05}
"""Usual parameters of networks."""

_TREES = ({"effort": "normal"}, {"effort": "quick"}, {"effort": "high"})
"""What the regressor does by default, faster and more thoroughly; it may use trees alone."""

_NETWORKS = (
    {"layers": (64,), "n_trees": 100},
    {"layers": (200,), "n_trees": 0},
    {"layers": (64, 32), "n_trees": 0},
    {"layers": (16,), "n_trees": 0, "n_networks": 1},
    {"layers": (32,), "n_trees": 0, "n_networks": 1},
    {"layers": (8,), "n_trees": 0, "n_networks": 1},
)
"""Networks of stated sizes, with and without trees; the last ones are small circuits."""


def find_number_preset(
    space: Any, problem: NumberProblem, fixed: Mapping[str, Any] = MappingProxyType({})
) -> Preset:
    """Return the default search of a table, or make one from a user's space.

    Limits in `fixed` are a budget, and trials with a budget train no network.
    """
    if isinstance(space, str):
        if space != "default":
            raise OptionError(
                f'space is {space!r}, expected "default" or a dict of parameters of DLNRegressor'
            )
        if any(fixed.get(name) is not None for name in LIMITS):
            return budget_preset(_scoring(problem), fixed)
        return _default(problem)
    check_space(space, NumberParameters)
    return Preset(dict(space), _scoring(problem), complete=dict)


def _scoring(problem: NumberProblem) -> Scoring:
    """Choose the folds. A trial is a complete fit, so there are fewer than for classes."""
    n_folds = 5 if len(problem.target) < 4_000 else 3
    return Scoring(
        lambda target, seed: number_folds(target, min(n_folds, len(target)), seed),
        max_rows=6_000,
        first_folds=1,
    )


def _default(problem: NumberProblem) -> Preset:
    usual = {"effort": "quick", "layers": "auto", "n_trees": 400, **_NETWORK}
    return Preset(
        space={
            "effort": ["quick", "normal", "high"],
            "layers": ["auto", (8,), (16,), (32,), (64,), (200,), (64, 32)],
            "n_trees": [0, 25, 100, 400],
            "n_networks": [1, 3, 9],
            "n_links": [8, 16, 32],
            "learning_rate": Between(0.02, 0.15, log=True),
        },
        scoring=_scoring(problem),
        translate=_translate,
        first=tuple({**usual, **start} for start in (*_TREES, *_NETWORKS)),
        complete=dict,
    )


def _translate(values: Values) -> dict[str, Any]:
    """Leave out what describes networks if none is stated: then trees alone may be chosen."""
    params = dict(values)
    if params.get("layers") == "auto":
        params = {name: value for name, value in params.items() if name not in _NETWORK}
        params |= {"n_trees": "auto"} if params.get("n_trees") == 0 else {}
    return params
