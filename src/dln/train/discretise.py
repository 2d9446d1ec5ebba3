"""Trained network -> Circuit, in the user's units.

Promise: on the training rows the circuit gives the class that the hard network gives, bit for bit.
A cutoff moves, between the two training values that it separates, to the most readable number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.builder import FALSE, TRUE, CircuitBuilder, Signal
from dln.circuit import Circuit
from dln.encode.encoder import Encoder
from dln.gates import GATES
from dln.labels import Label
from dln.literals import Above, Among, Missing
from dln.predict import encode_cells
from dln.table import Table
from dln.train.decimals import readable_cutoff
from dln.train.network import ABOVE, EQUALS, Network


def discretise(
    networks: Sequence[Network],
    encoder: Encoder,
    table: Table,
    cells: NDArray[np.float32],
    *,
    classes: tuple[Label, ...],
    vote_threshold: float,
    temperature: float,
) -> Circuit:
    """Turn networks, trained on the encoded `cells` of `table`, into one circuit.

    Several networks become one circuit in which all of them vote.
    """
    gaps = _Gaps(encoder, table, cells)
    builder = CircuitBuilder(encoder.columns, classes, float(temperature))
    for network in networks:
        hard = _HardNetwork(network, vote_threshold)
        signals = {wire: gaps.signal(builder, network, wire) for wire in hard.live_literals()}
        for gate in hard.live_gates():
            a, b = hard.sources[gate].tolist()
            signals[network.n_literals + gate] = builder.gate(
                GATES[hard.codes[gate]], signals[a], signals[b]
            )
        for wire, votes in hard.votes:
            builder.vote(signals[wire], votes)
    return builder.finish()


class _HardNetwork:
    """The argmax of a network: one gate and two sources for each gate, votes that are on."""

    def __init__(self, network: Network, vote_threshold: float) -> None:
        self._n_literals = network.n_literals
        self.codes = network.gate_choices[network.gate_logits.argmax(axis=1)]
        best = network.link_logits.argmax(axis=2)
        self.sources = np.take_along_axis(network.link_wires, best[:, :, None], axis=2)[:, :, 0]
        limit = np.float32(np.log(vote_threshold / (1.0 - vote_threshold)))
        on = (network.vote_logits >= limit).T
        self.votes: list[tuple[int, tuple[int, ...]]] = []
        for wire, row in zip(network.rule_wires.tolist(), on.tolist(), strict=True):
            # A vote for every class decides nothing.
            if any(row) and not all(row):
                self.votes.append((wire, tuple(int(vote) for vote in row)))
        self._live = self._find_live()

    def _find_live(self) -> NDArray[np.bool_]:
        live = np.zeros(self._n_literals + len(self.codes), dtype=bool)
        live[[wire for wire, _ in self.votes]] = True
        for gate in range(len(self.codes) - 1, -1, -1):
            if live[self._n_literals + gate]:
                live[self.sources[gate]] = True
        return live

    def live_literals(self) -> list[int]:
        """Literals that some vote depends on."""
        return [int(wire) for wire in np.flatnonzero(self._live[: self._n_literals])]

    def live_gates(self) -> list[int]:
        """Gates that some vote depends on, in order."""
        return [int(gate) for gate in np.flatnonzero(self._live[self._n_literals :])]


class _Gaps:
    """Training values of each column in order, to find the gap that a cutoff lies in."""

    def __init__(self, encoder: Encoder, table: Table, cells: NDArray[np.float32]) -> None:
        self._encoder = encoder
        self._table = table
        self._cells = cells
        self._sorted: dict[int, tuple[NDArray[Any], NDArray[np.float32]]] = {}

    def signal(self, builder: CircuitBuilder, network: Network, wire: int) -> Signal:
        """Say what a literal of the network tests in the user's table."""
        column = int(network.literal_column[wire])
        kind = network.literal_kind[wire]
        if kind == ABOVE:
            return self._above(builder, column, network.cutoffs[wire])
        if kind == EQUALS:
            group = self._encoder.codes[column].groups[int(network.cutoffs[wire])]
            return builder.literal(Among(column, group))
        return builder.literal(Missing(column))

    def _above(self, builder: CircuitBuilder, column: int, cutoff: np.float32) -> Signal:
        values, scaled = self._column(column)
        below = int(np.searchsorted(scaled, cutoff, side="right"))
        if below == len(values):
            return FALSE
        if below == 0:  # every known cell is above
            if len(values) == len(self._cells):
                return TRUE
            return Signal(builder.literal(Missing(column)).part, True)
        kind = self._encoder.codes[column].column.kind
        low, high = float(values[below - 1]), float(values[below])
        return builder.literal(Above(column, readable_cutoff(low, high, kind)))

    def _column(self, column: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        if column not in self._sorted:
            raw = encode_cells(self._table.read(column), self._encoder.codes[column].column)
            values = np.asarray(raw, dtype=np.float64)
            order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
            self._sorted[column] = values[order], self._cells[order, column]
        return self._sorted[column]
