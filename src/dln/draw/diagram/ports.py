"""Graph in layers -> where each edge meets its target, without unnecessary crossings."""

from __future__ import annotations

from collections.abc import Sequence

from dln.draw.diagram.graph import Graph
from dln.draw.diagram.placement import Frame, Waypoint
from dln.draw.diagram.scene import Point
from dln.draw.diagram.sizes import PORT_GAP


def spread_arrivals(
    graph: Graph, frames: dict[str, Frame], waypoints: Sequence[Sequence[Waypoint]]
) -> tuple[Point, ...]:
    """Compute the point of each edge at its target. Edges from above arrive above."""
    arriving: dict[str, list[int]] = {}
    for number, edge in enumerate(graph.edges):
        arriving.setdefault(edge.target, []).append(number)

    def height(number: int) -> float:
        ways = waypoints[number]
        return ways[-1].y if ways else frames[graph.edges[number].source].y

    points: list[Point] = [(0.0, 0.0)] * len(graph.edges)
    for target, numbers in arriving.items():
        frame = frames[target]
        for place, number in enumerate(sorted(numbers, key=height)):
            offset = place - (len(numbers) - 1) / 2
            if graph.edges[number].kind == "vote":
                points[number] = (frame.left, frame.y + PORT_GAP * offset)
            else:  # the left corner of the diamond, or the midpoints of its two left sides
                inward = abs(offset) * frame.width / 2
                points[number] = (frame.left + inward, frame.y + offset * frame.height / 2)
    return tuple(points)
