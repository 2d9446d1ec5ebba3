"""A training run as data: the parameters of a network, record after record.

Everything here is derived from the recorded logits; drawing is left to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.gates import GATES
from dln.train.network import Network

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Trace:
    """One network at several moments of its training.

    Attributes
    ----------
    network
        The network, for its wiring: `literal_column` says which feature a threshold tests,
        `link_wires` which wires an input may read.
    epochs
        Epochs done at each record (n,); the first is 0, the start, the last the end.
    loss, accuracy
        Of the epoch before each record (n,), the accuracy balanced, on training rows; NaN at the
        start.
    temperatures
        What divided the logits of gates and links then (n,).
    cutoffs, slopes
        Of every literal (n, literals), on the encoded columns: the paper's b and s. Those of
        literals that are no thresholds never change.
    gate_logits, link_logits, vote_logits
        (n, gates, choices), (n, gates, 2, candidates), (n, classes, rules): W, U and V, S.
    """

    network: Network
    epochs: NDArray[np.int32]
    loss: Floats
    accuracy: Floats
    temperatures: Floats
    cutoffs: Floats
    slopes: Floats
    gate_logits: Floats
    link_logits: Floats
    vote_logits: Floats

    @property
    def gate_names(self) -> tuple[str, ...]:
        """Names of the gate functions, in the order of `gate_probabilities`."""
        return tuple(GATES[code].name for code in self.network.gate_choices.tolist())

    def gate_probabilities(self, gate: int | slice = slice(None)) -> Floats:
        """Give how likely each function is for a gate (n, choices), or for all of them."""
        return _softmax(self.gate_logits[:, gate], self.temperatures)

    def link_entropy(self) -> Floats:
        """Give the entropy of every input's candidates in nats (n, gates, 2); 0 is settled."""
        probability = _softmax(self.link_logits, self.temperatures)
        logarithm = np.log(probability, where=probability > 0, out=np.zeros_like(probability))
        return np.asarray(-(probability * logarithm).sum(axis=-1))

    def converged(self, threshold: float = 0.9) -> Floats:
        """Give the part of the gates whose first choice has reached this probability (n,)."""
        top = self.gate_probabilities().max(axis=-1)
        return np.asarray((top >= threshold).mean(axis=-1), dtype=np.float32)


def make_trace(
    network: Network,
    epochs: Sequence[int],
    records: Floats,
    history: Floats,
    temperatures: Floats,
) -> Trace | None:
    """Make a trace of what an engine recorded; None where nothing was.

    Parameters
    ----------
    epochs
        Epochs done at each record.
    records
        The network's parameters, in their order and flat: (records, parameters).
    history
        Loss and accuracies of every epoch: (epochs, 4).
    temperatures
        Of every epoch.
    """
    if len(epochs) == 0:
        return None
    parts = network.parameters()
    ends = np.cumsum([part.size for part in parts])[:-1]
    arrays = [
        flat.reshape(len(epochs), *part.shape)
        for flat, part in zip(np.split(records, ends, axis=1), parts, strict=True)
    ]
    done = np.array(epochs, dtype=np.int32)
    # Before the first epoch nothing is known.
    known = np.vstack([np.full((1, 4), np.nan, dtype=np.float32), history])[done]
    scale = temperatures[np.maximum(done - 1, 0)]
    return Trace(network, done, known[:, 0], known[:, 1], scale, *arrays)


def _softmax(logits: Floats, temperatures: Floats) -> Floats:
    scale = temperatures.reshape(-1, *[1] * (logits.ndim - 1))
    e = np.exp((logits - logits.max(axis=-1, keepdims=True)) / scale)
    return np.asarray(e / e.sum(axis=-1, keepdims=True), dtype=np.float32)
