"""Layers of vertices -> an order within each layer in which few links cross.

Sugiyama's method: each layer in turn is sorted by the mean position of the neighbours in the layer
before, from left to right and back, and then neighbours in a layer change places while that removes
crossings. The best order that was met is kept. The result depends on nothing but the input.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise

Order = list[list[int]]
"""The vertices of each layer, from top to bottom."""

_SWEEPS, _PATIENCE = 24, 6  # the search ends after 6 sweeps without progress
_ROUNDS = 4  # of exchanges after a sweep
_MOST_LINKS = 2000  # exchanges take too long beyond


def order_layers(layers: Sequence[int], links: Sequence[tuple[int, int]]) -> Order:
    """Order the vertices of each layer; a link leads from a vertex to one of the next layer.

    >>> order_layers([0, 0, 1, 1], [(0, 3), (1, 2)])
    [[0, 1], [3, 2]]
    """
    graph = _Neighbours(layers, links)
    best, fewest = graph.first_order(), -1
    for start in (graph.first_order(), graph.order_by_depth()):
        for order in graph.improve(start):
            crossings = graph.count(order)
            if fewest < 0 or crossings < fewest:
                best, fewest = [list(layer) for layer in order], crossings
    return best


class _Neighbours:
    """The links of a layered graph, by vertex and direction."""

    def __init__(self, layers: Sequence[int], links: Sequence[tuple[int, int]]) -> None:
        self.layers = layers
        self.n_links = len(links)
        self.before: list[list[int]] = [[] for _ in layers]
        self.after: list[list[int]] = [[] for _ in layers]
        for source, target in links:
            self.before[target].append(source)
            self.after[source].append(target)

    def first_order(self) -> Order:
        """Return the vertices of each layer as they are numbered."""
        order: Order = [[] for _ in range(max(self.layers, default=-1) + 1)]
        for vertex, layer in enumerate(self.layers):
            order[layer].append(vertex)
        return order

    def order_by_depth(self) -> Order:
        """Return each layer as a search from the last vertices meets it, depth first.

        So what one vertex reads is together.
        """
        order: Order = [[] for _ in self.first_order()]
        seen: set[int] = set()
        stack = [vertex for layer in self.first_order() for vertex in reversed(layer)]
        while stack:
            vertex = stack.pop()
            if vertex not in seen:
                seen.add(vertex)
                order[self.layers[vertex]].append(vertex)
                stack += reversed(self.before[vertex])
        return order

    def improve(self, order: Order) -> Iterator[Order]:
        """Yield the order and what sweeps make of it."""
        yield order
        fewest, waited = self.count(order), 0
        for sweep in range(_SWEEPS):
            self._sweep(order, forwards=sweep % 2 == 0)
            if self.n_links <= _MOST_LINKS:
                self._exchange(order)
            yield order
            crossings = self.count(order)
            waited = 0 if crossings < fewest else waited + 1
            fewest = min(fewest, crossings)
            if not fewest or waited >= _PATIENCE:
                return

    def _sweep(self, order: Order, forwards: bool) -> None:
        """Sort each layer by the mean position of its neighbours in the layer that comes first."""
        numbers = range(1, len(order)) if forwards else range(len(order) - 2, -1, -1)
        for number in numbers:
            fixed = order[number - 1 if forwards else number + 1]
            place = {vertex: position for position, vertex in enumerate(fixed)}
            neighbours = self.before if forwards else self.after
            wanted = _wanted(order[number], place, neighbours)
            order[number].sort(key=wanted.__getitem__)

    def _exchange(self, order: Order) -> None:
        """Let neighbours in a layer change places while that removes crossings."""
        for _ in range(_ROUNDS):
            improved = False
            for number, layer in enumerate(order):
                around = [
                    (neighbours, {vertex: place for place, vertex in enumerate(order[other])})
                    for neighbours, other in ((self.before, number - 1), (self.after, number + 1))
                    if 0 <= other < len(order)
                ]
                places = [
                    {vertex: sorted(map(place.__getitem__, neighbours[vertex])) for vertex in layer}
                    for neighbours, place in around
                ]
                for i in range(len(layer) - 1):
                    a, b = layer[i], layer[i + 1]
                    now = sum(_crossings(own[a], own[b]) for own in places)
                    if now and now > sum(_crossings(own[b], own[a]) for own in places):
                        layer[i], layer[i + 1] = b, a
                        improved = True
            if not improved:
                return

    def count(self, order: Order) -> int:
        """Count the pairs of links that cross."""
        total = 0
        for left, right in pairwise(order):
            place = {vertex: position for position, vertex in enumerate(right)}
            arrived: list[int] = []
            for vertex in left:
                targets = [place[target] for target in self.after[vertex]]
                total += sum(len(arrived) - bisect_right(arrived, target) for target in targets)
                for target in targets:
                    insort(arrived, target)
        return total


def _wanted(
    layer: list[int], place: dict[int, int], neighbours: list[list[int]]
) -> dict[int, float]:
    """Return the mean position of each vertex's neighbours.

    A vertex without neighbours follows the one before it.
    """
    wanted: dict[int, float] = {}
    last = 0.0
    for vertex in layer:
        around = neighbours[vertex]
        if around:
            last = sum(place[each] for each in around) / len(around)
        wanted[vertex] = last
    return wanted


def _crossings(above: list[int], below: list[int]) -> int:
    """Count the crossings of the links of two vertices, given the sorted places of their ends."""
    return sum(len(above) - bisect_right(above, end) for end in below)
