"""Votes and scores of discretised networks on encoded rows, without building the circuit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import LiteralKind
from dln.encode.bits import evaluate_literals
from dln.train.jobs import Job
from dln.train.live import hard_codes, hard_sources, hard_votes
from dln.train.network import Network


def count_votes(networks: Sequence[Network], cells: NDArray[np.float32]) -> NDArray[np.int64]:
    """Add up the votes of networks on encoded rows: (n_rows, n_classes)."""
    return sum(
        (_votes(network, cells) for network in networks),
        start=np.zeros((len(cells), len(networks[0].vote_logits)), dtype=np.int64),
    )


def count_all_votes(job: Job, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add the votes of a job's network on some rows to those that the rows have beforehand."""
    votes = count_votes([job.network], job.data.cells[rows]).astype(np.float64)
    return votes if job.data.offset is None else votes + job.data.offset[rows]


def add_scores(networks: Sequence[Network], cells: NDArray[np.float32]) -> NDArray[np.float64]:
    """Add up the scores of networks that predict a number, on encoded rows: (n_rows,)."""
    return sum((_scores(network, cells) for network in networks), start=np.zeros(len(cells)))


def _votes(network: Network, cells: NDArray[np.float32]) -> NDArray[np.int64]:
    # Products of floats are fast, and sums of bits are exact in them.
    votes = evaluate_rules(network, cells) @ hard_votes(network).T.astype(np.float64)
    return votes.astype(np.int64)


def _scores(network: Network, cells: NDArray[np.float32]) -> NDArray[np.float64]:
    *weights, bias = network.weights.astype(np.float64)
    return np.asarray(evaluate_rules(network, cells) @ np.array(weights) + bias)


def evaluate_rules(network: Network, cells: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return 1 where a rule of the hard network is true on encoded rows: (n_rows, n_rules)."""
    n_literals = network.n_literals
    wires = np.empty((n_literals + network.n_gates, len(cells)), dtype=np.uint8)
    columns = np.ascontiguousarray(cells.T)
    for kind in LiteralKind:
        literals = np.flatnonzero(network.literal_kind == kind)
        values = network.cutoffs[literals, None]
        wires[literals] = evaluate_literals(kind, columns[network.literal_column[literals]], values)
    sources = hard_sources(network)
    codes = hard_codes(network)
    outputs = wires[n_literals:]
    for gates in network.layer_slices():  # a layer reads only earlier layers
        a, b = wires[sources[gates, 0]], wires[sources[gates, 1]]
        outputs[gates] = codes[gates, None] >> (3 - 2 * a - b) & 1
    return wires[network.rule_wires].T.astype(np.float64)
