"""Folding keeps every vote on every row and makes nothing larger."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, GATES, Gate
from dln.core.literals import Above, Column
from dln.core.parts import Node, Rule
from dln.shrink.simplify.fold import fold
from tests.support.strategies import as_rows, circuits, every_row, law, logic_circuits, rows_for

WIRINGS = [(0, 1), (1, 0), (1, 1)]
AND, NAND, NOT = GATE_BY_NAME["AND"], GATE_BY_NAME["NAND"], GATE_BY_NAME["NOT_A"]


def n_real_gates(circuit: Circuit) -> int:
    """Count the gates that depend on two wires: not negations, copies or constants."""
    return sum(
        node.gate.reads_a and node.gate.reads_b and node.a != node.b for node in circuit.nodes
    )


def logic(n_literals: int, nodes: list[Node], rules: list[Rule]) -> Circuit:
    return Circuit(
        columns=tuple(Column(f"x{index}", "boolean") for index in range(n_literals)),
        literals=tuple(Above(index, 0.5) for index in range(n_literals)),
        nodes=tuple(nodes),
        rules=tuple(rules),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )


@law
@given(circuit=logic_circuits())
def test_folding_keeps_every_vote_on_every_row(circuit: Circuit) -> None:
    rows = every_row(circuit)
    assert_array_equal(fold(circuit).votes(rows), circuit.votes(rows))


@law
@given(data=st.data(), circuit=circuits())
def test_folding_keeps_the_votes_of_circuits_with_columns_of_all_kinds(
    data: st.DataObject, circuit: Circuit
) -> None:
    table = as_rows(circuit, data.draw(rows_for(circuit)))
    assert_array_equal(fold(circuit).votes(table), circuit.votes(table))


@law
@given(circuit=st.one_of(logic_circuits(), circuits()))
def test_folding_twice_changes_nothing_more(circuit: Circuit) -> None:
    assert fold(fold(circuit)) == fold(circuit)


@law
@given(circuit=st.one_of(logic_circuits(), circuits()))
def test_folding_adds_no_literal_gate_or_rule_and_keeps_the_rest(circuit: Circuit) -> None:
    folded = fold(circuit)
    assert set(folded.literals) <= set(circuit.literals)
    assert len(set(folded.literals)) == folded.n_literals <= circuit.n_literals
    assert n_real_gates(folded) <= n_real_gates(circuit)
    assert len(folded.rules) <= len(circuit.rules)
    assert folded.columns == circuit.columns
    assert folded.classes == circuit.classes
    assert folded.temperature == circuit.temperature


@law
@given(circuit=st.one_of(logic_circuits(), circuits()))
def test_every_remaining_part_is_read_and_depends_on_its_inputs(circuit: Circuit) -> None:
    folded = fold(circuit)
    rule_wires = {rule.wire for rule in folded.rules}
    read = rule_wires | {wire for node in folded.nodes for wire in (node.a, node.b)}
    assert read == set(range(folded.n_wires))
    for wire, node in enumerate(folded.nodes, start=folded.n_literals):
        if node.a == node.b:  # a negation, placed only for a rule
            assert node.gate is NOT
            assert wire in rule_wires
        else:
            assert node.gate.reads_a
            assert node.gate.reads_b
            assert node.a < node.b


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
@pytest.mark.parametrize("same", [False, True])
def test_every_gate_folds_to_what_it_computes(gate: Gate, same: bool) -> None:
    circuit = logic(2, [Node(gate, 0, 0 if same else 1)], [Rule(2, (0, 1))])
    folded = fold(circuit)
    assert_array_equal(folded.votes(every_row(circuit)), circuit.votes(every_row(circuit)))
    inputs = {"a": gate.reads_a, "b": gate.reads_b}
    assert n_real_gates(folded) == int(all(inputs.values()) and not same)


@pytest.mark.parametrize("first", GATES, ids=lambda gate: gate.name)
def test_every_pair_of_gates_keeps_its_votes_however_it_is_wired(first: Gate) -> None:
    for second, (a, b), (c, d) in itertools.product(GATES, WIRINGS, [(2, 0), (1, 2), (2, 2)]):
        nodes = [Node(first, a, b), Node(second, c, d)]
        for rules in ([Rule(3, (0, 1))], [Rule(2, (2, 0)), Rule(3, (0, 1))]):
            circuit = logic(2, nodes, rules)
            table = every_row(circuit)
            assert_array_equal(fold(circuit).votes(table), circuit.votes(table))


def test_a_gate_and_its_negation_become_one_gate() -> None:
    nodes = [Node(AND, 0, 1), Node(NAND, 1, 0), Node(NOT, 2, 2)]
    folded = fold(logic(2, nodes, [Rule(2, (1, 0)), Rule(3, (0, 1)), Rule(4, (0, 1))]))
    assert folded.nodes == (Node(AND, 0, 1), Node(NOT, 2, 2))
    assert folded.rules == (Rule(2, (1, 0)), Rule(3, (0, 2)))


def test_a_negation_that_only_rules_read_is_taken_into_the_gate() -> None:
    folded = fold(logic(2, [Node(AND, 0, 1), Node(NOT, 2, 0)], [Rule(3, (0, 1))]))
    assert folded.nodes == (Node(NAND, 0, 1),)


def test_votes_that_cancel_and_unread_gates_are_dropped() -> None:
    nodes = [Node(AND, 0, 1), Node(NAND, 0, 1), Node(AND, 0, 0)]
    folded = fold(logic(2, nodes, [Rule(2, (0, 1)), Rule(2, (0, -1)), Rule(4, (0, 1))]))
    assert (folded.n_literals, folded.n_gates, len(folded.rules)) == (1, 0, 1)


def test_a_rule_that_always_fires_becomes_base_votes() -> None:
    folded = fold(logic(1, [Node(GATE_BY_NAME["A_OR_NOT_B"], 0, 0)], [Rule(1, (3, 1))]))
    assert (folded.base_votes, folded.rules, folded.n_literals) == ((3, 1), (), 0)
