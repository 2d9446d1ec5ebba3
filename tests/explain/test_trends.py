"""Trends of all features, and the verb that asks for them."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column
from dln.core.parts import Node
from dln.errors import OptionError
from dln.explain.trends import Trends, find_trends
from dln.prove.graph import Graph
from dln.prove.monotone import prove_monotone
from tests.conftest import Run
from tests.support.provable import circuit_of
from tests.support.strategies import busy_circuits, circuits, law

AND, XOR = GATE_BY_NAME["AND"], GATE_BY_NAME["XOR"]


def mixed() -> Circuit:
    """Make a circuit of a feature of every trend."""
    names = ("up", "down", "either", "neither", "unread")
    return circuit_of(
        [Column(name, "integer") for name in names],
        [Above(column, 5.0) for column in range(4)],
        [Node(XOR, 0, 2), Node(AND, 3, 3)],
        {0: (0, 1), 1: (1, 0), 4: (0, 1), 5: (1, 1)},
    )


@law
@given(circuit=st.one_of(circuits(max_columns=3), busy_circuits()))
def test_trends_are_what_single_proofs_say(circuit: Circuit) -> None:
    found = find_trends(circuit)
    told = circuit.classes[1:] if circuit.n_classes == 2 else circuit.classes
    assert found.classes == told
    read = sorted({literal.column for literal in circuit.literals})
    ordered = [circuit.columns[at].name for at in read if circuit.columns[at].is_numeric]
    assert [row.feature for row in found.rows] == ordered
    words = {
        (True, True): "none",
        (True, False): "rising",
        (False, True): "falling",
        (False, False): "both",
    }
    for row, (place, label) in product(found.rows, enumerate(found.classes)):
        rising = bool(prove_monotone(circuit, row.feature, label))
        falling = bool(prove_monotone(circuit, row.feature, label, direction="falling"))
        assert row.trends[place] == words[rising, falling]


def test_trends_read_well() -> None:
    assert str(find_trends(mixed())).splitlines() == [
        "as it grows  yes",
        "up           never loses",
        "down         never gains",
        "either       gains and loses",
        "neither      not moved",
    ]


def test_trends_come_in_every_format() -> None:
    found = find_trends(mixed())
    assert "| down | never gains |" in found.to_markdown()
    assert "<td>never gains</td>" in found.to_html()
    assert found._repr_html_().endswith(found.to_html())
    assert json.loads(found.to_json()) == found.to_dict()
    assert found.to_dict()["features"]["either"] == ["both"]


def test_names_come_out_as_text() -> None:
    circuit = circuit_of(Column("<b>", "number"), [Above(0, 1.0)])
    assert "<b>" not in find_trends(circuit).to_html()


def test_a_circuit_that_reads_nothing_has_no_trends() -> None:
    assert find_trends(circuit_of([Column("x", "number")], [], (), {})) == Trends(("yes",), ())


def test_what_is_no_circuit_or_no_time_is_refused() -> None:
    with pytest.raises(OptionError, match="find_trends takes a Circuit, not a str"):
        find_trends("model")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="time_limit is -1"):
        find_trends(mixed(), time_limit=-1)


def test_what_is_left_when_time_is_up_is_undecided() -> None:
    # Each question alone is easy; time is kept to between them, too.
    found = find_trends(mixed(), time_limit=0)
    assert {row.trends for row in found.rows} == {("undecided",)}
    assert [row.feature for row in found.rows] == [row.feature for row in find_trends(mixed()).rows]


def test_a_slice_looks_only_at_what_depends_on_the_feature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 40 features of 10 cutoffs each, that have no gate in common: slices add no gate twice.
    columns = [Column(f"x{at}", "number") for at in range(40)]
    literals = [Above(at, float(cutoff)) for at in range(40) for cutoff in range(10)]
    nodes = [Node(GATE_BY_NAME["AND"], wire, wire + 1) for wire in range(0, 400, 2)]
    circuit = circuit_of(columns, literals, nodes, dict.fromkeys(range(400, 600), (0, 1)))
    made = []
    gate = Graph.gate
    monkeypatch.setattr(Graph, "gate", lambda *given: made.append(1) or gate(*given))
    assert {row.trends for row in find_trends(circuit).rows} == {("rising",)}
    # All 200 once a feature, and its own 5 in each of the other 10 gaps.
    assert len(made) == 40 * (200 + 10 * 5)


# -- the verb ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mixed().save("m.json")


def test_the_verb_shows_all_trends(run: Run) -> None:
    status, out, _ = run("trends", "m.json")
    assert (status, out) == (0, f"{find_trends(mixed())}\n")
    assert json.loads(run("trends", "m.json", "--json")[1]) == find_trends(mixed()).to_dict()


def test_columns_of_categories_are_named_as_without_trend(run: Run) -> None:
    columns = [
        Column("age", "integer"),
        Column("city", "category", ("Bern",)),
        Column("unread", "category", ("a",)),
    ]
    circuit_of(columns, [Above(0, 5.0), Among(1, (0,))], [], {0: (0, 1), 1: (1, 0)}).save("c.json")
    message = "Categories have no order, so these columns have no trend: city.\n"
    assert run("trends", "c.json")[2] == message
    assert run("trends", "c.json", "-q")[2] == run("trends", "m.json")[2] == ""


def test_questions_are_answered_with_a_status(run: Run) -> None:
    status, out, _ = run(
        "trends", "m.json", "--class", "yes", "--rising", "up", "--falling", "down"
    )
    assert status == 0
    assert [line.partition(" (")[0] for line in out.splitlines()] == [
        "Proven: yes never loses as up grows",
        "Proven: yes never gains as down grows",
    ]
    status, out, _ = run(
        "trends", "m.json", "--class", "yes", "--rising", "up", "--rising", "either"
    )
    assert status == 1
    assert re.fullmatch(
        r"Refuted: raising either from \S+ to \S+ costs 'yes' a vote, where .*\.",
        out.splitlines()[1],
    )


def test_a_column_that_the_model_does_not_read_is_named_as_such(run: Run) -> None:
    columns = [Column("age", "integer"), Column("unread", "number")]
    circuit_of(columns, [Above(0, 5.0)], [], {0: (0, 1)}).save("u.json")
    out = run("trends", "u.json", "--class", "yes", "--rising", "unread")[1]
    assert out == "Proven: yes never loses as unread grows. The model does not read this column.\n"


def test_answers_come_as_json(run: Run) -> None:
    asked = ("--class", "yes", "--rising", "up", "--rising", "down", "--json")
    status, out, _ = run("trends", "m.json", *asked)
    proven, refuted = json.loads(out)
    assert status == 1
    assert (proven["feature"], proven["direction"], proven["proven"]) == ("up", "rising", True)
    assert (refuted["proven"], refuted["before"], refuted["after"]) == (False, 0, 9)
    assert (refuted["votes_before"], refuted["votes_after"]) == ([0, 0], [1, 0])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--rising", "up"], "--class is missing; the classes are: no, yes"),
        (["--class", "yes"], "--class needs a column to check"),
        (["--class", "x", "--rising", "up"], "there is no class 'x'"),
        (["--class", "yes", "--rising", "upp"], "did you mean 'up'?"),
    ],
)
def test_questions_that_are_incomplete_are_told(run: Run, asked: list[str], said: str) -> None:
    status, _, err = run("trends", "m.json", *asked)
    assert status == 2
    assert said in err
