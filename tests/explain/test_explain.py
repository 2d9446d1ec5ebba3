"""An explanation describes what the circuit computes for a row and why, for every form of a row."""

from __future__ import annotations

import html
import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, GATES
from dln.core.labels import label_to_json
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.parts import Node, Rule
from dln.errors import ColumnTypeError, MissingColumnError, TableError
from dln.explain.explanation import Explanation, explain_row
from dln.explain.reasons import find_reason
from tests.explain.test_rule_table import Tags
from tests.support.strategies import (
    Rows,
    as_objects,
    atom_cells,
    busy_circuits,
    circuits,
    law,
    plain_votes,
    rows_for,
)

AND, OR = GATE_BY_NAME["AND"], GATE_BY_NAME["OR"]
MOST_ROWS = 3000


def every_row(circuit: Circuit) -> Rows:
    """Make a row for every combination of atoms."""
    cells = [atom_cells(circuit, column) for column in range(len(circuit.columns))]
    assume(math.prod(map(len, cells)) <= MOST_ROWS)
    return [list(row) for row in itertools.product(*cells)]


# -- votes ------------------------------------------------------------------------------------


@law
@given(data=st.data(), circuit=circuits())
def test_fired_rules_are_those_whose_wire_is_1(data: st.DataObject, circuit: Circuit) -> None:
    for row in data.draw(rows_for(circuit, max_rows=3)):
        explanation = explain_row(circuit, row)
        for rule, outcome in zip(circuit.rules, explanation.rules, strict=True):
            alone = replace(circuit, rules=(Rule(rule.wire, (1,)),), base_votes=(0,), classes=(0,))
            assert outcome.fired == bool(plain_votes(alone, [row])[0, 0])
            assert outcome.votes == rule.votes
        assert {*explanation.fired, *explanation.silent} == {*explanation.rules}


@law
@given(data=st.data(), circuit=circuits())
def test_votes_add_up_and_decide(data: st.DataObject, circuit: Circuit) -> None:
    for row in data.draw(rows_for(circuit, max_rows=3)):
        explanation = explain_row(circuit, row)
        given_votes = [rule.votes for rule in explanation.fired]
        total = np.sum([circuit.base_votes, *given_votes], axis=0).tolist()
        assert list(explanation.votes) == total == plain_votes(circuit, [row])[0].tolist()
        winner = int(np.argmax(total))
        assert explanation.label == circuit.classes[winner]
        others = total[:winner] + total[winner + 1 :]
        assert explanation.margin == (max(total) - max(others) if others else 0)
        if others:
            assert explanation.runner_up in circuit.classes
            assert explanation.votes[circuit.classes.index(explanation.runner_up)] == max(others)
            assert explanation.runner_up != explanation.label
        else:
            assert explanation.runner_up is None


# -- reasons ----------------------------------------------------------------------------------


def forces(facts: Any, literals: NDArray[np.bool_], truth: NDArray[np.bool_]) -> bool:
    """Check whether a wire is 1 in all rows in which the facts hold."""
    held = np.ones(len(truth), dtype=bool)
    for literal, wanted in facts:
        held &= literals[:, literal] == wanted
    return bool(truth[held].all())


@law
@given(data=st.data(), circuit=busy_circuits())
def test_a_reason_forces_its_rule_and_no_smaller_one_does(
    data: st.DataObject, circuit: Circuit
) -> None:
    possible = every_row(circuit)
    for row in data.draw(rows_for(circuit, max_rows=2)):
        table = as_objects(circuit, [*possible, row])
        evaluation = circuit.evaluate(table)
        literals, wires = evaluation.wires(range(circuit.n_literals)), evaluation.fired
        explanation = explain_row(circuit, row)
        for number, (rule, outcome) in enumerate(
            zip(circuit.rules, explanation.rules, strict=True)
        ):
            if outcome.reason is None:
                continue
            assert outcome.reason.exact
            facts = [(fact.literal, fact.truth) for fact in outcome.reason.facts]
            assert all(literals[-1, literal] == truth for literal, truth in facts)
            assert forces(facts, literals, wires[:, number])
            read = [wire for wire in circuit.logic.cone([rule.wire]) if wire < circuit.n_literals]
            own = [(wire, literals[-1, wire]) for wire in read]
            for smaller in itertools.combinations(own, max(len(facts) - 1, 0)):
                assert not facts or not forces(smaller, literals, wires[:, number])


@st.composite
def wide_circuits(draw: st.DrawFn) -> Circuit:
    """Draw a rule of many literals on few columns: too many for an exact reason."""
    columns = (Column("x", "integer"), Column("y", "number"), Column("b", "boolean"))
    literals: list[Literal] = [Above(0, float(cutoff)) for cutoff in range(7)]
    literals += [Above(1, cutoff / 2) for cutoff in range(6)]
    literals += [Above(2, 0.5), Missing(1)]
    gates = [gate for gate in GATES if gate.reads_a and gate.reads_b]
    order = draw(st.permutations(range(15)))
    nodes = [Node(draw(st.sampled_from(gates)), order[0], order[1])]
    for wire, literal in enumerate(order[2:], start=15):
        nodes.append(Node(draw(st.sampled_from(gates)), wire, literal))
    return Circuit(
        columns, tuple(literals), tuple(nodes), (Rule(28, (0, 1)),), (0, 0), ("no", "yes")
    )


@law
@given(data=st.data(), circuit=wide_circuits())
def test_a_greedy_reason_forces_its_rule_and_is_not_exact(
    data: st.DataObject, circuit: Circuit
) -> None:
    possible = every_row(circuit)
    evaluation = circuit.evaluate(as_objects(circuit, possible))
    literals, truth = evaluation.wires(range(15)), evaluation.wire(28)
    assume(truth.any())
    row = data.draw(st.sampled_from(np.flatnonzero(truth).tolist()))
    reason = find_reason(circuit.logic, 28, literals[row].tolist())
    assert not reason.exact
    assert forces([(fact.literal, fact.truth) for fact in reason.facts], literals, truth)
    assert "(there may be a shorter reason)" in str(explain_row(circuit, possible[row]))
    own = [(wire, literals[row, wire]) for wire in range(15)]
    assert [(fact.literal, fact.truth) for fact in reason.facts] == left_over(
        circuit, own, literals
    )


def left_over(
    circuit: Circuit, facts: list[tuple[int, bool]], literals: NDArray[np.bool_]
) -> list[tuple[int, bool]]:
    """Leave out one fact after another, longest first, if the others still force the rule."""

    def words(fact: tuple[int, bool]) -> str:
        return circuit.literals[fact[0]].describe(circuit.columns, negated=not fact[1])

    left = facts
    for fact in sorted(facts, key=lambda fact: -len(words(fact))):
        fewer = [other for other in left if other != fact]
        every = np.ones(len(literals), dtype=bool)
        agree = np.all([every, *(literals[:, wire] == truth for wire, truth in fewer)], axis=0)
        values = [set(column.tolist()) for column in literals[agree].T]
        for gate, a, b in circuit.nodes:
            values.append({bool(gate.hard(x, y)) for x in values[a] for y in values[b]})
        left = fewer if values[-1] == {True} else left
    return left


def test_a_reason_leaves_out_unnecessary_literals_of_a_chain() -> None:
    columns = tuple(Column(f"b{place}", "boolean") for place in range(20))
    literals = tuple(Above(place, 0.5) for place in range(20))
    nodes = (Node(OR, 0, 1), *(Node(OR, 19 + place, 1 + place) for place in range(1, 19)))
    circuit = Circuit(columns, literals, nodes, (Rule(38, (1,)),), (0,), ("a",))
    (rule,) = explain_row(circuit, [place == 7 for place in range(20)]).rules
    assert str(rule.reason) == "b7"


def test_a_long_chain_of_copies_and_negations_is_read_through() -> None:
    gates = [GATE_BY_NAME["NOT_A"], GATE_BY_NAME["A"]] * 1000
    nodes = tuple(Node(gate, 1 + place, 0) for place, gate in enumerate(gates))
    columns = (Column("x", "number"), Column("y", "number"))
    circuit = Circuit(
        columns, (Above(0, 1.0), Above(1, 2.0)), nodes, (Rule(2001, (0, 1)),), (0, 0), ("a", "b")
    )
    (rule,) = explain_row(circuit, [0.0, 3.0]).rules
    assert (rule.text, str(rule.reason)) == ("y > 2", "y > 2")


def test_a_reason_is_correct_for_a_value_that_its_column_should_not_hold() -> None:
    circuit = Circuit(
        columns=(Column("n", "integer"), Column("b", "boolean")),
        literals=(Above(0, 53.2), Above(0, 53.7), Above(1, 0.5)),
        nodes=(Node(GATE_BY_NAME["A_AND_NOT_B"], 0, 1), Node(AND, 3, 2)),
        rules=(Rule(4, (0, 1)),),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )
    (rule,) = explain_row(circuit, [53.5, True]).rules
    assert str(rule.reason) == "n > 53.2 and n <= 53.7 and b"


# -- forms ------------------------------------------------------------------------------------


def heart() -> Circuit:
    return Circuit(
        columns=(
            Column("age", "integer"),
            Column("unread", "number"),
            Column("smoker", "boolean"),
            Column("city", "category", ("Bern", "Basel")),
        ),
        literals=(Above(0, 54.0), Above(2, 0.5), Among(3, (0,))),
        nodes=(Node(AND, 0, 1), Node(OR, 3, 2)),
        rules=(Rule(4, (0, 2)), Rule(1, (1, 0))),
        base_votes=(0, 0),
        classes=("healthy", "ill"),
    )


CELLS = {"age": 60, "unread": 1.0, "smoker": True, "city": "Rome"}


@pytest.mark.parametrize(
    "row",
    [
        CELLS,
        {"city": "Rome", "smoker": True, "age": 60},
        list(CELLS.values()),
        tuple(CELLS.values()),
        [list(CELLS.values())],
        np.array(list(CELLS.values()), dtype=object),
        pd.Series(CELLS),
        pd.Series(list(CELLS.values())),
        pd.DataFrame([CELLS]),
        pd.DataFrame([CELLS])[["city", "age", "smoker"]],
        pd.DataFrame([CELLS]).iloc[0],
        pl.DataFrame([CELLS]),
    ],
)
def test_a_row_may_come_in_any_form(row: Any) -> None:
    explanation = explain_row(heart(), row)
    assert explanation == explain_row(heart(), CELLS)
    assert explanation.row == {"age": 60, "smoker": True, "city": "Rome"}


def test_an_explanation_reads_well() -> None:
    assert str(explain_row(heart(), CELLS)).splitlines() == [
        "ill, 1 vote ahead of healthy (healthy: 1, ill: 2)",
        "smallest change: age: 60 -> 54 (age <= 54) gives healthy",
        "other changes:",
        "  smoker: True -> False (not smoker) gives healthy",
        "fired:",
        "  +2 ill  (age > 54 and smoker) or city = Bern",
        "      because age > 54 and smoker",
        "  +1 healthy  smoker",
    ]


def test_missing_values_are_named_with_what_they_pass() -> None:
    note = "Missing values fail `>`, `=` and `in`; they pass `<=`, `!=` and `not in`."
    explanation = explain_row(heart(), {**CELLS, "age": None, "city": None, "unread": None})
    assert str(explanation).splitlines()[1] == f"missing: age, city. {note}"
    assert f"missing: age, city. {html.escape(note)}" in explanation.to_html()
    assert "missing:" not in str(explain_row(heart(), {**CELLS, "unread": None}))


def test_ties_single_classes_and_rows_without_a_change_are_described() -> None:
    tie = replace(heart(), rules=(), literals=(), nodes=())
    lines = str(explain_row(tie, CELLS)).splitlines()
    assert lines == [
        "healthy (healthy: 0, ill: 0). Tie 0 to 0; 'healthy' is listed first.",
        "No change of a single feature flips the class.",
    ]
    alone = replace(tie, base_votes=(2,), classes=("it",))
    assert str(explain_row(alone, CELLS)).splitlines() == [
        "it, the only class (it: 2)",
        "No change of a single feature flips the class.",
        "before any rule: +2 it",
    ]
    assert "No change of a single feature flips the class." in explain_row(alone, CELLS).to_html()


@law
@given(data=st.data(), circuit=circuits())
def test_every_format_is_well_formed(data: st.DataObject, circuit: Circuit) -> None:
    for row in data.draw(rows_for(circuit, max_rows=1)):
        explanation = explain_row(circuit, row)
        Tags(explanation.to_html())
        read = json.loads(explanation.to_json(), parse_constant=pytest.fail)
        assert read == explanation.to_dict()
        assert read["class"] == label_to_json(explanation.label)
        assert read["votes"] == list(explanation.votes)
        assert [rule["fired"] for rule in read["rules"]] == [r.fired for r in explanation.rules]
        assert isinstance(hash(explanation), int)
        assert isinstance(explanation, Explanation)


# -- errors -----------------------------------------------------------------------------------


def test_errors_are_one_line() -> None:
    circuit = heart()
    with pytest.raises(MissingColumnError, match=r"reads \['smoker'\], but the table has only"):
        explain_row(circuit, {"age": 60, "city": "Bern"})
    with pytest.raises(TableError, match="the table has 2 rows, expected one; explain one row at"):
        explain_row(circuit, pd.DataFrame([CELLS, CELLS]))
    with pytest.raises(TableError, match="the table has 2 rows, expected one"):
        explain_row(circuit, [list(CELLS.values())] * 2)
    with pytest.raises(TableError, match="the table has 0 rows, expected one"):
        explain_row(circuit, pd.DataFrame([CELLS]).iloc[:0])
    with pytest.raises(TableError, match="the table has 2 columns, the circuit was trained on 4"):
        explain_row(circuit, [60, True])
    with pytest.raises(ColumnTypeError, match="column 'age' holds 'old', expected integers"):
        explain_row(circuit, CELLS | {"age": "old"})
    with pytest.raises(ColumnTypeError, match="holds"):
        explain_row(circuit, CELLS | {"city": ["Bern"]})
    with pytest.raises(ColumnTypeError, match="the table is a str"):
        explain_row(circuit, "age=60")


def test_explanations_of_one_circuit_share_the_text_of_its_rules() -> None:
    circuit = heart()
    one, other = (circuit.explain({**CELLS, "age": age}) for age in (60, 30))
    assert one.rules != other.rules
    assert all(a.text is b.text for a, b in zip(one.rules, other.rules, strict=True))


def test_a_text_lists_the_rules_with_the_most_votes_and_counts_the_others() -> None:
    literals = tuple(Above(0, float(cutoff)) for cutoff in range(60))
    rules = tuple(Rule(wire, (0, 1 + wire % 30)) for wire in range(60))
    circuit = Circuit((Column("x", "integer"),), literals, (), rules, (0, 0), ("no", "yes"))
    explanation = circuit.explain([45])
    text = explanation.to_text()
    assert len([line for line in text.splitlines() if line.startswith("  +")]) == 20
    assert "  and 35 rules with fewer or equal votes" in text
    assert "  and 5 rules with fewer or equal votes" in text
    assert "+30 yes  x > 29" in text
    assert "+1 yes  x > 0\n" not in text
    assert len(explanation.to_dict()["rules"]) == 60
