"""New networks: sizes, candidate lists and the wires that each layer can read."""

from __future__ import annotations

import numpy as np
import pytest

from dln.core.literals import LiteralKind
from dln.encode.bits import LiteralSet
from dln.train.network import Concatenation, Network, Shape, build_network

N_MATCHES, N_THRESHOLDS = 2, 3


def network(concatenation: Concatenation, n_links: int | None = None) -> Network:
    literals = LiteralSet(
        np.array(
            [LiteralKind.AMONG] * N_MATCHES + [LiteralKind.ABOVE] * N_THRESHOLDS, dtype=np.uint8
        ),
        np.arange(N_MATCHES + N_THRESHOLDS, dtype=np.int32),
        np.zeros(N_MATCHES + N_THRESHOLDS, dtype=np.float32),
    )
    return build_network(
        literals,
        Shape((5, 4, 3), n_links=n_links, concatenation=concatenation),
        n_classes=2,
        slope=2.0,
        vote_threshold=0.8,
        vote_density=0.5,
        rng=np.random.default_rng(0),
    )


def seen(net: Network, layer: int) -> set[int]:
    """Return the wires that some gate of a layer may read."""
    start = sum(net.layers[:layer])
    gates = slice(start, start + net.layers[layer])
    is_open = net.link_logits[gates] > -np.inf
    return set(net.link_wires[gates][is_open].tolist())


def test_every_layer_reads_separate_thresholds() -> None:
    net = network("separate")
    assert net.n_literals == N_MATCHES + 3 * N_THRESHOLDS
    matches = {0, 1}
    own = [set(range(2 + 3 * layer, 5 + 3 * layer)) for layer in range(3)]
    gates = [set(range(11, 16)), set(range(16, 20))]
    assert seen(net, 0) == matches | own[0]
    assert seen(net, 1) == matches | own[1] | gates[0]
    assert seen(net, 2) == matches | own[2] | gates[1]
    assert net.literal_layer.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_all_layers_read_the_same_thresholds() -> None:
    net = network("shared")
    literals = set(range(N_MATCHES + N_THRESHOLDS))
    assert seen(net, 0) == literals
    assert seen(net, 1) == literals | set(range(5, 10))
    assert seen(net, 2) == literals | set(range(10, 14))


def test_only_the_first_layer_reads_thresholds() -> None:
    net = network("none")
    assert seen(net, 0) == set(range(5))
    assert seen(net, 1) == set(range(5, 10))
    assert seen(net, 2) == set(range(10, 14))


@pytest.mark.parametrize("concatenation", ["separate", "shared", "none"])
def test_lists_hold_different_wires(concatenation: Concatenation) -> None:
    net = network(concatenation, n_links=4)
    for wires, logits in zip(
        net.link_wires.reshape(-1, 4), net.link_logits.reshape(-1, 4), strict=True
    ):
        chosen = wires[logits > -np.inf].tolist()
        assert len(set(chosen)) == len(chosen) == 4


def test_short_lists_are_padded_by_masked_copies_of_their_candidates() -> None:
    net = network("separate", n_links=None)
    is_open = net.link_logits > -np.inf
    assert not is_open.all()
    for wires, opens in zip(
        net.link_wires.reshape(-1, net.link_wires.shape[2]),
        is_open.reshape(-1, net.link_wires.shape[2]),
        strict=True,
    ):
        assert set(wires[~opens]) <= set(wires[opens])
