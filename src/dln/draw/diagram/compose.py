"""Graph with positions -> scene: boxes, diamonds and lines, with their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from dln.draw.diagram.graph import Edge, Graph, Vertex
from dln.draw.diagram.metrics import text_width
from dln.draw.diagram.placement import Frame, Placement, Waypoint
from dln.draw.diagram.scene import Box, Diamond, Item, Path, Point, Round, Scene, Shape, Text
from dln.draw.diagram.sizes import FONT, LINE, MARGIN, SMALL, Size

_SIGN = 17.0
_BUBBLE, _BUBBLE_AWAY = 3.5, 5.5  # radius; distance at which it touches a diamond's slanted side
_NOTE_LINE = 16.0
_CORNER = 4.0
_MOST_ABOVE = 150.0
_STUB = 40.0  # a vote ends with a straight line of this length, with room for its multiplier


def compose(graph: Graph, sizes: dict[str, Size], placement: Placement) -> Scene:
    """Make the scene: edges, vertices on top of them, and notes under the picture."""
    placed = placement.moved_to(MARGIN, MARGIN)
    readers = Counter(edge.source for edge in graph.edges)
    items = []
    for number, edge in enumerate(graph.edges):
        source, ways = placed.frames[edge.source], placed.waypoints[number]
        shared = readers[edge.source] > 1
        items.append(_edge_item(edge, source, ways, placed.arrivals[number], shared=shared))
    items += [
        _vertex_item(vertex, sizes[vertex.key], placed.frames[vertex.key])
        for vertex in graph.vertices
    ]
    y = placed.bottom + MARGIN
    for note in graph.notes:
        items.append(Item("note", (Text(MARGIN, y + SMALL / 2, note, SMALL, "start"),)))
        y += _NOTE_LINE
    widest = max((text_width(note, SMALL) for note in graph.notes), default=0.0)
    width = MARGIN + max(placed.right, MARGIN + widest)
    return Scene(width, y + MARGIN / 2, tuple(items), graph.title, " ".join(graph.notes))


# -- edges ------------------------------------------------------------------------------------


def _edge_item(
    edge: Edge, source: Frame, ways: Sequence[Waypoint], end: Point, *, shared: bool
) -> Item:
    stops = [(source.right, source.y)]
    for way in ways:
        stops += [(way.left, way.y), (way.right, way.y)]
    if edge.kind == "vote":
        shapes = _vote_shapes(edge, stops, end, shared=shared)
    else:
        shapes = _link_shapes(edge, stops, end)
    return Item(
        edge.kind,
        shapes,
        wire=edge.wire,
        label=edge.label,
        rule=edge.rules if edge.kind == "vote" else (),
        rules=edge.rules,
    )


def _link_shapes(edge: Edge, stops: list[Point], end: Point) -> tuple[Shape, ...]:
    if not edge.inverted:
        return (Path(_smooth([*stops, end])),)
    x, y = end
    bubble = Round(x - _BUBBLE_AWAY, y, _BUBBLE)
    return Path(_smooth([*stops, (bubble.x - _BUBBLE, y)])), bubble


def _vote_shapes(edge: Edge, stops: list[Point], end: Point, *, shared: bool) -> tuple[Shape, ...]:
    x, y = end
    trunk: tuple[Path, ...] = ()
    if shared and len(stops) > 1:
        trunk = (Path(_smooth(stops), neutral=True),)
        stops = stops[-1:]
    line = Path(_smooth([*stops, (x - _STUB, y), end]), dashed=edge.votes < 0)
    return *trunk, line, Text(x - 5, y - 7, edge.text, SMALL, "end")


def _smooth(stops: Sequence[Point]) -> tuple[Point, ...]:
    """Join points by curves that are horizontal at each point."""
    points = [stops[0]]
    for (x0, y0), (x1, y1) in pairwise(stops):
        bend = (x1 - x0) / 2
        points += [(x0 + bend, y0), (x1 - bend, y1), (x1, y1)]
    return tuple(points)


# -- vertices ---------------------------------------------------------------------------------


def _vertex_item(vertex: Vertex, size: Size, frame: Frame) -> Item:
    return Item(
        vertex.kind,
        (_outline(vertex, frame), *_texts(vertex, size, frame)),
        title=vertex.title,
        wire=vertex.wire,
        label=vertex.label,
        rule=() if vertex.rule is None else (vertex.rule,),
        rules=vertex.rules,
    )


def _outline(vertex: Vertex, frame: Frame) -> Shape:
    if vertex.kind == "gate":
        return Diamond(frame.x, frame.y, frame.width, frame.height)
    radius = min(frame.height, frame.width, 44.0) / 2 if vertex.kind == "class" else _CORNER
    return Box(frame.x, frame.y, frame.width, frame.height, radius)


def _texts(vertex: Vertex, size: Size, frame: Frame) -> list[Text]:
    if vertex.kind == "gate":
        return [Text(frame.x, frame.y, size.lines[0], _SIGN)]
    # In a box as high as a page, the name is near the top, where reading begins.
    middle = min(frame.y, frame.top + _MOST_ABOVE)
    top = middle - LINE * (len(size.lines) - 1) / 2
    if vertex.kind == "class":
        return [
            Text(
                frame.x, top + LINE * number, line, FONT if number == 0 else SMALL, bold=number == 0
            )
            for number, line in enumerate(size.lines)
        ]
    return [
        Text(frame.left + 10, top + LINE * number, line, FONT, "start")
        for number, line in enumerate(size.lines)
    ]
