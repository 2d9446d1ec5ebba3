"""A proof of a direction means that no two rows violate it. A reversal is two rows that do."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node, Rule
from dln.core.value_range import ValueRange
from dln.core.verdict import Counterexample, Proof, Reversal, Undecided
from dln.errors import OptionError
from dln.prove.adder import is_negative
from dln.prove.equal import prove_equal
from dln.prove.graph import Graph
from dln.prove.monotone import Direction, prove_monotone
from dln.prove.simulate import Support
from tests.support.provable import TRIES, Wires, by, circuit_of, numbers
from tests.support.strategies import (
    atom_cells,
    busy_circuits,
    circuits,
    law,
    logic_circuits,
    plain_votes,
)

AGE = Column("age", "integer")


def leads(circuit: Circuit, rows: list[list[Any]], number: int) -> np.ndarray:
    votes = plain_votes(circuit, rows)
    return votes[:, [number]] - np.delete(votes, number, axis=1)


def all_steps(circuit: Circuit, column: int, number: int) -> np.ndarray:
    """Return how the vote margins of a class change between neighbouring values, on all rows."""
    cells = [atom_cells(circuit, index) for index in range(len(circuit.columns))]
    cells[column] = [None]
    assume(math.prod(map(len, cells)) < 1000)
    present = [cell for cell in atom_cells(circuit, column) if cell is not None]
    rows = [list(row) for row in itertools.product(*cells)]
    by_cell = []
    for cell in present:
        for row in rows:
            row[column] = cell
        by_cell.append(leads(circuit, rows, number))
    return np.diff(np.array(by_cell), axis=0)


# -- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["rising", "falling"])
@pytest.mark.parametrize("tries", TRIES)
@law
@given(
    data=st.data(),
    circuit=st.one_of(circuits(max_columns=3), logic_circuits(), busy_circuits()),
)
def test_a_proof_is_given_if_and_only_if_no_step_goes_against_it(
    tries: str, direction: Direction, data: st.DataObject, circuit: Circuit
) -> None:
    ordered = [at for at, column in enumerate(circuit.columns) if column.is_numeric]
    assume(ordered)
    column = data.draw(st.sampled_from(ordered))
    number = data.draw(st.integers(0, circuit.n_classes - 1))
    sign = 1 if direction == "rising" else -1
    never = bool((sign * all_steps(circuit, column, number) >= 0).all())
    name, label = circuit.columns[column].name, circuit.classes[number]
    with by(tries):
        found = prove_monotone(circuit, name, label, direction=direction)
        assert prove_monotone(circuit, name, label, direction=direction) == found
    assert isinstance(found, Proof if never else Reversal)
    if isinstance(found, Reversal):
        check_reversal(found, circuit, number, sign)


def check_reversal(found: Reversal, circuit: Circuit, number: int, sign: int) -> None:
    read = {circuit.columns[literal.column].name for literal in circuit.literals}
    assert {found.feature, *found.row} == read
    assert found.before < found.after  # type: ignore[operator]
    rows = [
        [{**found.row, found.feature: cell}.get(column.name) for column in circuit.columns]
        for cell in (found.before, found.after)
    ]
    votes = plain_votes(circuit, rows)
    assert tuple(map(tuple, votes.tolist())) == (found.votes_before, found.votes_after)
    assert (sign * np.diff(leads(circuit, rows, number), axis=0) < 0).any()


@law
@given(
    constant=st.integers(-20, 20),
    weights=st.lists(st.integers(-9, 9).filter(bool), max_size=5),
)
def test_a_sum_is_negative_where_arithmetic_says_so(constant: int, weights: list[int]) -> None:
    graph = Graph()
    edges = [graph.step(column, 1) for column in range(len(weights))]
    edge = is_negative(graph, constant, list(zip(edges, weights, strict=True)))
    support = Support(graph, graph.cone([edge >> 1, *(edge >> 1 for edge in edges)]), len(weights))
    for rows in support.every_row():
        bits = support.bits_of(rows)
        negative = bits[edge >> 1] ^ (-(edge & 1) & ((1 << rows.shape[1]) - 1))
        totals = constant + np.array(weights, dtype=np.int64) @ rows
        assert [negative >> row & 1 for row in range(rows.shape[1])] == (totals < 0).tolist()


def all_but_the_first(wires: Wires) -> int:
    """Make a wire that is true if all of 24 literals except the first are true."""
    last = 1
    for wire in range(2, 24):
        last = wires.gate("AND", last, wire)
    return last


# -- definitions ------------------------------------------------------------------------------


def test_missing_values_are_neither_larger_nor_smaller() -> None:
    circuit = circuit_of(AGE, [Above(0, 50.0), Missing(0)], votes={0: (0, 1), 1: (0, 9)})
    assert isinstance(prove_monotone(circuit, "age", "yes"), Proof)
    assert isinstance(prove_monotone(circuit, "age", "no", direction="falling"), Proof)


def test_no_margin_over_any_of_three_classes_may_fall() -> None:
    # Class 1 gains on class 0, but class 2 gains more.
    circuit = Circuit((AGE,), (Above(0, 50.0),), (), (Rule(0, (0, 1, 2)),), (0, 0, 0), (0, 1, 2))
    found = prove_monotone(circuit, "age", 1)
    assert isinstance(found, Reversal)
    assert (found.votes_before, found.votes_after) == ((0, 0, 0), (0, 1, 2))
    assert prove_monotone(circuit, "age", 2)
    assert prove_monotone(circuit, "age", 0, direction="falling")


def test_an_unread_feature_is_both_rising_and_falling() -> None:
    circuit = circuit_of([AGE, Column("size", "number")], [Above(0, 50.0)])
    for direction in ("rising", "falling"):
        assert prove_monotone(circuit, "size", "yes", direction=direction)


def test_one_row_in_a_million_is_found() -> None:
    columns, literals = numbers(24)
    wires = Wires(24)
    last = all_but_the_first(wires)
    against = wires.gate("AND", last, 0)
    circuit = circuit_of(columns, literals, wires.nodes, {against: (1, 0), last: (0, 0)})
    found = prove_monotone(circuit, "x0", "yes")
    assert isinstance(found, Reversal)
    assert all(cell > 0.5 for cell in found.row.values())  # type: ignore[operator]
    assert prove_monotone(circuit, "x0", "no") == Proof(
        "structure", 0.0, "no never loses as x0 grows"
    )


def test_votes_that_only_together_never_fall_are_proven_by_sat() -> None:
    # As x0 grows, "yes" loses a vote if x1 and other columns are true, and gains one if x1 is true.
    columns, literals = numbers(24)
    wires = Wires(24)
    last = all_but_the_first(wires)
    votes: dict[int, tuple[int, ...]] = {
        wires.gate("AND", last, 0): (1, 0),
        wires.gate("AND", 0, 1): (0, 1),
    }
    circuit = circuit_of(columns, literals, wires.nodes, votes)
    assert prove_monotone(circuit, "x0", "yes") == Proof("SAT", 0.0, "yes never loses as x0 grows")
    assert isinstance(prove_monotone(circuit, "x0", "yes", time_limit=0.0), Undecided)


# -- messages ---------------------------------------------------------------------------------


def test_answers_have_a_readable_text() -> None:
    circuit = circuit_of(
        [AGE, Column("smoker", "boolean")],
        [Above(0, 50.0), Above(1, 0.5)],
        [Node(GATE_BY_NAME["AND"], 0, 1)],
        {0: (1, 0), 2: (0, 2)},
    )
    found = prove_monotone(circuit, "age", "yes")
    said = "refuted: raising age from 0 to 80 changes the votes from (0, 0) to (1, 0)"
    assert str(found) == f"{said} where smoker = False"
    alone = circuit_of(AGE, [Above(0, 50.0)])
    said = "refuted: raising age from 0 to 80 changes the votes from (0, 0) to (0, 1)"
    assert str(prove_monotone(alone, "age", "yes", direction="falling")) == said
    assert str(prove_monotone(alone, "age", "yes")).startswith("yes never loses as age grows (")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"feature": "size"}, "no column 'size'; it has age, hue"),
        ({"feature": "hue"}, "'hue' has categories, which have no order"),
        ({"label": "perhaps"}, "no class 'perhaps'; its classes are 'no', 'yes'"),
        ({"direction": "up"}, "direction is 'up'"),
        ({"time_limit": -1}, "time_limit is -1"),
    ],
)
def test_invalid_questions_are_refused(options: dict[str, Any], said: str) -> None:
    hue = Column("hue", "category", ("red", "green"))
    circuit = circuit_of([AGE, hue], [Above(0, 50.0), Among(1, (0,))])
    given = {"feature": "age", "label": "yes"} | options
    with pytest.raises(OptionError, match=said):
        prove_monotone(circuit, given.pop("feature"), given.pop("label"), **given)


def test_an_estimator_is_not_a_circuit() -> None:
    with pytest.raises(OptionError, match="prove_monotone takes a Circuit, not a str"):
        prove_monotone("model", "age", "yes")  # type: ignore[arg-type]


def test_counterexamples_have_likely_values_if_possible() -> None:
    """Age falls from 300 on, and from 50 on for people with a low chol; 50 and 240 are likely."""
    ages, chols = (20.0, 25.0, 40.0, 50.0, 60.0, 75.0, 90.0), (150.0,) * 2 + (240.0,) * 4 + (400.0,)
    columns = (
        Column("age", "integer", range=ValueRange(ages)),
        Column("chol", "integer", range=ValueRange(chols)),
    )
    literals = (Above(0, 300.0), Above(0, 50.0), Above(1, 10.0), Above(1, 200.0))
    nodes = (Node(GATE_BY_NAME["AND"], 1, 3),)
    rules = (Rule(0, (1, 0)), Rule(4, (2, 0)), Rule(1, (0, 1)))
    circuit = Circuit(columns, literals, nodes, rules, (0, 0), ("no", "yes"))
    found = prove_monotone(circuit, "age", "yes")
    assert isinstance(found, Reversal)
    assert (found.before, found.after, found.row["chol"]) == (50, 60, 240)
    other = Circuit(columns, literals, nodes, (*rules, Rule(3, (0, 1))), (0, 0), ("no", "yes"))
    difference = prove_equal(circuit, other)
    assert isinstance(difference, Counterexample)
    assert 20 <= difference.row["age"] <= 90
    assert 200 < difference.row["chol"] <= 400
