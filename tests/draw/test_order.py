"""The order within layers: every vertex once, few crossings, the same every time."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dln.draw.diagram.order import Order, order_layers


@st.composite
def layered_graphs(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Draw layers of vertices, and links from each layer to the next."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    layers = [number for number, size in enumerate(sizes) for _ in range(size)]
    possible = [
        (source, target)
        for source, target in combinations(range(len(layers)), 2)
        if layers[target] == layers[source] + 1
    ]
    return layers, sorted(draw(st.sets(st.sampled_from(possible)))) if possible else []


def count_crossings(order: Order, links: list[tuple[int, int]]) -> int:
    """Compare all pairs of links."""
    place = {
        vertex: (number, i) for number, layer in enumerate(order) for i, vertex in enumerate(layer)
    }
    ends = [(place[source], place[target]) for source, target in links]
    return sum(
        a[0] == b[0] and (a[1] - b[1]) * (c[1] - d[1]) < 0
        for (a, c), (b, d) in combinations(ends, 2)
    )


@given(layered_graphs())
def test_each_vertex_keeps_its_layer_and_no_crossing_is_added(
    graph: tuple[list[int], list[tuple[int, int]]],
) -> None:
    layers, links = graph
    order = order_layers(layers, links)
    numbered = [
        [vertex for vertex, own in enumerate(layers) if own == layer]
        for layer in range(max(layers) + 1)
    ]
    assert [sorted(layer) for layer in order] == numbered
    assert count_crossings(order, links) <= count_crossings(numbered, links)
    assert order_layers(layers, links) == order


def test_two_layers_that_can_be_untangled_are() -> None:
    for shift in range(1, 6):
        links = [(source, 6 + (source + shift) % 6) for source in range(6)]
        assert count_crossings(order_layers([0] * 6 + [1] * 6, links), links) == 0


def test_what_a_vertex_reads_is_side_by_side() -> None:
    # Two trees whose leaves alternate: 0, 2, 4, 6 belong to the first, 1, 3, 5, 7 to the second.
    layers = [0] * 8 + [1] * 4 + [2] * 2
    links = [(0, 8), (4, 8), (1, 9), (5, 9), (2, 10), (6, 10), (3, 11), (7, 11)]
    links += [(8, 12), (10, 12), (9, 13), (11, 13)]
    assert count_crossings(order_layers(layers, sorted(links)), links) == 0


def test_nothing_has_an_order() -> None:
    assert order_layers([], []) == []
    assert order_layers([0, 0], []) == [[0, 1]]
