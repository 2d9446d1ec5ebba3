"""The 16 gates: everything follows from the truth table."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle

import numpy as np
import pytest

from dln.core.gates import GATE_BY_NAME, GATES, PRIORITY, Form, Gate, Operators, gate_of

BITS = (0, 1)
PAIRS = list(itertools.product(BITS, BITS))
every_gate = pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)


def test_there_are_sixteen_different_gates_numbered_by_their_tables() -> None:
    assert len({gate.table for gate in GATES}) == len(GATE_BY_NAME) == 16
    assert [gate.code for gate in GATES] == list(range(16))


@pytest.mark.parametrize(
    ("name", "number"),
    # The paper's table of operators: the number is the row of outputs for AB = 00, 01, 10, 11.
    [
        ("FALSE", 0),
        ("AND", 1),
        ("A", 3),
        ("B", 5),
        ("XOR", 6),
        ("OR", 7),
        ("NOR", 8),
        ("XNOR", 9),
        ("NOT_B", 10),
        ("NOT_A", 12),
        ("NAND", 14),
        ("TRUE", 15),
    ],
)
def test_codes_are_the_numbers_of_the_paper(name: str, number: int) -> None:
    assert GATE_BY_NAME[name].code == number


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("FALSE", lambda a, b: False),
        ("AND", lambda a, b: a and b),
        ("A_AND_NOT_B", lambda a, b: a and not b),
        ("A", lambda a, b: a),
        ("NOT_A_AND_B", lambda a, b: not a and b),
        ("B", lambda a, b: b),
        ("XOR", lambda a, b: a != b),
        ("OR", lambda a, b: a or b),
        ("NOR", lambda a, b: not (a or b)),
        ("XNOR", lambda a, b: a == b),
        ("NOT_B", lambda a, b: not b),
        ("A_OR_NOT_B", lambda a, b: a or not b),
        ("NOT_A", lambda a, b: not a),
        ("NOT_A_OR_B", lambda a, b: not a or b),
        ("NAND", lambda a, b: not (a and b)),
        ("TRUE", lambda a, b: True),
    ],
)
def test_gates_compute_what_their_names_say(name, meaning) -> None:  # type: ignore[no-untyped-def]
    assert [GATE_BY_NAME[name].hard(a, b) for a, b in PAIRS] == [
        int(bool(meaning(a, b))) for a, b in PAIRS
    ]


def test_priority_is_the_order_of_the_paper() -> None:
    paper = (
        "NOR, NAND, XOR, XNOR, OR, AND, A, B, NOT A, NOT B, B IMPLIES A, A IMPLIES B, "
        "NOT (A IMPLIES B), NOT (B IMPLIES A), False, True"
    )
    names = {
        "B IMPLIES A": "A_OR_NOT_B",
        "A IMPLIES B": "NOT_A_OR_B",
        "NOT (A IMPLIES B)": "A_AND_NOT_B",
        "NOT (B IMPLIES A)": "NOT_A_AND_B",
    }
    expected = [names.get(name, name.upper().replace(" ", "_")) for name in paper.split(", ")]
    assert [gate.name for gate in PRIORITY] == expected


@every_gate
def test_soft_equals_the_table_at_the_corners_and_mixes_between(gate: Gate) -> None:
    for (a, b), bit in zip(PAIRS, gate.table, strict=True):
        assert gate.soft(a, b) == gate.hard(a, b) == bit
    assert gate.soft(0.5, 0.5) == sum(gate.table) / 4
    a, b = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5))
    assert np.all((gate.soft(a, b) >= 0) & (gate.soft(a, b) <= 1))


@every_gate
def test_coefficients_are_those_of_the_bilinear_form(gate: Gate) -> None:
    c0, c1, c2, c3 = gate.coefficients
    assert [c0 + c1 * a + c2 * b + c3 * a * b for a, b in PAIRS] == list(gate.table)


@every_gate
def test_negations_and_swap_do_what_they_say_and_undo_themselves(gate: Gate) -> None:
    for a, b in PAIRS:
        assert gate.negate_a().hard(a, b) == gate.hard(1 - a, b)
        assert gate.negate_b().hard(a, b) == gate.hard(a, 1 - b)
        assert gate.negate().hard(a, b) == 1 - gate.hard(a, b)
        assert gate.swap().hard(a, b) == gate.hard(b, a)
    for change in (Gate.negate_a, Gate.negate_b, Gate.negate, Gate.swap):
        assert change(change(gate)) is gate


@every_gate
def test_reads_a_and_reads_b_are_true_for_inputs_that_matter(gate: Gate) -> None:
    assert gate.reads_a == any(gate.hard(0, b) != gate.hard(1, b) for b in BITS)
    assert gate.reads_b == any(gate.hard(a, 0) != gate.hard(a, 1) for a in BITS)


@every_gate
def test_a_gate_stays_the_same_object_through_copies_and_pickles(gate: Gate) -> None:
    assert gate_of(gate.table) is gate
    assert pickle.loads(pickle.dumps(gate)) is copy.deepcopy(gate) is copy.copy(gate) is gate


FORMS = {
    "FALSE": Form("constant"),
    "AND": Form("and"),
    "A_AND_NOT_B": Form("and", negate_b=True),
    "A": Form("copy"),
    "NOT_A_AND_B": Form("and", negate_a=True),
    "B": Form("copy"),
    "XOR": Form("xor"),
    "OR": Form("or"),
    "NOR": Form("and", negate_a=True, negate_b=True),
    "XNOR": Form("xor", negated=True),
    "NOT_B": Form("copy", negated=True),
    "A_OR_NOT_B": Form("or", negate_b=True),
    "NOT_A": Form("copy", negated=True),
    "NOT_A_OR_B": Form("or", negate_a=True),
    "NAND": Form("or", negate_a=True, negate_b=True),
    "TRUE": Form("constant", negated=True),
}


@every_gate
def test_the_form_is_the_operation_that_the_name_says(gate: Gate) -> None:
    assert gate.form == FORMS[gate.name]


@every_gate
def test_a_gate_computed_from_its_form_equals_its_table(gate: Gate) -> None:
    bits = Operators(operator.and_, operator.or_, operator.xor, lambda bit: 1 - bit, int)
    assert tuple(gate.compute(bits, a, b) for a, b in PAIRS) == gate.table
