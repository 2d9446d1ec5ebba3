"""Votes of discretised networks on many encoded rows, by the native predictor.

`count_votes` of `dln.train.votes` defines the result. It needs memory for every gate of every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from dln.core.builder import CircuitBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, GATES
from dln.core.literals import Above, Column, LiteralKind, Missing
from dln.core.readout import Votes
from dln.train.live import find_live, hard_codes, hard_sources, hard_votes
from dln.train.network import Network

BLOCK_ROWS = 1 << 16
"""Number of rows that are copied at a time."""


def count_votes_of(
    networks: Sequence[Network], cells: NDArray[np.float32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add up the votes of networks on some encoded rows: (n_rows, n_classes)."""
    circuit = circuit_on_cells(networks, cells.shape[1])
    found = np.empty((len(rows), len(networks[0].vote_logits)), dtype=np.int64)
    for first in range(0, len(rows), BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        found[block] = circuit.votes(np.asarray(cells[rows[block]]))
    return found


def circuit_on_cells(networks: Sequence[Network], n_columns: int) -> Circuit:
    """Return a circuit that reads encoded columns as numbers and has the votes of networks."""
    columns = tuple(Column(f"column {number}", "number") for number in range(n_columns))
    n_classes = len(networks[0].vote_logits)
    builder = CircuitBuilder(columns, Votes.without_rules(tuple(range(n_classes)), 1.0))
    for network in networks:
        _add(network, builder)
    return builder.finish()


def _add(network: Network, builder: CircuitBuilder) -> None:
    sources, codes, on = hard_sources(network), hard_codes(network), hard_votes(network).T
    wires = network.rule_wires[on.any(axis=1)]
    live, n_literals = find_live(network, sources, wires), network.n_literals
    signals: dict[int, Signal] = {}
    for wire in np.flatnonzero(live).tolist():  # a gate reads earlier wires
        if wire < n_literals:
            kind = LiteralKind(network.literal_kind[wire])
            column, value = int(network.literal_column[wire]), float(network.cutoffs[wire])
            signals[wire] = _literal(builder, kind, column, value)
        else:
            a, b = sources[wire - n_literals].tolist()
            gate = GATES[codes[wire - n_literals]]
            signals[wire] = builder.gate(gate, signals[a], signals[b])
    for wire, votes in zip(network.rule_wires.tolist(), on.tolist(), strict=True):
        if any(votes):
            builder.vote(signals[wire], tuple(map(int, votes)))


def _literal(builder: CircuitBuilder, kind: LiteralKind, column: int, value: float) -> Signal:
    match kind:
        case LiteralKind.ABOVE:
            return builder.literal(Above(column, value))
        case LiteralKind.AMONG:  # groups have whole numbers
            over = builder.literal(Above(column, value + 0.5)).invert()
            return builder.gate(
                GATE_BY_NAME["AND"], builder.literal(Above(column, value - 0.5)), over
            )
        case LiteralKind.MISSING:
            return builder.literal(Missing(column))
        case _:
            assert_never(kind)
