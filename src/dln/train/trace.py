"""A training run as data: the parameters of a network, record after record.

Everything here is derived from the recorded logits; drawing is left to others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.gates import GATES
from dln.train.network import Network
from dln.train.options import TrainOptions

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Trace:
    """Parameters of one network at several moments of its training.

    Attributes
    ----------
    gate_choices
        Codes of the gate functions that `gate_logits` weigh (choices,).
    epochs
        Epochs done at each record (n,); the first is 0, the start.
    temperatures
        What divided the logits of gates and links then (n,).
    cutoffs, slopes
        Of every literal (n, literals), on the encoded columns: the paper's b and s. Those of
        literals that are no thresholds never change.
    gate_logits, link_logits, vote_logits
        (n, gates, choices), (n, gates, 2, candidates), (n, classes, rules): W, U and V, S.
    """

    gate_choices: NDArray[np.uint8]
    epochs: NDArray[np.int32]
    temperatures: Floats
    cutoffs: Floats
    slopes: Floats
    gate_logits: Floats
    link_logits: Floats
    vote_logits: Floats

    @property
    def gate_names(self) -> tuple[str, ...]:
        """Names of the gate functions, in the order of `gate_probabilities`."""
        return tuple(GATES[code].name for code in self.gate_choices.tolist())

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


def split_trace(
    records: Floats, network: Network, options: TrainOptions, temperatures: Floats
) -> Trace | None:
    """Split what an engine recorded, (records, parameters) in the order of the fields of a trace.

    None where nothing was recorded.
    """
    if len(records) == 0:
        return None
    parts = network.parameters()
    ends = np.cumsum([part.size for part in parts])[:-1]
    arrays = [
        flat.reshape(len(records), *part.shape)
        for flat, part in zip(np.split(records, ends, axis=1), parts, strict=True)
    ]
    # The last epoch is recorded in any case.
    epochs = np.minimum(np.arange(len(records)) * options.trace_every, options.epochs)
    moments = temperatures[np.maximum(epochs - 1, 0)]
    return Trace(network.gate_choices, epochs.astype(np.int32), moments, *arrays)


def _softmax(logits: Floats, temperatures: Floats) -> Floats:
    scale = temperatures.reshape(-1, *[1] * (logits.ndim - 1))
    e = np.exp((logits - logits.max(axis=-1, keepdims=True)) / scale)
    return np.asarray(e / e.sum(axis=-1, keepdims=True), dtype=np.float32)
