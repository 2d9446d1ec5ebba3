"""Remove gates that do not settle on a function during training.

A pruned gate loses its votes and its readers: these logits become minus infinity, as in the paper's
subspaces. If a number is predicted, its weight becomes 0, and the engine keeps it there. Each input
keeps at least one candidate, and frozen parts stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dln.train.live import hard_sources, live_rules
from dln.train.network import Network
from dln.train.schedule import Schedule


def prune_gates(
    network: Network, pruned: NDArray[np.bool_], schedule: Schedule, epoch: int
) -> None:
    """Prune at the start of an epoch, in place. `pruned` (gates,) marks removed gates.

    In each layer, the gates with the smallest largest probability are removed first.
    """
    top = _top_probability(network.gate_logits, float(schedule.temperatures[epoch]))
    kept = _find_kept(network, schedule, epoch)
    readers = _Readers(network)
    quotas = schedule.prune_quota(epoch).tolist()
    for gates, quota in zip(network.layer_slices(), quotas, strict=True):
        layer = np.arange(gates.start, gates.stop)
        room = quota - int(pruned[layer].sum())
        weak = layer[~pruned[layer] & ~kept[layer] & (top[layer] < schedule.convergence)]
        for gate in weak[np.argsort(top[weak], kind="stable")].tolist():
            if room <= 0:
                break
            wire = network.n_literals + gate
            if readers.mask(wire):
                rules = np.flatnonzero(network.rule_wires == wire)
                network.vote_logits[:, rules] = -np.inf
                if network.predicts_number:
                    network.weights[rules] = 0.0
                pruned[gate] = True
                room -= 1


def _top_probability(logits: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    scaled = (logits - logits.max(axis=1, keepdims=True)) / np.float32(temperature)
    return np.asarray(1 / np.exp(scaled).sum(axis=1), dtype=np.float32)


def _find_kept(network: Network, schedule: Schedule, epoch: int) -> NDArray[np.bool_]:
    """Return which gates are frozen or read by frozen parts."""
    kept = np.zeros(network.n_literals + network.n_gates, dtype=bool)
    frozen = np.flatnonzero(np.repeat(schedule.layer_freeze <= epoch, network.layers))
    kept[network.n_literals + frozen] = True
    kept[hard_sources(network)[frozen]] = True
    if schedule.vote_freeze <= epoch:
        kept[network.rule_wires[live_rules(network)]] = True
    return kept[network.n_literals :]


class _Readers:
    """The candidates of all inputs that are not masked, by wire."""

    def __init__(self, network: Network) -> None:
        self._logits = network.link_logits.reshape(-1)
        self._n_links = network.link_logits.shape[2]
        wires = network.link_wires.reshape(-1)
        n_wires = network.n_literals + network.n_gates
        self._slots = np.argsort(wires, kind="stable")
        self._starts = np.searchsorted(wires[self._slots], np.arange(n_wires + 1))
        self._n_left = (network.link_logits > -np.inf).sum(axis=2).reshape(-1)

    def mask(self, wire: int) -> bool:
        """Mask a wire for all its readers, unless it is the only candidate of an input."""
        slots = self._slots[self._starts[wire] : self._starts[wire + 1]]
        slots = slots[self._logits[slots] > -np.inf]
        inputs, counts = np.unique(slots // self._n_links, return_counts=True)
        if np.any(self._n_left[inputs] == counts):
            return False
        self._logits[slots] = -np.inf
        self._n_left[inputs] -= counts
        return True
