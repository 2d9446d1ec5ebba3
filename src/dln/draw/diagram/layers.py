"""Graph of gates -> positions in layers from left to right: literals, gates by depth, classes.

Each layer is ordered so that few edges cross (`order.py`). Edges over several layers get a waypoint
in each layer between.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from dln.draw.diagram.graph import Graph
from dln.draw.diagram.order import Order, order_layers
from dln.draw.diagram.placement import Frame, Placement, Waypoint
from dln.draw.diagram.ports import spread_arrivals
from dln.draw.diagram.sizes import Size

Floats = NDArray[np.float64]

_GAP = 9.0  # free space between the shapes of a layer
_WAYPOINT_HEIGHT = 6.0
_SWEEPS, _STRAIGHT, _INERTIA = 12, 2.0, 0.01
_LAYER_GAP, _CLASS_GAP, _EDGE_ROOM, _MOST_ROOM = 46.0, 100.0, 2.5, 90.0


@dataclass(frozen=True)
class _Layered:
    """The vertices of the diagram and then the waypoints, each in a layer, and their links.

    Edges of the same wire share their waypoints, so that they separate as late as possible.
    """

    n_vertices: int
    layers: list[int]
    links: list[tuple[int, int]]
    waypoints: list[list[int]]


def place_layers(graph: Graph, sizes: dict[str, Size]) -> Placement:
    """Compute a frame for each vertex and waypoints for each edge."""
    depth = _depths(graph)
    layered = _split_edges(graph, depth)
    order = _upright(graph, order_layers(layered.layers, layered.links))
    heights = [sizes[vertex.key].height for vertex in graph.vertices]
    heights += [_WAYPOINT_HEIGHT] * (len(layered.layers) - len(heights))
    y = _settle(layered, order, np.array(heights))
    columns = _columns(graph, sizes, layered)
    frames = {}
    for number, vertex in enumerate(graph.vertices):
        left, right = columns[layered.layers[number]]
        # Boxes are as wide as their layer, so that literals look like a list.
        width = sizes[vertex.key].width if vertex.kind == "gate" else right - left
        # At the right border, where edges start, so that no box of the layer is in the way.
        frames[vertex.key] = Frame(right - width / 2, float(y[number]), width, heights[number])
    ways = [
        tuple(Waypoint(*columns[layered.layers[number]], float(y[number])) for number in numbers)
        for numbers in layered.waypoints
    ]
    return Placement(frames, tuple(ways), spread_arrivals(graph, frames, ways))


def _depths(graph: Graph) -> dict[str, int]:
    """Return the depth of each vertex, counted in gates from the literals. Classes come last."""
    sources: dict[str, list[str]] = {}
    for edge in graph.edges:
        sources.setdefault(edge.target, []).append(edge.source)
    depth: dict[str, int] = {}
    for vertex in graph.vertices:
        if vertex.kind == "literal":
            depth[vertex.key] = 0
        elif vertex.kind == "gate":
            read = [depth[key] for key in sources.get(vertex.key, ())]
            depth[vertex.key] = 1 + max(read, default=-1)  # a constant reads nothing
    last = 1 + max(depth.values(), default=-1)
    return {vertex.key: depth.get(vertex.key, last) for vertex in graph.vertices}


def _split_edges(graph: Graph, depth: dict[str, int]) -> _Layered:
    """Add waypoints to edges, so that each piece leads from one layer to the next."""
    place = {vertex.key: number for number, vertex in enumerate(graph.vertices)}
    layers = [depth[vertex.key] for vertex in graph.vertices]
    links: list[tuple[int, int]] = []
    waypoints: list[list[int]] = []
    shared: dict[tuple[str, int], int] = {}
    for edge in graph.edges:
        chain = []
        for layer in range(depth[edge.source] + 1, depth[edge.target]):
            if (edge.source, layer) not in shared:
                shared[edge.source, layer] = len(layers)
                layers.append(layer)
            chain.append(shared[edge.source, layer])
        waypoints.append(chain)
        links += pairwise([place[edge.source], *chain, place[edge.target]])
    return _Layered(len(place), layers, sorted(set(links)), waypoints)


def _upright(graph: Graph, order: Order) -> Order:
    """Turn the picture upside down if that puts more classes into their order."""
    classes = {number for number, vertex in enumerate(graph.vertices) if vertex.kind == "class"}
    placed = [number for layer in order for number in layer if number in classes]
    rising = sum(1 if a < b else -1 for a, b in combinations(placed, 2))
    return [layer[::-1] for layer in order] if rising < 0 else order


def _settle(layered: _Layered, given: Order, heights: Floats) -> Floats:
    """Compute the vertical position of each vertex, in the given order.

    The fullest layer is packed. The others move towards their neighbours, in several sweeps.
    """
    from sklearn.isotonic import isotonic_regression  # slow to load

    order = [np.array(members, dtype=np.intp) for members in given]
    offsets = [_least_offsets(heights[members]) for members in order]
    fullest = max(range(len(order)), key=lambda layer: float(offsets[layer][-1]))
    y = np.zeros(len(layered.layers))
    for members, least in zip(order, offsets, strict=True):
        y[members] = least - least.mean()
    pulls = _Pulls(layered)
    outwards = [*range(fullest - 1, -1, -1), *range(fullest + 1, len(order))]
    for _ in range(_SWEEPS):
        for layer in outwards:
            members, least = order[layer], offsets[layer]
            wanted = pulls.means(y)[members]
            # Least squares of the moves with a minimum distance: isotonic regression.
            y[members] = isotonic_regression(wanted - least) + least
    return y


class _Pulls:
    """The mean position of the neighbours of each vertex.

    Waypoints have a larger weight than vertices, so that long edges become straight.
    """

    def __init__(self, layered: _Layered) -> None:
        ends = np.array(layered.links, dtype=np.intp).reshape(-1, 2)
        weights = 1.0 + _STRAIGHT * (ends >= layered.n_vertices).sum(axis=1)
        self._pulled, self._pulling = np.concatenate([ends, ends[:, ::-1]]).T
        self._weights = np.tile(weights, 2)
        self._total = self._add_up(np.ones(len(layered.layers))) + _INERTIA

    def means(self, y: Floats) -> Floats:
        """Return the mean position of the neighbours; a vertex without any keeps its own."""
        return (self._add_up(y) + _INERTIA * y) / self._total

    def _add_up(self, y: Floats) -> Floats:
        pulls = self._weights * y[self._pulling]
        return np.asarray(np.bincount(self._pulled, pulls, len(y)), dtype=np.float64)


def _least_offsets(heights: Floats) -> Floats:
    """Stack shapes with the minimum space between them, and return their centres."""
    steps = (heights[:-1] + heights[1:]) / 2 + _GAP
    return np.concatenate([[0.0], np.cumsum(steps)])


def _columns(
    graph: Graph, sizes: dict[str, Size], layered: _Layered
) -> dict[int, tuple[float, float]]:
    """Return the left and right border of each layer. More edges between layers need more room."""
    widths = dict.fromkeys(layered.layers, 0.0)
    for number, vertex in enumerate(graph.vertices):
        layer = layered.layers[number]
        widths[layer] = max(widths[layer], sizes[vertex.key].width)
    arriving = Counter(layered.layers[target] for _, target in layered.links)
    last = max(widths)
    columns: dict[int, tuple[float, float]] = {}
    x = 0.0
    for layer in range(last + 1):
        if layer:
            room = min(_EDGE_ROOM * arriving[layer], _MOST_ROOM)
            x += room + (_CLASS_GAP if layer == last else _LAYER_GAP)
        columns[layer] = (x, x + widths[layer])
        x += widths[layer]
    return columns
