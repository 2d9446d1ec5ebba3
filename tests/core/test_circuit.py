"""A Circuit is always valid, immutable and compared by value; anything invalid is refused."""

from __future__ import annotations

import copy
import cProfile
import dataclasses
import io
import math
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, Gate
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import MAX_VOTES, Node, Rule
from dln.errors import CircuitError
from dln.shrink.simplify.fold import fold
from tests.support.strategies import as_rows, circuits, law, rows_for

AND, XOR = GATE_BY_NAME["AND"], GATE_BY_NAME["XOR"]
GOOD = Circuit(
    columns=(Column("age", "integer"), Column("colour", "category", ("blue", "red"))),
    literals=(Above(0, 54.0), Among(1, (1,)), Missing(1)),
    nodes=(Node(AND, 0, 1), Node(XOR, 3, 2)),
    rules=(Rule(4, (0, 1)),),
    base_votes=(0, 0),
    classes=("healthy", "ill"),
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": (Column("age", "integer"),) * 2}, "two columns are named 'age'"),
        ({"columns": ("age",)}, "column 0 is 'age', expected a Column"),
        ({"columns": (Column(3, "integer"),)}, "column 0 is .*expected a Column with a text name"),
        ({"columns": (Column("a", "real"),)}, "'a' is of kind 'real', expected one of number, int"),
        ({"columns": (Column("a", "number", ("x",)),)}, "'a' has categories, but is of kind 'num"),
        ({"columns": (Column("a", "date", (), True),)}, "'a' is of kind 'date' and cannot be bin"),
        ({"columns": (Column("a", "number", (), 1),)}, "'a' has binary 1, expected True or False"),
        (
            {"columns": (Column("a", "category", ["x"]),)},
            "of column 'a' are not in a tuple",
        ),
        ({"columns": (Column("a", "category", ("x", "x")),)}, "'a' lists category 'x' twice"),
        ({"columns": (Column("a", "category", (1, True)),)}, "'a' lists category True twice"),
        ({"columns": (Column("a", "category", (None,)),)}, "'a' has category None, expected text"),
        ({"columns": (Column("a", "category", ([],)),)}, r"'a' has category \[\], expected text"),
        ({"columns": (Column("a", "category", (math.nan,)),)}, "'a' has category nan, expected"),
        ({"literals": (3,)}, "literal 0 is 3, expected Above, Among or Missing"),
        ({"literals": (Above(2, 1.0),)}, "literal 0 reads column 2; there are 2, numbered from 0"),
        ({"literals": (Missing(-1),)}, "literal 0 reads column -1"),
        ({"literals": (Missing(True),)}, "literal 0 reads column True"),
        ({"literals": (Above(1, 1.0),)}, "compares column 'colour', which holds categories"),
        ({"literals": (Above(0, math.nan),)}, "cutoff nan, expected a finite float"),
        ({"literals": (Above(0, math.inf),)}, "cutoff inf, expected a finite float"),
        ({"literals": (Above(0, 3),)}, "cutoff 3, expected a finite float"),
        ({"literals": (Among(0, (0,)),)}, "looks for categories in column 'age', .* 'integer'"),
        ({"literals": (Among(1, ()),)}, r"literal 0 has categories \(\), expected a tuple of at"),
        ({"literals": (Among(1, [0]),)}, r"literal 0 has categories \[0\], expected a tuple"),
        ({"literals": (Among(1, (0, 0)),)}, "literal 0 lists category 0 twice"),
        ({"literals": (Among(1, (2,)),)}, "literal 0 lists category 2; column 'colour' has 2"),
        ({"literals": (Among(1, ("red",)),)}, "literal 0 lists category 'red'"),
        ({"nodes": (Node(AND, 0, 3),)}, "gate 0 is wire 3 and reads wires 0 and 3; it may read o"),
        ({"nodes": (Node(AND, -1, 0),)}, "reads wires -1 and 0"),
        ({"nodes": (Node(AND, np.int64(0), 0),)}, r"reads wires (np.int64\(0\)|0) and 0"),
        ({"nodes": (Node(AND, 0, 1.0), Node(XOR, 0, 1))}, "reads wires 0 and 1.0"),
        ({"nodes": (("AND", 0, 1),)}, "gate 0 is .*expected a Node with one of the 16 gates"),
        ({"nodes": (Node("AND", 0, 1),)}, "gate 0 is .*expected a Node with one of the 16 gates"),
        ({"nodes": (Node(Gate("AND", (1, 0, 0, 0)), 0, 1),)}, "expected a Node with one of the 16"),
        ({"rules": (Rule(5, (0, 1)),)}, "rule 0 reads wire 5; there are 5, numbered from 0"),
        ({"rules": (Rule(-1, (0, 1)),)}, "rule 0 reads wire -1"),
        ({"rules": (Rule(0, (1,)),)}, r"rule 0 has votes \(1,\), expected a tuple of 2"),
        ({"rules": (Rule(0, [0, 1]),)}, r"rule 0 has votes \[0, 1\], expected a tuple of 2"),
        ({"rules": (Rule(0, (0, True)),)}, "rule 0 has the vote True, expected a plain integer"),
        ({"rules": ((0, (0, 1)),)}, "rule 0 is .*expected a Rule"),
        ({"base_votes": (0,)}, r"base_votes has votes \(0,\), expected a tuple of 2"),
        ({"base_votes": (0, 1.5)}, "base_votes has the vote 1.5"),
        (
            {"rules": (Rule(0, (0, MAX_VOTES)), Rule(1, (0, -1)))},
            f"votes for class 'ill' may add up to {MAX_VOTES + 1}, at most {MAX_VOTES}",
        ),
        ({"classes": (), "base_votes": (), "rules": ()}, "no class, expected at least one"),
        ({"classes": ("a", "a")}, "class 'a' is listed twice"),
        ({"classes": ("a", None)}, "class label None is not text, a number, a boolean or a date"),
        ({"classes": ("a", math.nan)}, "class label nan is not text"),
        ({"temperature": 0.0}, "temperature is 0.0, expected a positive float"),
        ({"temperature": math.inf}, "temperature is inf"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": 1}, "temperature is 1, expected a positive float"),
    ],
)
def test_a_circuit_that_breaks_the_rules_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CircuitError, match=message) as caught:
        dataclasses.replace(GOOD, **change)
    assert "\n" not in str(caught.value)


def test_the_maximum_number_of_votes_is_counted_exactly() -> None:
    circuit = dataclasses.replace(GOOD, rules=(Rule(0, (-MAX_VOTES, MAX_VOTES)),))
    assert circuit.votes([[60, "red"]]).tolist() == [[-MAX_VOTES, MAX_VOTES]]


def test_a_circuit_is_immutable_even_if_made_of_lists() -> None:
    rules = list(GOOD.rules)
    circuit = dataclasses.replace(GOOD, rules=rules, classes=["healthy", "ill"])
    rules.clear()
    assert circuit == GOOD
    assert hash(circuit) == hash(GOOD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        circuit.rules = ()  # type: ignore[misc]


def test_circuits_compare_by_value() -> None:
    assert dataclasses.replace(GOOD) == GOOD
    assert dataclasses.replace(GOOD, temperature=2.0) != GOOD
    assert {GOOD, dataclasses.replace(GOOD)} == {GOOD}


def test_sizes_and_repr() -> None:
    assert (GOOD.n_literals, GOOD.n_gates, GOOD.n_wires, GOOD.n_classes) == (3, 2, 5, 2)
    assert repr(GOOD) == "<Circuit: 3 literals, 2 gates, 1 rules, 2 classes>"


def _through_joblib(circuit: Circuit) -> Circuit:
    stream = io.BytesIO()
    joblib.dump(circuit, stream)
    stream.seek(0)
    loaded: Circuit = joblib.load(stream)
    return loaded


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "joblib": _through_joblib,
    **{
        f"pickle{protocol}": lambda circuit, protocol=protocol: pickle.loads(
            pickle.dumps(circuit, protocol)
        )
        for protocol in (2, pickle.HIGHEST_PROTOCOL)
    },
}


@pytest.mark.parametrize("way", COPIES)
@law
@given(data=st.data(), circuit=circuits())
def test_copies_are_equal_and_vote_the_same(
    way: str, data: st.DataObject, circuit: Circuit
) -> None:
    table = as_rows(circuit, data.draw(rows_for(circuit, max_rows=3)))
    votes = circuit.votes(table)  # before the copy, so that cached values exist
    same = COPIES[way](circuit)
    assert same == circuit
    assert_array_equal(same.votes(table), votes)


def test_an_edited_pickle_is_checked_like_any_circuit() -> None:
    state = GOOD.__getstate__() | {"nodes": (Node(AND, 7, 7),) * 2}
    with pytest.raises(CircuitError, match="reads wires 7 and 7"):
        Circuit.__new__(Circuit).__setstate__(state)


def make_chain(gate: str, n_gates: int) -> Circuit:
    return Circuit(
        columns=tuple(Column(f"x{index}", "number") for index in range(20)),
        literals=tuple(Above(index, 0.5) for index in range(20)),
        nodes=tuple(Node(GATE_BY_NAME[gate], 19 + place, place % 20) for place in range(n_gates)),
        rules=(Rule(19 + n_gates, (0, 1)),),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )


def use_everywhere(circuit: Circuit, file: Path) -> None:
    circuit.save(file)
    assert Circuit.load(file) == circuit
    assert "where" in str(circuit)
    rows = np.random.default_rng(0).random((70, 20))
    votes = circuit.votes(rows)
    folded = fold(circuit)
    assert_array_equal(folded.votes(rows), votes)
    assert fold(folded) == folded
    assert pickle.loads(pickle.dumps(circuit)) == circuit


@pytest.mark.parametrize("gate", ["XOR", "NOT_A"])
def test_a_chain_of_100_000_gates_works_everywhere(gate: str, tmp_path: Path) -> None:
    use_everywhere(make_chain(gate, 100_000), tmp_path / "deep.json")


@pytest.mark.parametrize("gate", ["XOR", "NOT_A"])
def test_work_grows_linearly_with_the_number_of_gates(gate: str, tmp_path: Path) -> None:
    def count_calls(n_gates: int) -> int:
        circuit, profile = make_chain(gate, n_gates), cProfile.Profile()
        profile.runcall(use_everywhere, circuit, tmp_path / "deep.json")
        return sum(entry.callcount for entry in profile.getstats())

    count_calls(100)  # do imports and fill caches first
    assert count_calls(4_000) < 2.2 * count_calls(2_000)
