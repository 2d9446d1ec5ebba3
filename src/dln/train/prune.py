"""Take out gates that settle on no function, while the network is trained.

A pruned gate loses its votes and its readers: its logits there become minus infinity, as for the
paper's subspaces. No input is ever left without a candidate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dln.train.network import Network
from dln.train.schedule import Schedule


def prune_gates(
    network: Network, pruned: NDArray[np.bool_], schedule: Schedule, epoch: int
) -> None:
    """Prune at the start of an epoch, in place; `pruned` (gates,) says what is gone.

    In each layer the gates that are the furthest from a decision go first.
    """
    top = _top_probability(network.gate_logits, float(schedule.temperatures[epoch]))
    open_links = network.link_logits > -np.inf
    n_left = open_links.sum(axis=2)
    start = 0
    for size, quota in zip(network.layers, schedule.prune_quota(epoch).tolist(), strict=True):
        layer = np.arange(start, start + size)
        start += size
        room = quota - int(pruned[layer].sum())
        weak = layer[~pruned[layer] & (top[layer] < schedule.convergence)]
        for gate in weak[np.argsort(top[weak], kind="stable")].tolist():
            if room <= 0:
                break
            wire = network.n_literals + gate
            readers = open_links & (network.link_wires == wire)
            if np.any((n_left > 0) & (n_left == readers.sum(axis=2))):
                continue  # some input could read nothing else
            open_links &= ~readers
            n_left = open_links.sum(axis=2)
            network.link_logits[readers] = -np.inf
            network.vote_logits[:, network.rule_wires == wire] = -np.inf
            pruned[gate] = True
            room -= 1


def _top_probability(logits: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    scaled = (logits - logits.max(axis=1, keepdims=True)) / np.float32(temperature)
    return np.asarray(1 / np.exp(scaled).sum(axis=1), dtype=np.float32)
