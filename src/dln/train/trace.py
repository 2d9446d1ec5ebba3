"""The record of a training run: the parameters of a network over time.

Everything here is computed from the recorded logits. Plots are in `dln.draw`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.core.gates import GATES
from dln.train.network import Network

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Trace:
    """The parameters of a network at several epochs of its training.

    Attributes
    ----------
    network
        The network with its wiring: `literal_column` has the feature of each threshold,
        `link_wires` the wires that an input may read.
    epochs
        Finished epochs at each record (n,), from 0 (the start) to the end.
    loss, accuracy
        Loss and balanced accuracy on the training rows in the epoch before each record (n,); NaN
        at the start. For a number, the accuracy is minus the loss.
    temperatures
        Temperature of gates and links at each record (n,).
    cutoffs, slopes
        Cutoff and slope of each literal (n, literals), on the encoded columns: the paper's b and
        s. They are constant for literals that are not thresholds.
    gate_logits, link_logits, vote_logits
        (n, gates, choices), (n, gates, 2, candidates), (n, classes, rules): W, U and V, S.
    weights
        Weights of the rules, and the bias, of a network that predicts a number (n, rules + 1).
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
    weights: Floats

    @property
    def gate_names(self) -> tuple[str, ...]:
        """Names of the gate functions, in the order of `gate_probabilities`."""
        return tuple(GATES[code].name for code in self.network.gate_choices.tolist())

    def gate_probabilities(self, gate: int | slice = slice(None)) -> Floats:
        """Return the probability of each function for a gate (n, choices), or for all gates."""
        return softmax(self.gate_logits[:, gate], self.temperatures)

    def link_entropy(self) -> Floats:
        """Return the entropy of the candidates of each input in nats (n, gates, 2)."""
        probability = softmax(self.link_logits, self.temperatures)
        logarithm = np.log(probability, where=probability > 0, out=np.zeros_like(probability))
        return np.asarray(-(probability * logarithm).sum(axis=-1))

    def converged(self, threshold: float = 0.9) -> Floats:
        """Return the fraction of gates whose most likely function has this probability (n,)."""
        top = self.gate_probabilities().max(axis=-1)
        return np.asarray((top >= threshold).mean(axis=-1), dtype=np.float32)


def make_trace(
    network: Network,
    epochs: Sequence[int],
    records: Floats,
    history: Floats,
    temperatures: Floats,
) -> Trace | None:
    """Make a trace from an engine's records; None if there are none.

    Parameters
    ----------
    epochs
        Finished epochs at each record.
    records
        The network's parameters, flat and in order: (records, parameters).
    history
        Loss and accuracies of each epoch: (epochs, 4).
    temperatures
        Temperature of each epoch.
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
    # There are no values before the first epoch.
    known = np.vstack([np.full((1, 4), np.nan, dtype=np.float32), history])[done]
    scale = temperatures[np.maximum(done - 1, 0)]
    return Trace(network, done, known[:, 0], known[:, 1], scale, *arrays)


def softmax(logits: Floats, temperatures: Floats) -> Floats:
    """Return the probabilities (n, ..., choices) of logits, at the temperature of each record."""
    scale = temperatures.reshape(-1, *[1] * (logits.ndim - 1))
    e = np.exp((logits - logits.max(axis=-1, keepdims=True)) / scale)
    return np.asarray(e / e.sum(axis=-1, keepdims=True), dtype=np.float32)
