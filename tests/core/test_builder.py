"""What is built votes like what was described, in whatever order it is described."""

from __future__ import annotations

import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from dln.core.builder import FALSE, TRUE, CircuitBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, GATES, Gate
from dln.core.literals import Above, Column
from dln.core.readout import Votes
from tests.support.strategies import every_row, law, logic_circuits

COLUMNS = (Column("x", "boolean"), Column("y", "boolean"))
NO_YES = Votes.without_rules(("no", "yes"))
X, Y = Above(0, 0.5), Above(1, 0.5)


@law
@given(circuit=logic_circuits())
def test_literals_may_be_added_after_gates(circuit: Circuit) -> None:
    builder = CircuitBuilder(circuit.columns, circuit.readout)
    signals: dict[int, Signal] = {}

    def signal(wire: int) -> Signal:
        if wire < circuit.n_literals:
            return builder.literal(circuit.literals[wire])
        return signals[wire]

    for wire, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        signals[wire] = builder.gate(gate, signal(a), signal(b))
    for rule in circuit.rules:
        builder.vote(signal(rule.wire), rule.votes)
    built = builder.finish()
    assert_array_equal(built.votes(every_row(circuit)), circuit.votes(every_row(circuit)))
    assert all(node.a <= node.b for node in built.nodes)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_constants_are_absorbed_by_every_gate(gate: Gate) -> None:
    builder = CircuitBuilder(COLUMNS, NO_YES)
    x = builder.literal(X)
    for constant, bit in ((FALSE, 0), (TRUE, 1)):
        expected = {(0, 0): FALSE, (1, 1): TRUE, (0, 1): x, (1, 0): Signal(x.part, True)}
        assert builder.gate(gate, constant, x) == expected[gate.hard(bit, 0), gate.hard(bit, 1)]
        assert builder.gate(gate, x, constant) == expected[gate.hard(0, bit), gate.hard(1, bit)]
        for other, other_bit in ((FALSE, 0), (TRUE, 1)):
            assert builder.gate(gate, constant, other) == (FALSE, TRUE)[gate.hard(bit, other_bit)]


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_a_part_and_its_negation_fold_to_a_simpler_signal(gate: Gate) -> None:
    builder = CircuitBuilder(COLUMNS, NO_YES)
    x = builder.literal(X)
    not_x = Signal(x.part, True)
    expected = {(0, 0): FALSE, (1, 1): TRUE, (0, 1): x, (1, 0): not_x}
    assert builder.gate(gate, x, x) == expected[gate.hard(0, 0), gate.hard(1, 1)]
    assert builder.gate(gate, x, not_x) == expected[gate.hard(0, 1), gate.hard(1, 0)]


def test_equal_descriptions_become_one_part() -> None:
    builder = CircuitBuilder(COLUMNS, NO_YES)
    x, y = builder.literal(X), builder.literal(Y)
    assert builder.literal(Above(0, 0.5)) == x
    both = builder.gate(GATE_BY_NAME["AND"], x, y)
    assert builder.gate(GATE_BY_NAME["AND"], y, x) == both
    assert builder.gate(GATE_BY_NAME["NAND"], y, x) == Signal(both.part, True)
    assert builder.gate(GATE_BY_NAME["NOR"], Signal(x.part, True), Signal(y.part, True)) == both


def test_an_empty_builder_gives_a_circuit_without_votes() -> None:
    circuit = CircuitBuilder(COLUMNS, Votes.without_rules(("no", "yes"), 2.5)).finish()
    assert circuit == Circuit(COLUMNS, (), (), (), (0, 0), ("no", "yes"), 2.5)
    assert circuit.predict([[True, False]]).tolist() == ["no"]


def test_votes_for_constants_are_base_votes_or_nothing() -> None:
    builder = CircuitBuilder(COLUMNS, NO_YES)
    builder.vote(TRUE, (1, 2))
    builder.vote(TRUE, (0, -1))
    builder.vote(FALSE, (5, 5))
    assert builder.finish().base_votes == (1, 1)
