"""CircuitPath -> the sizes that a reader of a report can choose from."""

from __future__ import annotations

from typing import Any

from dln._util.messages import count_of
from dln.exporters.identity import circuit_id
from dln.paths.path import CircuitPath, PathPoint, best_place

MOST_SIZES = 8
"""Maximum number of circuits in a report, so that the file stays small."""


def points_to_show(path: CircuitPath) -> list[PathPoint]:
    """Choose points of a path: one for each number of rules, or as many as fit, evenly.

    The first, the last and the chosen point are always among them.
    """
    by_rules: dict[int, list[int]] = {}
    for place, point in enumerate(path):
        by_rules.setdefault(point.size.n_rules, []).append(place)
    places = {best_place(path.points, own) for own in by_rules.values()}
    always = sorted({0, path.chosen, len(path) - 1})
    others = sorted(places - set(always))
    room = MOST_SIZES - len(always)
    if len(others) > room:
        others = [others[(2 * step + 1) * len(others) // (2 * room)] for step in range(room)]
    return [path[place] for place in sorted({*always, *others})]


def describe_sizes(path: CircuitPath, points: list[PathPoint]) -> dict[str, Any]:
    """Return what the dial says of each point, and where it starts."""
    start = next(place for place, point in enumerate(points) if point.circuit is path.circuit)
    return {
        "id": circuit_id(path.circuit),
        "start": start,
        "texts": [_text(path, point, is_chosen=point is path[path.chosen]) for point in points],
    }


def _text(path: CircuitPath, point: PathPoint, *, is_chosen: bool) -> str:
    size = f"{count_of(point.size.n_rules, 'rule')}, {count_of(point.size.n_literals, 'literal')}"
    chosen = " (chosen by the fit)" if is_chosen else ""
    return f"{size}{chosen}. {path.describe(point)}."
