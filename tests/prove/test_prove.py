"""A proof means that no possible row differs. A counterexample is a row that does."""

from __future__ import annotations

import datetime
import math
import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, ColumnKind, Missing
from dln.core.parts import Node, Rule
from dln.core.verdict import Counterexample, Proof, Undecided
from dln.errors import CircuitError, ExtraMissingError, OptionError
from dln.prove.adder import is_not_zero
from dln.prove.equal import prove_equal
from dln.prove.graph import Graph
from dln.prove.simulate import Support
from dln.shrink.simplify.fold import fold
from tests.support.provable import (
    AND,
    EQUAL_BY_CONDITIONS,
    HARD,
    HUE,
    INTEGER,
    NOT,
    NUMBER,
    TRIES,
    alike_on_all_rows,
    both,
    by,
    chain,
    changed,
    circuit_of,
    multiplier,
    n_atom_rows,
    numbers,
    parity,
    rewritten,
)
from tests.support.strategies import circuits, law, logic_circuits


def check_counterexample(found: Any, a: Circuit, b: Circuit) -> None:
    assert isinstance(found, Counterexample)
    differences = np.array(found.votes_a) - np.array(found.votes_b)
    assert len(set(differences.tolist())) > 1
    read = {c.columns[literal.column].name for c in (a, b) for literal in c.literals}
    assert set(found.row) == read


# -- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tries", TRIES)
@law
@given(data=st.data(), a=st.one_of(circuits(max_columns=3), logic_circuits()))
def test_a_proof_is_given_if_and_only_if_no_row_differs(
    tries: str, data: st.DataObject, a: Circuit
) -> None:
    b = data.draw(changed(a))
    assume(n_atom_rows(a, b) < 5000)
    with by(tries):
        found = prove_equal(a, b)
    if alike_on_all_rows(a, b):
        assert isinstance(found, Proof)
    else:
        check_counterexample(found, a, b)


@pytest.mark.parametrize("tries", TRIES)
@law
@given(data=st.data(), a=st.one_of(circuits(max_columns=3), logic_circuits()))
def test_other_gates_with_the_same_meaning_are_proven_equal(
    tries: str, data: st.DataObject, a: Circuit
) -> None:
    b = data.draw(rewritten(a))
    with by(tries):
        assert isinstance(prove_equal(a, b), Proof)
    assume(n_atom_rows(a, b) < 5000)
    assert alike_on_all_rows(a, b)


@law
@given(circuit=st.one_of(circuits(), logic_circuits()))
def test_a_folded_circuit_is_equal_by_structure_alone(circuit: Circuit) -> None:
    assert prove_equal(circuit, fold(circuit), time_limit=0) == Proof("structure", 0.0)


@pytest.mark.parametrize("tries", TRIES)
@law
@given(data=st.data(), a=circuits(max_columns=3))
def test_one_question_has_one_answer_and_both_orders_agree(
    tries: str, data: st.DataObject, a: Circuit
) -> None:
    b = data.draw(changed(a))
    with by(tries):
        found = prove_equal(a, b)
        assert prove_equal(a, b) == found
        assert bool(prove_equal(b, a)) == bool(found)


# -- side conditions --------------------------------------------------------------------------


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize("case", EQUAL_BY_CONDITIONS)
def test_circuits_that_only_side_conditions_make_equal_are_proven_equal(
    case: str, tries: str
) -> None:
    with by(tries):
        assert isinstance(prove_equal(*EQUAL_BY_CONDITIONS[case]), Proof)


@pytest.mark.parametrize("case", ["integers", "integer between", "booleans", "microseconds"])
def test_they_differ_if_values_can_be_any_number(case: str) -> None:
    a, b = (replace(circuit, columns=(NUMBER,)) for circuit in EQUAL_BY_CONDITIONS[case])
    check_counterexample(prove_equal(a, b), a, b)


def test_conditions_hold_within_one_column_only() -> None:
    columns = (Column("x", "number"), Column("y", "number"))
    a = both(columns, Above(0, 5.0), Above(1, 3.0))
    b = circuit_of(columns, (Above(0, 5.0),))
    check_counterexample(prove_equal(a, b), a, b)


def test_unseen_and_missing_categories_are_possible() -> None:
    anything = circuit_of(HUE, (), votes={}, base=(0, 1))
    known = circuit_of(HUE, (Among(0, (0, 1, 2)),))
    seen = circuit_of(HUE, (Missing(0),), (Node(NOT, 0, 0),))
    known_or_missing = circuit_of(
        HUE, (Among(0, (0, 1, 2)), Missing(0)), votes={0: (0, 1), 1: (0, 1)}
    )
    found = prove_equal(known_or_missing, anything)
    assert isinstance(found, Counterexample)
    assert found.row == {"hue": "other"}
    found = prove_equal(seen, anything)
    assert isinstance(found, Counterexample)
    assert found.row == {"hue": None}
    assert not prove_equal(known, seen)


def test_infinities_are_possible_numbers() -> None:
    largest = 1.7976931348623157e308
    found = prove_equal(circuit_of(NUMBER, (Above(0, largest),)), circuit_of(NUMBER, (), votes={}))
    assert isinstance(found, Counterexample)
    assert found.row == {"x": math.inf}


# -- votes ------------------------------------------------------------------------------------

PAIR = (Column("x", "boolean"), Column("y", "boolean"))
XY = (Above(0, 0.5), Above(1, 0.5))
AND_OR = (Node(AND, 0, 1), Node(GATE_BY_NAME["OR"], 0, 1))


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize("weight", [1, -3, 2**30 - 2, 2 - 2**30])
def test_equal_sums_of_different_rules_are_proven_equal(weight: int, tries: str) -> None:
    one = circuit_of(PAIR, XY, votes={0: (0, weight), 1: (0, weight)}, base=(1, 0))
    other = circuit_of(PAIR, XY, AND_OR, votes={2: (0, weight), 3: (-weight, 0)}, base=(1, 0))
    same = circuit_of(PAIR, XY, AND_OR, votes={2: (-weight, 0), 3: (0, weight)}, base=(3, 2))
    with by(tries):
        assert isinstance(prove_equal(one, same), Proof)
        assert isinstance(prove_equal(other, same), Proof)
        off = replace(same, rules=(Rule(2, (-weight, 0)), Rule(3, (0, weight + 1))))
        check_counterexample(prove_equal(one, off), one, off)


@law
@given(
    constant=st.integers(-9, 9),
    weights=st.lists(
        st.one_of(st.sampled_from([2, -4, 6, 2**31, 1 - 2**32]), st.integers(1, 9)), max_size=6
    ),
)
def test_a_sum_in_logic_is_compared_with_zero_on_every_row(
    constant: int, weights: list[int]
) -> None:
    graph = Graph()
    terms = [(graph.step(column, 1) ^ column % 2, weight) for column, weight in enumerate(weights)]
    edge = is_not_zero(graph, constant, terms)
    support = Support(graph, range(1, len(graph.parts)), len(weights))
    for rows in support.every_row():
        bits = support.bits_of(rows)[edge >> 1]
        for number, row in enumerate(rows.T.tolist()):
            total = constant + sum(
                weight * (bit ^ column % 2)
                for column, (bit, weight) in enumerate(zip(row, weights, strict=True))
            )
            assert (bits >> number & 1) ^ (edge & 1) == (total != 0)


def test_votes_that_all_classes_share_make_no_difference() -> None:
    one = circuit_of(PAIR, XY, votes={0: (0, 1), 1: (7, 7)}, base=(2, 2))
    assert prove_equal(one, circuit_of(PAIR, XY[:1])) == Proof("structure", 0.0)


def test_circuits_without_votes_or_with_constant_ones_are_compared() -> None:
    empty, none = circuit_of((), (), votes={}), circuit_of(NUMBER, (), votes={})
    assert prove_equal(empty, none)
    assert prove_equal(empty, circuit_of((), (), votes={}, base=(4, 4)))
    found = prove_equal(empty, circuit_of((), (), votes={}, base=(0, -1)))
    assert found == Counterexample({}, (0, 0), (0, -1), 0.0)
    always = circuit_of(NUMBER, (Above(0, 1.0),), (Node(GATE_BY_NAME["TRUE"], 0, 0),))
    assert prove_equal(always, circuit_of(NUMBER, (), votes={}, base=(0, 1)))
    found = prove_equal(always, none)
    assert found == Counterexample({"x": 0.0}, (0, 1), (0, 0), 0.0)


def test_one_class_is_always_equal() -> None:
    one = Circuit((NUMBER,), (Above(0, 1.0),), (), (Rule(0, (5,)),), (0,), ("only",))
    assert prove_equal(one, replace(one, rules=()))


def test_a_literal_and_its_negation_add_up_to_a_constant() -> None:
    votes = {0: (0, 3), 1: (0, 3)}
    one = circuit_of(NUMBER, (Above(0, 1.0),), (Node(NOT, 0, 0),), votes)
    assert prove_equal(one, circuit_of(NUMBER, (), votes={}, base=(0, 3)))


# -- size and time ----------------------------------------------------------------------------


def test_a_hard_question_without_time_is_undecided() -> None:
    for _ in range(2):
        found = prove_equal(*HARD, time_limit=0)
        assert found == Undecided(0.0)
        assert not found


def test_a_time_limit_is_respected() -> None:
    found = prove_equal(*HARD, time_limit=0.5)
    assert isinstance(found, Undecided)
    assert 0.5 <= found.seconds < 5  # a slow machine may exceed the limit, but not by much


def test_a_difference_that_is_easily_seen_is_found_without_time() -> None:
    a, b = HARD
    b = replace(b, rules=b.rules[:-1])
    check_counterexample(prove_equal(a, b, time_limit=0), a, b)


def test_large_structures_are_decided_by_sat() -> None:
    assert prove_equal(multiplier(5), multiplier(5, swapped=True)).__class__ is Proof
    order = random.Random(0).sample(range(20), 20)
    assert prove_equal(parity(20, range(20)), parity(20, order)) == Proof("SAT", 0.0)
    rules = multiplier(9).rules
    a, b = multiplier(9), replace(multiplier(9), rules=(*rules[:-1], Rule(0, (0, 1))))
    check_counterexample(prove_equal(a, b), a, b)


def test_a_difference_on_one_row_in_a_million_is_found() -> None:
    columns, literals = numbers(24)
    nodes = [Node(AND, 0 if wire == 1 else 22 + wire, wire) for wire in range(1, 24)]
    a, b = circuit_of(columns, literals, nodes), circuit_of(columns, literals, votes={})
    found = prove_equal(a, b)
    check_counterexample(found, a, b)
    assert isinstance(found, Counterexample)
    assert all(isinstance(cell, float) and cell > 0.5 for cell in found.row.values())


def test_chains_of_fifty_thousand_gates_need_no_recursion() -> None:
    order = list(range(25))
    gates = ["NAND", "XOR", "OR"] * 16_667
    deep = chain(gates, order)
    assert prove_equal(deep, fold(deep)) == Proof("structure", 0.0)
    check_counterexample(prove_equal(deep, chain(gates[1:], order)), deep, deep)
    forward, backward = chain(["AND"] * 50_000, order), chain(["AND"] * 50_000, order[::-1])
    assert prove_equal(forward, backward) == Proof("SAT", 0.0)


def test_thousands_of_literals_are_compared() -> None:
    columns = [Column(f"x{index}", "number") for index in range(30)]
    literals = [Above(index, float(cutoff)) for index in range(30) for cutoff in range(100)]
    nodes = [Node(AND, wire, wire - 1) for wire in range(1, 3000) if wire % 100]
    every = circuit_of(columns, literals, votes=dict.fromkeys(range(3000), (0, 1)))
    firsts = dict.fromkeys(range(0, 3000, 100), (0, 1))
    implied = dict.fromkeys(range(3000, 3000 + len(nodes)), (0, 1))
    other = circuit_of(columns, literals, nodes, firsts | implied)
    assert prove_equal(every, other) == Proof("SAT", 0.0)
    fewer = replace(other, rules=other.rules[:-1])
    check_counterexample(prove_equal(every, fewer), every, fewer)


# -- what can be compared ---------------------------------------------------------------------


def test_columns_are_matched_by_name_and_unread_ones_may_differ() -> None:
    x, y, z = (Column(name, "number") for name in "xyz")
    a = circuit_of((x, y), (Above(1, 2.0),))
    b = circuit_of((z, Column("x", "boolean"), y), (Above(2, 2.0),))
    assert prove_equal(a, b)
    c = circuit_of((z, y), (Above(1, 2.5),))
    found = prove_equal(a, c)
    assert isinstance(found, Counterexample)
    assert list(found.row) == ["y"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ("yes", "no")}, r"classes \('no', 'yes'\) and \('yes', 'no'\); only"),
        ({"classes": (False, True)}, "the same classes, in the same order"),
        ({"temperature": 2.0}, r"temperatures 1\.0 and 2\.0.*give both the same"),
        ({"columns": (INTEGER,)}, r"reads Column\(name='x', kind='number'.*kind='integer'"),
        ({"columns": (Column("z", "number"),)}, "the other has 'no column of that name'"),
    ],
)
def test_circuits_of_different_tables_or_classes_are_refused(
    change: dict[str, Any], message: str
) -> None:
    a = circuit_of(NUMBER, (Above(0, 1.0),))
    with pytest.raises(CircuitError, match=message):
        prove_equal(a, replace(a, **change))


def test_labels_of_another_type_are_other_classes() -> None:
    a = Circuit((), (), (), (), (0, 0), (0, 1))
    with pytest.raises(CircuitError, match=r"\(0, 1\) and \(False, True\)"):
        prove_equal(a, replace(a, classes=(False, True)))


def test_other_types_than_circuits_are_refused() -> None:
    with pytest.raises(OptionError, match="prove_equal takes a Circuit, not a str"):
        prove_equal(circuit_of((), (), votes={}), "circuit")  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [-1, math.nan])
def test_a_time_limit_below_zero_is_refused(limit: float) -> None:
    a = circuit_of((), (), votes={})
    with pytest.raises(OptionError, match=r"time_limit is (-1|nan), expected seconds"):
        prove_equal(a, a, time_limit=limit)
    assert prove_equal(a, a, time_limit=None)


# -- results ----------------------------------------------------------------------------------


def test_a_counterexample_is_a_row_that_the_circuits_can_read() -> None:
    kinds: list[ColumnKind] = ["number", "integer", "boolean", "date"]
    columns = (*(Column(kind, kind) for kind in kinds), HUE)
    cutoffs = (2.5, 17.0, 0.5, 1.6e9)
    literals = (*(Above(index, cutoff) for index, cutoff in enumerate(cutoffs)), Among(4, (2,)))
    nodes = [Node(AND, 0 if wire == 1 else 3 + wire, wire) for wire in range(1, 5)]
    a, b = circuit_of(columns, literals, nodes), circuit_of(columns, (), votes={})
    found = prove_equal(a, b)
    assert isinstance(found, Counterexample)
    assert str(found) == (
        "not equal: votes (0, 1) and (0, 0) where number = 4, integer = 30, boolean = True, "
        "date = 2021-01-01, hue = blue"
    )
    assert found.row["date"] == datetime.datetime(2021, 1, 1)
    assert a.votes([list(found.row.values())]).tolist() == [list(found.votes_a)]
    assert a.votes(pd.DataFrame([found.row])).tolist() == [list(found.votes_a)]
    assert hash(found) == hash(prove_equal(a, b))


def test_results_have_a_readable_text() -> None:
    assert str(Proof("SAT", 1.5)) == "equal on every possible row (proven by SAT, 1.50 s)"
    assert str(Undecided(60.0)) == "not decided within 60.00 s; raise the time limit"
    odd = Counterexample({"a or b": None, "d": np.datetime64("20000-01-01", "us")}, (1,), (2,), 0.1)
    assert "'a or b' = missing, d = 20000-01-01T00:00:00.000000" in str(odd)
    moment = Counterexample({"d": datetime.datetime(2020, 1, 2, 3)}, (1,), (2,), 0.1)
    assert str(moment).endswith("where d = 2020-01-02T03:00:00")
    assert "where nothing is read" in str(Counterexample({}, (1,), (2,), 0.1))
    assert [bool(x) for x in (Proof("SAT", 1.0), odd, Undecided(1.0))] == [True, False, False]


def test_without_a_solver_only_proofs_that_require_it_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    assert prove_equal(HARD[0], HARD[0])
    assert prove_equal(*EQUAL_BY_CONDITIONS["order"])
    with pytest.raises(ExtraMissingError, match="this proof requires python-sat; install"):
        prove_equal(*HARD)


def test_the_solver_is_imported_only_if_needed() -> None:
    code = "import dln.prove.equal, sys; sys.exit('pysat' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
