"""The default search of trials with a budget: how long rules and circuits may be, within it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from dln.search.preset import Preset
from dln.search.scoring import Scoring

_LENGTHS = (4, 1, 2, 3, 6)
"""Literals of a rule that are tried, the usual number first."""
_LITERALS = (60, 40, 20, 10, 5)
"""Literals of a circuit that are tried. The first is the end of every path."""


def budget_preset(scoring: Scoring, fixed: Mapping[str, Any]) -> Preset:
    """Make a search whose trials have the limits in `fixed`; each setting is tried once."""
    most = fixed.get("max_literals") or _LITERALS[0]
    longest = min(fixed.get("max_literals_per_rule") or max(_LENGTHS), most)
    every: dict[str, Any] = {
        "max_literals": list(_LITERALS),
        "max_literals_per_rule": [own for own in _LENGTHS if own <= longest],
    }
    space = {name: values for name, values in every.items() if fixed.get(name) is None}
    settings = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
    first = tuple(_distinct(settings, fixed.get("max_rules") or most))
    return Preset(space, scoring, first=first, complete=dict, most_trials=len(first))


def _distinct(settings: list[dict[str, int]], max_rules: int) -> list[dict[str, int]]:
    """Leave out settings that allow the same as an earlier one, given the number of rules."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    for setting in settings:
        length = setting.get("max_literals_per_rule", _LITERALS[0])
        literals = setting.get("max_literals", _LITERALS[0])
        key = min(literals, max_rules * length), min(length, literals)
        found.setdefault(key, setting)
    return list(found.values())
