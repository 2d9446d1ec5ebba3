"""Trained networks and grown trees -> Circuit, in the user's units.

Promise: on the training rows the circuit has the same votes as the discretised networks and the
trees. Each cutoff is moved to the shortest number between the two training values that it
separates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks
from dln.core.builder import FALSE, TRUE, CircuitBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.decimals import readable_cutoff
from dln.core.gates import GATE_BY_NAME, GATES
from dln.core.labels import Label
from dln.core.literals import Above, Among, LiteralKind, Missing
from dln.core.readout import Readout, Votes
from dln.data.coded import count_missing
from dln.data.codes import encode_cells
from dln.data.table import Table
from dln.encode.bits import EncodedLiteral
from dln.encode.encoder import ColumnCode, Encoder
from dln.train.levels import Branch, Condition, Level
from dln.train.live import find_live, hard_codes, hard_sources, hard_votes
from dln.train.network import Network
from dln.train.trees import Leaf

_AND, _OR = GATE_BY_NAME["AND"], GATE_BY_NAME["OR"]


def discretise(
    networks: Sequence[Network],
    encoder: Encoder,
    table: Table,
    *,
    classes: tuple[Label, ...],
    temperature: float,
    network_votes: Sequence[int] | int = 1,
    tree_rules: Sequence[Leaf | Level] = (),
    earlier: Circuit | None = None,
    constraints: Constraints | None = None,
) -> Circuit:
    """Convert networks, trained on the encoded rows of `table`, to one circuit.

    Several networks become one circuit in which all of them vote. A rule of a network gives
    `network_votes` to its classes: one number, or one for each network. `tree_rules` vote too, and
    the rules of an `earlier` circuit on the columns of the encoder. The circuit keeps
    `constraints`, if all of these were made within them.
    """
    shared = [network_votes] * len(networks) if isinstance(network_votes, int) else network_votes
    ruled = [
        RuledNetwork(network, class_votes(network, share))
        for network, share in zip(networks, shared, strict=True)
    ]
    readout = Votes.without_rules(classes, float(temperature))
    circuit = build_circuit(readout, ruled, tree_rules, encoder, table, earlier)
    return circuit if constraints is None else replace(circuit, constraints=constraints)


class RuledNetwork(NamedTuple):
    """A network, and the points that its rules give, by their wire."""

    network: Network
    points: dict[int, tuple[int, ...]]


def class_votes(network: Network, share: int) -> dict[int, tuple[int, ...]]:
    """Return the votes of a network's rules, `share` votes for each link that is on."""
    on = hard_votes(network).T
    return {
        wire: tuple(share * int(vote) for vote in row)
        for wire, row in zip(network.rule_wires.tolist(), on.tolist(), strict=True)
        # A vote for every class has no effect.
        if any(row) and not all(row)
    }


def build_circuit(
    readout: Readout,
    networks: Sequence[RuledNetwork],
    tree_rules: Sequence[Leaf | Level],
    encoder: Encoder,
    table: Table,
    earlier: Circuit | None = None,
) -> Circuit:
    """Build the circuit of networks and rules of trees, fitted on the encoded rows of `table`.

    The rules of the readout are not used, only what it answers and its base votes. The rules of an
    `earlier` circuit are added.
    """
    builder = CircuitBuilder(encoder.columns, readout)
    builder.vote(TRUE, readout.base_votes)
    hard_networks = [_HardNetwork(*ruled) for ruled in networks]
    tests = {test for hard in hard_networks for test in hard.tests.values()}
    tests.update(test for rule in tree_rules for test in rule.tests)
    translator = _Translator(builder, encoder, table, _find_all_gaps(tests, encoder, table))
    for hard in hard_networks:
        signals = {wire: translator.signal(test) for wire, test in hard.tests.items()}
        for gate in hard.live_gates():
            a, b = hard.sources[gate].tolist()
            signals[hard.network.n_literals + gate] = builder.gate(
                GATES[hard.codes[gate]], signals[a], signals[b]
            )
        for wire, votes in hard.votes.items():
            builder.vote(signals[wire], votes)
    for rule in tree_rules:
        builder.vote(_signal_of(rule, translator, builder), rule.votes)
    if earlier is not None:
        signals_of = builder.copy(earlier.logic)
        builder.vote(TRUE, earlier.base_votes)
        for own in earlier.rules:
            builder.vote(signals_of[own.wire], own.votes)
    return builder.finish()


def _signal_of(rule: Leaf | Level, translator: _Translator, builder: CircuitBuilder) -> Signal:
    if isinstance(rule, Level):
        return _holds(rule.condition, translator, builder).invert(rule.negated)
    # Leaves of one tree share the gates of the path to their last common node.
    signal = TRUE
    for test, is_true in rule.path:
        signal = builder.gate(_AND, signal, translator.signal(test).invert(not is_true))
    return signal


def _holds(condition: Condition, translator: _Translator, builder: CircuitBuilder) -> Signal:
    if not isinstance(condition, Branch):
        return TRUE if condition else FALSE
    test = translator.signal(condition.test)
    low = _holds(condition.low, translator, builder)
    high = _holds(condition.high, translator, builder)
    # One side implies the other if the column has a direction. Then it needs no test.
    below = low if condition.sign > 0 else builder.gate(_AND, test.invert(), low)
    above = high if condition.sign < 0 else builder.gate(_AND, test, high)
    return builder.gate(_OR, below, above)


class _HardNetwork:
    """The discretised network: one function and two inputs for each gate, and rules' points."""

    def __init__(self, network: Network, points: dict[int, tuple[int, ...]]) -> None:
        self.network = network
        self._n_literals = network.n_literals
        self.codes = hard_codes(network)
        self.sources = hard_sources(network)
        self.votes = points
        roots = np.array(list(points), dtype=np.int32)
        self._live = find_live(network, self.sources, roots)
        # Literals that a vote depends on, by their wire.
        self.tests: dict[int, EncodedLiteral] = {
            wire: EncodedLiteral(
                LiteralKind(network.literal_kind[wire]),
                int(network.literal_column[wire]),
                float(network.cutoffs[wire]),
            )
            for wire in np.flatnonzero(self._live[: self._n_literals]).tolist()
        }

    def live_gates(self) -> list[int]:
        """Gates that a vote depends on, in order."""
        return [int(gate) for gate in np.flatnonzero(self._live[self._n_literals :])]


class Gap(NamedTuple):
    """The two neighbouring training values that a cutoff separates; None if there is none."""

    low: float | None
    high: float | None


_Gaps = dict[tuple[int, float], Gap]
"""The gap of each column and cutoff on the encoded column."""


def _cutoff(test: EncodedLiteral) -> float:
    return math.inf if math.isnan(test.value) else test.value  # comparisons with NaN are false


def _find_all_gaps(tests: Iterable[EncodedLiteral], encoder: Encoder, table: Table) -> _Gaps:
    """Find the gap of each threshold, column by column."""
    wanted: defaultdict[int, set[float]] = defaultdict(set)
    for test in tests:
        if test.kind == LiteralKind.ABOVE:
            wanted[test.column].add(_cutoff(test))
    gaps: _Gaps = {}
    for column, cutoffs in wanted.items():
        ordered = sorted(cutoffs)
        found = find_gaps(table, column, encoder.codes[column], np.array(ordered, dtype=np.float32))
        gaps.update(((column, cutoff), gap) for cutoff, gap in zip(ordered, found, strict=True))
    return gaps


def find_gaps(
    table: Table, column: int, code: ColumnCode, cutoffs: NDArray[np.float32]
) -> list[Gap]:
    """Find the two neighbouring values of a column that each cutoff on its scale separates."""
    assert code.scale is not None
    firsts = code.scale.first_above(cutoffs)
    lows, highs = np.full(len(cutoffs), np.nan), np.full(len(cutoffs), np.nan)
    raw = table.read(column)
    for rows in row_blocks(len(raw)):
        # Sorted in their own type, which is faster; NaN comes last.
        values = np.sort(encode_cells(raw.take(rows), code.column)).astype(np.float64)
        values = values[: np.searchsorted(values, np.nan)]
        # NaN before the first value and after the last, for cutoffs with no value on one side.
        padded = np.concatenate([[np.nan], values, [np.nan]])
        n_below = np.searchsorted(values, firsts)
        lows = np.fmax(lows, padded[n_below])
        highs = np.fmin(highs, padded[n_below + 1])
    return [
        Gap(None if np.isnan(low) else low, None if np.isnan(high) else high)
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True)
    ]


class _Translator:
    """Converts literals of a network to tests on the user's table."""

    def __init__(
        self,
        builder: CircuitBuilder,
        encoder: Encoder,
        table: Table,
        gaps: _Gaps,
    ) -> None:
        self._builder = builder
        self._encoder = encoder
        self._table = table
        self._gaps = gaps
        self._signals: dict[EncodedLiteral, Signal] = {}

    def signal(self, test: EncodedLiteral) -> Signal:
        """Return the signal of a literal, and add it if necessary."""
        if test not in self._signals:
            self._signals[test] = self._new_signal(test)
        return self._signals[test]

    def _new_signal(self, test: EncodedLiteral) -> Signal:
        column = test.column
        match test.kind:
            case LiteralKind.ABOVE:
                return self._above(column, self._gaps[column, _cutoff(test)])
            case LiteralKind.AMONG:
                group = self._encoder.codes[column].groups[int(test.value)]
                return self._builder.literal(Among(column, group))
            case LiteralKind.MISSING:
                return self._missing(column)
            case _:
                assert_never(test.kind)

    def _above(self, column: int, gap: Gap) -> Signal:
        if gap.high is None:
            return FALSE
        if gap.low is None:  # every value that is not missing is above
            return self._missing(column).invert()
        kind = self._encoder.codes[column].column.kind
        return self._builder.literal(Above(column, readable_cutoff(gap.low, gap.high, kind)))

    def _missing(self, column: int) -> Signal:
        n_missing = count_missing(self._table.read(column))
        if n_missing == 0:
            return FALSE
        if n_missing == self._table.n_rows:
            return TRUE
        return self._builder.literal(Missing(column))
