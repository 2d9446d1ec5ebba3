"""Constraints: what is refused, what is saved, and that a circuit satisfies what it states."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from dln.core.circuit import Circuit
from dln.core.constraints import Constraints, Monotone, read_constraints
from dln.core.gates import GATE_BY_NAME
from dln.core.limits import bits_of, make_limits
from dln.core.literals import Above, Column, Missing
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.core.obedience import find_breach
from dln.core.parts import Node, Rule
from dln.core.score import Score
from dln.errors import CircuitError, CircuitFileError, OptionError
from dln.prove.constraints import prove_constraints
from tests.support.constrained import constrained_circuits
from tests.support.strategies import law

COLUMNS = (
    Column("age", "integer"),
    Column("income", "number"),
    Column("sex", "boolean"),
    Column("city", "category", ("Bern", "Chur")),
)


def read(outputs: tuple[Any, ...] = ("no", "yes"), **given: Any) -> Constraints:
    constraints = read_constraints(outputs, **given)
    constraints.check(COLUMNS, outputs)
    return constraints


# -- what users give --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"monotone": ["age"]}, r"monotone is \['age'\], expected a dict such as"),
        ({"monotone": {"age": "up"}}, "monotone has 'up' for 'age', expected"),
        ({"monotone": {"agee": "+"}}, "monotone names 'agee', which the table lacks; its columns"),
        ({"monotone": {"city": "+"}}, "'city', which has categories and so no order"),
        ({"monotone": {"age": "+", "yes": {"age": "+"}}}, "or one such dict for each class"),
        ({"monotone": {"maybe": {"age": "+"}}}, "the class 'maybe', but the classes are 'no'"),
        (
            {"monotone": {"yes": {"age": "+"}, "no": {"age": "+"}}},
            "monotone asks for both directions of 'age'",
        ),
        ({"interactions": "age"}, "interactions is 'age', expected a list of lists"),
        ({"interactions": ["age"]}, "interactions has 'age', expected a list of column names"),
        ({"interactions": [["age"]]}, r"interactions has \['age'\], expected at least 2 columns"),
        ({"interactions": [["age", "age"]]}, "which names a column twice"),
        ({"interactions": [["age", 3]]}, "interactions has 3, an int; expected a column name"),
        ({"interactions": [["age", "x"]]}, "interactions names 'x', which the table lacks"),
        ({"forbidden_pairs": [("age", "sex", "city")]}, "expected two columns"),
        (
            {"interactions": [["age", "sex", "city"]], "forbidden_pairs": [("sex", "age")]},
            "'age' and 'sex' are in a group of interactions and in forbidden_pairs",
        ),
        ({"unused_columns": "age"}, "unused_columns has 'age', expected a list of column names"),
        (
            {"unused_columns": ["age"], "monotone": {"age": "+"}},
            "'age' is in monotone and in unused_columns",
        ),
        (
            {"unused_columns": ["age"], "interactions": [["age", "sex"]]},
            "'age' is in interactions and in unused_columns",
        ),
        ({"unused_columns": ["age", "income", "sex", "city"]}, "names every column"),
        ({"max_columns_per_rule": 0}, "max_columns_per_rule is 0, expected an integer from 1"),
    ],
)
def test_what_cannot_be_satisfied_is_one_clear_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        read(**given)
    assert "\n" not in str(caught.value)


def test_several_classes_are_named() -> None:
    three = ("low", "mid", "high")
    with pytest.raises(OptionError, match=r"must name the class .* as there are 3: .*'high'"):
        read(three, monotone={"age": "+"})
    with pytest.raises(OptionError, match="all classes for the same direction of 'age'"):
        read(three, monotone={label: {"age": "+"} for label in three})
    assert read(three, monotone={"high": {"age": "+"}, "low": {"age": "-"}}).monotone == (
        Monotone("age", "+", "high"),
        Monotone("age", "-", "low"),
    )


def test_directions_of_the_first_of_two_classes_are_those_of_the_second() -> None:
    by_first = read(monotone={"no": {"age": "-", "income": "+"}})
    assert by_first == read(monotone={"age": "+", "income": "-"})


def test_a_number_has_directions_without_a_class() -> None:
    kept = read((None,), monotone={"age": "+"})
    assert kept.lines() == ["the prediction never falls as age grows"]
    rule = Rule(0, (3,))
    parts: dict[str, Any] = {"columns": COLUMNS, "literals": (Above(0, 5.0),), "nodes": ()}
    circuit = Circuit(
        logic=Circuit(**parts, rules=(), base_votes=(0,), classes=("x",)).logic,
        readout=Score((rule,), (0,)),
        constraints=kept,
    )
    assert prove_constraints(circuit)
    assert circuit_from_json(circuit_to_json(circuit)).constraints == kept
    with pytest.raises(CircuitError, match="a rule may break that the prediction never falls"):
        replace(circuit, readout=Score((Rule(0, (-3,)),), (0,)))


def test_nothing_is_no_constraint() -> None:
    assert not read()
    assert not read(monotone={}, forbidden_pairs=[], unused_columns=[])
    assert read(interactions=[]).lines() == ["every rule reads a single column"]


# -- limits -----------------------------------------------------------------------------------


def test_columns_in_no_group_stand_alone() -> None:
    kept = read(interactions=[["age", "sex"], ["sex", "city"]])
    limits = make_limits(kept, [column.name for column in COLUMNS], ("no", "yes"))
    allowed = [bits for bits in range(16) if limits.may_meet(bits)]
    assert allowed == sorted(map(bits_of, [(), (0,), (1,), (2,), (3,), (0, 2), (2, 3)]))


def test_a_vote_for_one_class_is_a_vote_against_the_others() -> None:
    kept = read(("a", "b", "c"), monotone={"a": {"age": "+"}, "b": {"age": "+"}})
    limits = make_limits(kept, [column.name for column in COLUMNS], ("a", "b", "c"))
    assert limits.signs[:, 0].tolist() == [0, 0, -1]
    assert limits.barred[:, 0].tolist() == [True, True, False]


# -- circuits ---------------------------------------------------------------------------------


@law
@given(constrained_circuits())
def test_what_the_structure_shows_is_proven(drawn: tuple[Circuit, Constraints]) -> None:
    circuit, constraints = drawn
    outputs = circuit.readout.outputs
    if find_breach(constraints, circuit.logic, circuit.rules, outputs) is None:
        kept = replace(circuit, constraints=constraints)
        assert not constraints or prove_constraints(kept, time_limit=None)
        assert circuit_from_json(circuit_to_json(kept)).constraints == constraints
    else:
        with pytest.raises(CircuitError, match="does not satisfy its constraints: a rule"):
            replace(circuit, constraints=constraints)


def circuit_of(gate: str, votes: tuple[int, ...]) -> Circuit:
    return Circuit(
        columns=COLUMNS,
        literals=(Above(0, 54.0), Above(1, 9.0), Missing(0)),
        nodes=(Node(GATE_BY_NAME[gate], 0, 1), Node(GATE_BY_NAME["OR"], 3, 2)),
        rules=(Rule(4, votes),),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )


@pytest.mark.parametrize(
    ("gate", "votes", "signs", "kept"),
    [
        ("AND", (0, 2), {"age": "+", "income": "+"}, True),
        ("AND", (2, 0), {"age": "-", "income": "-"}, True),
        ("AND", (2, 3), {"age": "+"}, True),
        ("AND", (0, 2), {"age": "-"}, False),
        ("AND", (2, 2), {"age": "-"}, True),
        ("A_AND_NOT_B", (0, 1), {"age": "+", "income": "-"}, True),
        ("A_AND_NOT_B", (0, 1), {"income": "+"}, False),
        ("XOR", (0, 1), {"age": "+"}, False),
        ("NOT_B", (0, 1), {"age": "-"}, True),
        ("NOR", (-1, 0), {"age": "-", "income": "-"}, True),
    ],
)
def test_votes_and_gates_decide_the_direction(
    gate: str, votes: tuple[int, ...], signs: dict[str, str], kept: bool
) -> None:
    circuit, constraints = circuit_of(gate, votes), read(monotone=signs)
    breach = find_breach(constraints, circuit.logic, circuit.rules, circuit.readout.outputs)
    assert (breach is None) == kept
    assert bool(prove_constraints(circuit, constraints)) == kept


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.update(monotone=[]), ""),
        (lambda c: c["monotone"][0].update(sign="-"), "a rule may break that yes never gains"),
        (lambda c: c["monotone"][0].update(sign="*"), 'expected "column", "sign" and "class"'),
        (lambda c: c["monotone"][0].update(column="x"), "monotone names 'x'"),
        (lambda c: c["monotone"][0].update({"class": "x"}), "names the class 'x'"),
        (lambda c: c["monotone"][0].pop("class"), "names the class None"),
        (lambda c: c.update(monotone=3), "expected a list of monotone columns"),
        (lambda c: c.update(max_columns_per_rule=1), "a rule reads age, income"),
        (lambda c: c.update(max_columns_per_rule=True), "max_columns_per_rule is True"),
        (lambda c: c.update(interactions=[["age", "sex"]]), "a rule reads age, income"),
        (lambda c: c.update(unused_columns=["income"]), "a rule reads age, income"),
        (lambda c: c.update(other=1), "expected an object with some of monotone"),
    ],
)
def test_a_file_that_promises_too_much_is_refused(edit: Any, message: str) -> None:
    circuit = replace(circuit_of("AND", (0, 2)), constraints=read(monotone={"age": "+"}))
    document = json.loads(circuit_to_json(circuit))
    edit(document["constraints"])
    if not message:
        assert circuit_from_json(json.dumps(document)) == circuit
        return
    with pytest.raises(CircuitFileError, match=message) as caught:
        circuit_from_json(json.dumps(document))
    assert "\n" not in str(caught.value)
