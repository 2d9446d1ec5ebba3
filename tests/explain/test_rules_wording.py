"""The wording of the printed rules: names, cutoffs, categories and labels, each on one line."""

from __future__ import annotations

import ast
import datetime
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing, format_text, format_value
from dln.core.parts import Node, Rule
from dln.data.table import read_table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.explain.rules import rule_table
from tests.support.strategies import law


def test_a_whole_circuit_reads_well() -> None:
    circuit = Circuit(
        columns=(
            Column("age", "integer"),
            Column("smoker", "boolean"),
            Column("petal length (cm)", "number"),
            Column("colour", "category", ("blue", "red", "dark red")),
            Column("born", "date"),
        ),
        literals=(
            Above(0, 54.0),
            Above(1, 0.5),
            Above(2, 1.75),
            Among(3, (1,)),
            Among(3, (0, 2)),
            Above(4, 86400.0),
            Missing(0),
        ),
        nodes=(
            Node(GATE_BY_NAME["A_AND_NOT_B"], 0, 1),
            Node(GATE_BY_NAME["NOR"], 2, 3),
            Node(GATE_BY_NAME["XNOR"], 4, 5),
            Node(GATE_BY_NAME["OR"], 7, 8),
            Node(GATE_BY_NAME["NOT_A"], 6, 6),
        ),
        rules=(Rule(10, (0, 2)), Rule(9, (-1, 3)), Rule(11, (1, 0)), Rule(1, (0, 1))),
        base_votes=(2, 0),
        classes=("healthy", "ill"),
    )
    assert str(circuit).splitlines() == [
        "Most votes win; a tie goes to healthy.",
        "Missing values fail `>`, `=` and `in`; they pass `<=`, `!=` and `not in`.",
        "healthy:",
        "  +2  always",
        "  -1  colour not in {blue, dark red} xor born > 1970-01-02",
        "  +1  age is not missing",
        "ill:",
        "  +3  colour not in {blue, dark red} xor born > 1970-01-02",
        "  +2  (age > 54 and not smoker) or (petal length (cm) <= 1.75 and colour != red)",
        "  +1  smoker",
    ]


def rule_text(*gates: str, columns: tuple[Column, ...] = (), literals: Any = ()) -> str:
    """Join literals by gates, one after the other, and print the rule."""
    nodes = [Node(GATE_BY_NAME[gates[0]], 0, 1)] if gates else []
    for number, gate in enumerate(gates[1:], start=2):
        nodes.append(Node(GATE_BY_NAME[gate], len(literals) + number - 2, number))
    wire = len(literals) + len(nodes) - 1
    circuit = Circuit(columns, literals, tuple(nodes), (Rule(wire, (1,)),), (0,), ("a",))
    line = str(circuit).splitlines()[-1].strip()
    assert str(rule_table(circuit)).splitlines()[-1].strip() == line
    return line.removeprefix("+1  ")


PURPOSE = (Column("purpose", "category", ("A40", "A41", "A46")), Column("age", "integer"))


@pytest.mark.parametrize(
    ("gates", "shown"),
    [
        (["OR", "OR"], "purpose in {A40, A46} or age > 3"),
        (["NOR", "A_AND_NOT_B"], "purpose not in {A40, A46} and age <= 3"),
        (["OR", "AND"], "purpose in {A40, A46} and age > 3"),
        (["NOR", "OR"], "purpose not in {A40, A46} or age > 3"),
    ],
)
def test_category_tests_of_one_column_are_merged(gates: list[str], shown: str) -> None:
    literals = (Among(0, (2,)), Among(0, (0,)), Above(1, 3.0))
    assert rule_text(*gates, columns=PURPOSE, literals=literals) == shown


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_columns_of_0_and_1_are_written_as_equality(kind: Any) -> None:
    columns = (Column("sex", kind, binary=True),)
    assert rule_text(columns=columns, literals=(Above(0, 0.0),)) == "sex = 1"
    assert rule_text("NOR", columns=columns, literals=(Above(0, 0.0), Above(0, 0.0))) == "sex != 1"
    between = "sex = 1" if kind == "integer" else "sex > 0.5"  # 0.3 is above 0 only
    assert rule_text(columns=columns, literals=(Above(0, 0.5),)) == between
    # Cutoffs that do not separate 0 from 1 are written as cutoffs.
    assert rule_text(columns=columns, literals=(Above(0, 1.0),)) == "sex > 1"
    assert rule_text(columns=(Column("sex", kind),), literals=(Above(0, 0.0),)) == "sex > 0"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0, 1, 0, 1] * 10, "sex = 1"),
        ([0.0, 1.0, None, 1.0] * 10, "sex = 1"),
        ([0, 1, 0, 2] * 10, "sex > 0"),
        ([0, 1] * 600 + [2, 2], "sex > 0"),
    ],
)
def test_a_fit_recognises_columns_that_hold_only_0_and_1(values: list[Any], shown: str) -> None:
    target = np.array([value is not None and value > 0 for value in values]).astype(np.int32)
    table = read_table(pd.DataFrame({"sex": values}))
    weight = np.ones(len(values), dtype=np.float32)
    encoder, _ = fit_encoder(table, target, weight, EncodeOptions())
    assert Above(0, 0.0).describe(encoder.columns) == shown


def test_a_column_without_a_name_is_called_unnamed() -> None:
    columns = (Column("", "integer"),)
    assert rule_text(columns=columns, literals=(Above(0, 7.0),)) == "(unnamed) > 7"
    assert rule_text(columns=columns, literals=(Missing(0),)) == "(unnamed) is missing"
    named = (Column("(unnamed)", "integer"),)
    assert rule_text(columns=named, literals=(Above(0, 7.0),)) == "'(unnamed)' > 7"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("age", "age"),
        ("petal length (cm)", "petal length (cm)"),
        ("Größe / m²", "Größe / m²"),
        ("is_android", "is_android"),
        ("2nd", "2nd"),
        ("salt and pepper", "'salt and pepper'"),
        ("NOT smoker", "'NOT smoker'"),
        ("always", "'always'"),
        ("it is missing", "'it is missing'"),
        (">50K", "'>50K'"),
        ("a, b", "'a, b'"),
        ("don't", '"don\'t"'),
        ("(odd", "'(odd'"),
        (")", "')'"),
        ("", "''"),
        (" x", "' x'"),
        ("two\nlines", r"'two\nlines'"),
        ("17", "'17'"),
        ("-1.5e3", "'-1.5e3'"),
        ("True", "'True'"),
        ("inf", "'inf'"),
    ],
)
def test_text_is_quoted_only_if_it_could_be_misread(text: str, shown: str) -> None:
    assert format_text(text) == shown


@law
@given(st.text())
def test_quoted_text_can_be_parsed_and_stays_on_one_line(text: str) -> None:
    shown = format_text(text)
    assert len(shown.splitlines()) == 1
    assert shown == text or ast.literal_eval(shown) == text


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("number", 54.0, "54"),
        ("number", -0.0, "0"),
        ("number", 0.1, "0.1"),
        ("number", 1e16, "1e+16"),
        ("number", 1e-300, "1e-300"),
        ("integer", -3.0, "-3"),
        ("date", 0.0, "1970-01-01"),
        ("date", -0.5, "1969-12-31T23:59:59.500000"),
        ("date", 86399.0, "1970-01-01T23:59:59"),
        ("date", 1e300, "1e+300 s since 1970"),
        ("date", 1e-9, "1e-09 s since 1970"),
    ],
)
def test_cutoffs_are_written_exactly(kind: Any, value: float, shown: str) -> None:
    assert format_value(value, Column("x", kind)) == shown


@pytest.mark.parametrize(
    ("n_classes", "winner"),
    [
        (1, "c0"),
        (2, "c0"),
        (3, "the first of c0, c1, c2"),
        (9, "the class that is listed first"),
    ],
)
def test_the_note_names_the_class_that_wins_a_tie(n_classes: int, winner: str) -> None:
    classes = tuple(f"c{number}" for number in range(n_classes))
    circuit = Circuit((), (), (), (), (0,) * n_classes, classes)
    assert str(circuit).splitlines()[0] == f"Most votes win; a tie goes to {winner}."
    # A tie between other classes goes to the first of these.
    tied = replace(circuit, base_votes=(*([-1] * (n_classes - 2)), 0, 0)[-n_classes:])
    assert tied.predict(np.zeros((1, 0))).tolist() == [classes[max(n_classes - 2, 0)]]


@pytest.mark.parametrize("label", ["two\nlines", "", "7", 7, 1.5, True, datetime.date(2020, 1, 2)])
def test_labels_of_any_type_stay_on_one_line(label: Any) -> None:
    circuit = Circuit((), (), (), (), (0,), (label,))
    shown = repr(label) if isinstance(label, str) else str(label)
    assert str(circuit) == f"Most votes win; a tie goes to {shown}.\n{shown}: no votes"
