"""Graph of rules -> positions: rules below each other, classes on the right, parts below."""

from __future__ import annotations

from dln.draw.diagram.graph import Graph
from dln.draw.diagram.placement import Frame, Placement
from dln.draw.diagram.sizes import Size

_GAP, _GROUP_GAP, _PARTS_GAP = 7.0, 22.0, 26.0
_CLASS_GAP = 64.0


def place_stack(graph: Graph, sizes: dict[str, Size]) -> Placement:
    """Compute a frame for each vertex. Edges are straight lines to the class."""
    boxes = [vertex for vertex in graph.vertices if vertex.kind in ("rule", "part")]
    classes = [vertex for vertex in graph.vertices if vertex.kind == "class"]
    width = max((sizes[vertex.key].width for vertex in boxes), default=0.0)
    class_width = max(sizes[vertex.key].width for vertex in classes)
    x = width + (_CLASS_GAP if boxes else 0.0) + class_width / 2
    frames: dict[str, Frame] = {}
    y = 0.0
    for vertex in classes:
        own = sizes[vertex.key]
        rules = [box for box in boxes if box.kind == "rule" and box.label == vertex.label]
        stacked = sum(sizes[box.key].height + _GAP for box in rules) - (_GAP if rules else 0.0)
        height = max(stacked, own.height)
        top = y + (height - stacked) / 2
        for box in rules:
            size = sizes[box.key]
            frames[box.key] = Frame(width / 2, top + size.height / 2, width, size.height)
            top += size.height + _GAP
        # As high as its rules, so that votes are horizontal lines.
        frames[vertex.key] = Frame(x, y + height / 2, class_width, height)
        y += height + _GROUP_GAP
    y += _PARTS_GAP - _GROUP_GAP
    for box in boxes:
        if box.kind == "part":
            size = sizes[box.key]
            frames[box.key] = Frame(width / 2, y + size.height / 2, width, size.height)
            y += size.height + _GAP
    arrivals = [(frames[edge.target].left, frames[edge.source].y) for edge in graph.edges]
    return Placement(frames, ((),) * len(graph.edges), tuple(arrivals))
