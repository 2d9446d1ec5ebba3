"""Find the hard circuit in a network, and the parts that its answer depends on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dln.train.network import Network, vote_limit


def hard_codes(network: Network) -> NDArray[np.uint8]:
    """Return the function of each gate (gates,): that of largest logit."""
    return np.asarray(network.gate_choices[network.gate_logits.argmax(axis=1)])


def hard_sources(network: Network) -> NDArray[np.int32]:
    """Return the wires that each gate reads (gates, 2): its candidates of largest logit."""
    best = network.link_logits.argmax(axis=2)
    return np.take_along_axis(network.link_wires, best[:, :, None], axis=2)[:, :, 0]


def hard_votes(network: Network) -> NDArray[np.bool_]:
    """Return which vote links are on (classes, rules)."""
    return np.asarray(network.vote_logits >= np.float32(vote_limit(network.vote_threshold)))


def find_live(
    network: Network, sources: NDArray[np.int32], roots: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return which wires (literals and gates,) the root wires depend on."""
    live = np.zeros(network.n_literals + network.n_gates, dtype=bool)
    live[roots] = True
    live_gates = live[network.n_literals :]
    for gates in reversed(network.layer_slices()):  # a layer reads only earlier layers
        live[sources[gates][live_gates[gates]]] = True
    return live


def live_rules(network: Network) -> NDArray[np.bool_]:
    """Return which rules have a vote, or a weight that is not 0 (rules,)."""
    if network.predicts_number:
        return np.asarray(network.weights[:-1] != 0)
    return np.asarray(hard_votes(network).any(axis=0))


def count_live_gates(network: Network) -> int:
    """Count the gates that the answer depends on."""
    roots = network.rule_wires[live_rules(network)]
    return int(find_live(network, hard_sources(network), roots)[network.n_literals :].sum())
