"""An explanation tells what the circuit did with a row, why, and what would change it."""

from __future__ import annotations

import datetime
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
from strategies import (
    Rows,
    as_objects,
    circuits,
    columns,
    law,
    literals_of,
    nodes_over,
    plain_votes,
    rows_for,
)
from test_rule_table import Tags
from test_rules_text import Reader, renamed

from dln.circuit import Circuit
from dln.conditions import column_atoms
from dln.errors import ColumnTypeError, MissingColumnError, TableError
from dln.explain.fires import wire_values
from dln.explain.local import Explanation, explain_row
from dln.explain.possible import cone
from dln.explain.reasons import find_reason
from dln.gates import GATE_BY_NAME, GATES
from dln.labels import label_to_json
from dln.literals import COLUMN_KINDS, Above, Among, Column, ColumnKind, Literal, Missing
from dln.parts import Node, Rule

AND, OR = GATE_BY_NAME["AND"], GATE_BY_NAME["OR"]
MOST_ROWS = 3000


def read_columns(circuit: Circuit) -> list[int]:
    return sorted({literal.column for literal in circuit.literals})


def atom_cells(circuit: Circuit, column: int) -> list[Any]:
    literals = [literal for literal in circuit.literals if literal.column == column]
    return [atom.cell for atom in column_atoms(circuit.columns[column], literals).atoms]


def every_row(circuit: Circuit) -> Rows:
    """Make a row for every combination of atoms."""
    cells = [atom_cells(circuit, column) for column in range(len(circuit.columns))]
    assume(math.prod(map(len, cells)) <= MOST_ROWS)
    return [list(row) for row in itertools.product(*cells)]


def changed(row: list[Any], column: int, cell: Any) -> list[Any]:
    return [*row[:column], cell, *row[column + 1 :]]


@st.composite
def busy_circuits(draw: st.DrawFn, kinds: tuple[ColumnKind, ...] = COLUMN_KINDS) -> Circuit:
    """Draw a circuit of few columns and many literals, where most rows can be changed."""
    table = (replace(draw(columns(kinds)), name="a"), replace(draw(columns(kinds)), name="b"))
    literals = tuple(draw(st.lists(literals_of(table), min_size=3, max_size=6)))
    nodes = draw(nodes_over(len(literals), 5))
    wires = st.integers(0, len(literals) + len(nodes) - 1)
    rule = st.builds(Rule, wires, st.sampled_from([(0, 1), (1, 0), (2, 0), (0, 2)]))
    rules = tuple(draw(st.lists(rule, min_size=2, max_size=6)))
    return Circuit(table, literals, nodes, rules, (0, 0), ("no", "yes"))


# -- what happened ----------------------------------------------------------------------------


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
    """Tell whether a wire is 1 in all rows in which the facts hold."""
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
        literals = wire_values(circuit, range(circuit.n_literals), table)
        wires = wire_values(circuit, [rule.wire for rule in circuit.rules], table)
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
            read = [wire for wire in cone(circuit, rule.wire) if wire < circuit.n_literals]
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
def test_a_greedy_reason_forces_its_rule_and_says_so(data: st.DataObject, circuit: Circuit) -> None:
    possible = every_row(circuit)
    literals = wire_values(circuit, range(15), as_objects(circuit, possible))
    truth = wire_values(circuit, [28], as_objects(circuit, possible))[:, 0]
    assume(truth.any())
    row = data.draw(st.sampled_from(np.flatnonzero(truth).tolist()))
    reason = find_reason(circuit, 28, literals[row].tolist())
    assert not reason.exact
    assert forces([(fact.literal, fact.truth) for fact in reason.facts], literals, truth)
    assert "(there may be a shorter reason)" in str(explain_row(circuit, possible[row]))


def test_a_reason_leaves_out_what_a_chain_does_not_need() -> None:
    columns = tuple(Column(f"b{place}", "boolean") for place in range(20))
    literals = tuple(Above(place, 0.5) for place in range(20))
    nodes = (Node(OR, 0, 1), *(Node(OR, 19 + place, 1 + place) for place in range(1, 19)))
    circuit = Circuit(columns, literals, nodes, (Rule(38, (1,)),), (0,), ("a",))
    (rule,) = explain_row(circuit, [place == 7 for place in range(20)]).rules
    assert str(rule.reason) == "b7"


def test_a_reason_holds_for_a_cell_that_its_column_should_not_hold() -> None:
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


def test_the_nearer_side_is_taken_though_it_is_past_more_cutoffs() -> None:
    circuit = Circuit(
        columns=(Column("x", "integer"),),
        literals=tuple(Above(0, cutoff) for cutoff in (0.0, 21.0, 22.0)),
        nodes=(),
        rules=(Rule(0, (0, 2)), Rule(1, (0, 1)), Rule(2, (4, 0))),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )
    change = explain_row(circuit, [20]).change
    assert change is not None
    assert (change.after, change.n_crossed, change.distance) == (23, 2, 3.0)


# -- changes ----------------------------------------------------------------------------------


@law
@given(data=st.data(), circuit=st.one_of(circuits(max_literals=8), busy_circuits()))
def test_a_change_gives_its_class_and_is_found_wherever_there_is_one(
    data: st.DataObject, circuit: Circuit
) -> None:
    for row in data.draw(rows_for(circuit, max_rows=3)):
        explanation = explain_row(circuit, row)
        names = [column.name for column in circuit.columns]
        by_column = {names.index(change.feature): change for change in explanation.changes}
        for column in read_columns(circuit):
            rows = [changed(row, column, cell) for cell in atom_cells(circuit, column)]
            winners = plain_votes(circuit, rows).argmax(axis=1)
            flips = winners != circuit.classes.index(explanation.label)
            assert flips.any() == (column in by_column)
            if column in by_column:
                change = by_column[column]
                after = changed(row, column, change.after)
                assert circuit.predict(as_objects(circuit, [after]))[0] == change.label
                assert change.label != explanation.label
                assert str(change) in str(explanation)
        assert (explanation.change is None) == (not by_column)
        if explanation.changes:
            assert explanation.change is explanation.changes[0]


@law
@given(data=st.data(), circuit=busy_circuits())
def test_cells_that_fulfil_the_condition_of_a_change_give_its_class(
    data: st.DataObject, circuit: Circuit
) -> None:
    circuit = renamed(circuit)
    names = [column.name for column in circuit.columns]
    for row in data.draw(rows_for(circuit, max_rows=3)):
        for change in explain_row(circuit, row).changes:
            if change.condition.endswith("is of no known category"):
                assert change.after not in circuit.columns[names.index(change.feature)].categories
                continue
            holds = Reader(change.condition, {}).read()
            assert holds({change.feature: change.after})
            column = names.index(change.feature)
            for cell in atom_cells(circuit, column):
                # A cutoff's negation holds for missing cells too: that is another condition.
                if holds({change.feature: cell}) and (cell is None) == (change.after is None):
                    (votes,) = plain_votes(circuit, [changed(row, column, cell)])
                    assert circuit.classes[int(votes.argmax())] == change.label


def cells_near(circuit: Circuit, column: int, value: float) -> list[float]:
    """List numbers at and beside every cutoff of a column, and beside the present one."""
    kind = circuit.columns[column].kind
    found = [value]
    for literal in circuit.literals:
        if literal.column == column and isinstance(literal, Above):
            cutoff = literal.cutoff
            found += [cutoff, math.nextafter(cutoff, math.inf), math.nextafter(cutoff, -math.inf)]
            found += [math.floor(cutoff), math.floor(cutoff) + 1.0, cutoff - 1e-6, cutoff + 1e-6]
    if kind == "integer":
        found = [number for number in found if float(number).is_integer()]
    if kind == "boolean":
        found = [0.0, 1.0]
    if kind == "date":
        found = [round(number * 1e6) / 1e6 for number in found]
    return [float(number) for number in found]


@law
@given(data=st.data(), circuit=busy_circuits(kinds=("number", "integer", "boolean", "date")))
def test_no_nearer_number_changes_the_class(data: st.DataObject, circuit: Circuit) -> None:
    seconds = {
        c.name: replace(c, kind="number") if c.kind == "date" else c for c in circuit.columns
    }
    plain = replace(circuit, columns=tuple(seconds.values()))  # dates as their seconds
    for row in data.draw(rows_for(circuit, max_rows=3)):
        numbers = [_number(cell) for cell in row]
        explanation = explain_row(circuit, row)
        for change in explanation.changes:
            column = [c.name for c in circuit.columns].index(change.feature)
            if change.distance is None:  # from or to a missing cell
                assert change.before is None or change.after is None
                continue
            value = numbers[column]
            after = _number(change.after)
            assert abs(after - value) >= change.distance
            for cell in cells_near(circuit, column, value):
                (votes,) = plain_votes(plain, [changed(numbers, column, cell)])
                if circuit.classes[int(votes.argmax())] != explanation.label:
                    assert abs(cell - value) >= change.distance


def _number(cell: Any) -> Any:
    if isinstance(cell, np.datetime64):
        return int(cell.astype("datetime64[us]").astype(np.int64)) / 1e6
    if isinstance(cell, datetime.datetime):
        return (cell - datetime.datetime(1970, 1, 1)) / datetime.timedelta(seconds=1)
    return math.nan if cell is None else float(cell)


def of_one_column(column: Column, *literals: Literal) -> Circuit:
    """Make a circuit that says "yes" where any literal is true."""
    rules = tuple(Rule(wire, (0, 1)) for wire in range(len(literals)))
    return Circuit((column,), literals, (), rules, (0, 0), ("no", "yes"))


def change_of(circuit: Circuit, cell: Any) -> tuple[Any, str]:
    change = explain_row(circuit, [cell]).change
    assert change is not None
    assert type(change.after) in (int, float, bool, str, datetime.datetime, type(None))
    return change.after, change.condition


def test_numbers_go_just_past_the_cutoff() -> None:
    above = of_one_column(Column("x", "number"), Above(0, 54.0))
    assert change_of(above, 50.0) == (54.01, "x > 54")
    assert change_of(above, 54.0) == (54.01, "x > 54")
    assert change_of(above, 54.01) == (54.0, "x <= 54")
    assert change_of(above, math.inf) == (54.0, "x <= 54")
    assert change_of(above, None) == (80.0, "x > 54")
    tiny = of_one_column(Column("x", "number"), Above(0, 0.0476))
    assert change_of(tiny, 0.01) == (0.04761, "x > 0.0476")
    zero = of_one_column(Column("x", "number"), Above(0, 0.0))
    assert change_of(zero, -3.0) == (0.001, "x > 0")
    largest = of_one_column(Column("x", "number"), Above(0, 1.7976931348623157e308))
    assert change_of(largest, 0.0)[0] == math.inf
    narrow = Circuit(
        (Column("x", "number"),),
        (Above(0, 1.0), Above(0, math.nextafter(1.0, 2.0))),
        (Node(GATE_BY_NAME["A_AND_NOT_B"], 0, 1),),
        (Rule(2, (0, 1)),),
        (0, 0),
        ("no", "yes"),
    )
    assert change_of(narrow, 0.0)[0] == math.nextafter(1.0, 2.0)


def test_integers_booleans_and_dates_stay_what_they_are() -> None:
    whole = of_one_column(Column("n", "integer"), Above(0, 53.5))
    assert change_of(whole, 50) == (54, "n > 53.5")
    assert change_of(whole, 60) == (53, "n <= 53.5")
    assert change_of(whole, 53.7) == (53, "n <= 53.5")
    huge = of_one_column(Column("n", "integer"), Above(0, 2.0**53))
    assert change_of(huge, 0) == (2**53 + 2, "n > 9007199254740992")
    flag = of_one_column(Column("b", "boolean"), Above(0, 0.5))
    assert change_of(flag, True) == (False, "not b")
    day = datetime.datetime(2020, 1, 2)
    dated = of_one_column(Column("d", "date"), Above(0, 1577923200.0))
    assert change_of(dated, datetime.date(2019, 5, 1)) == (
        datetime.datetime(2020, 1, 3),
        "d > 2020-01-02",
    )
    assert change_of(dated, datetime.datetime(2020, 1, 2, 1)) == (day, "d <= 2020-01-02")
    second = of_one_column(Column("d", "date"), Above(0, 1577923201.0))
    assert change_of(second, day)[0] == datetime.datetime(2020, 1, 2, 0, 0, 2)
    fine = of_one_column(Column("d", "date"), Above(0, 1577923201.25))
    assert change_of(fine, day)[0] == datetime.datetime(2020, 1, 2, 0, 0, 1, 250001)
    assert change_of(fine, datetime.datetime(2021, 1, 1))[0] == datetime.datetime(
        2020, 1, 2, 0, 0, 1, 250000
    )


def test_categories_prefer_known_ones_and_cells_stay_rather_than_go() -> None:
    city = Column("city", "category", ("Bern", "Basel", "Chur"))
    assert change_of(of_one_column(city, Among(0, (1,))), "Bern") == ("Basel", "city = Basel")
    assert change_of(of_one_column(city, Among(0, (1,))), "Rome") == ("Basel", "city = Basel")
    assert change_of(of_one_column(city, Among(0, (1,))), None) == ("Basel", "city = Basel")
    every = of_one_column(city, Among(0, (0, 1, 2)))
    assert change_of(every, "Bern") == ("other", "city is of no known category")
    gone = of_one_column(city, Missing(0))
    assert change_of(gone, "Bern") == (None, "city is missing")
    assert change_of(gone, None) == ("Bern", "city = Bern")
    absent = of_one_column(Column("x", "number"), Missing(0))
    assert change_of(absent, 3.0) == (None, "x is missing")
    assert change_of(absent, math.nan) == (0.0, "x is not missing")


def test_a_condition_spans_neighbours_that_give_the_same_class() -> None:
    circuit = of_one_column(Column("x", "integer"), Above(0, 5.0), Above(0, 9.0), Above(0, 12.0))
    assert change_of(circuit, 3) == (6, "x > 5")
    tie = replace(circuit, rules=(Rule(0, (0, 1)), Rule(1, (2, 0)), Rule(2, (0, 2))))
    assert change_of(tie, 3) == (6, "x > 5 and x <= 9")


def test_the_smallest_change_crosses_the_fewest_cutoffs_then_moves_the_least() -> None:
    circuit = Circuit(
        columns=(Column("x", "number"), Column("y", "number"), Column("c", "category", ("u", "v"))),
        literals=(Above(0, 1.0), Above(0, 2.0), Above(1, 30.0), Among(2, (1,)), Missing(1)),
        nodes=(),
        rules=tuple(Rule(wire, (0, 1)) for wire in range(1, 5)),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )
    explanation = explain_row(circuit, [0.9, 29.0, "u"])
    assert [(change.feature, change.after) for change in explanation.changes] == [
        ("y", 30.01),  # one cutoff, 1 of 30
        ("c", "v"),  # one category
        ("x", 2.001),  # two cutoffs
    ]
    assert [change.n_crossed for change in explanation.changes] == [1, 1, 2]


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
        "fired:",
        "  +2 ill  (age > 54 and smoker) or city = Bern",
        "      because age > 54 and smoker",
        "  +1 healthy  smoker",
        "smallest change: age: 60 -> 54 (age <= 54) gives healthy",
        "other changes:",
        "  smoker: True -> False (not smoker) gives healthy",
    ]


def test_a_tie_a_single_class_and_no_change_are_told() -> None:
    tie = replace(heart(), rules=(), literals=(), nodes=())
    lines = str(explain_row(tie, CELLS)).splitlines()
    assert lines == [
        "healthy, which comes first, tied with ill (healthy: 0, ill: 0)",
        "smallest change: none of one feature",
    ]
    alone = replace(tie, base_votes=(2,), classes=("it",))
    assert str(explain_row(alone, CELLS)).splitlines()[:2] == [
        "it, the only class (it: 2)",
        "before any rule: +2 it",
    ]
    assert "No change of one feature changes the class." in explain_row(alone, CELLS).to_html()


@law
@given(data=st.data(), circuit=circuits())
def test_every_format_is_well_formed(data: st.DataObject, circuit: Circuit) -> None:
    for row in data.draw(rows_for(circuit, max_rows=1)):
        explanation = explain_row(circuit, row)
        Tags(explanation._repr_html_())
        read = json.loads(explanation.to_json(), parse_constant=pytest.fail)
        assert read == explanation.to_dict()
        assert read["class"] == label_to_json(explanation.label)
        assert read["votes"] == list(explanation.votes)
        assert [rule["fired"] for rule in read["rules"]] == [r.fired for r in explanation.rules]
        assert isinstance(hash(explanation), int)
        assert isinstance(explanation, Explanation)


# -- mistakes ---------------------------------------------------------------------------------


def test_mistakes_are_told_in_one_line() -> None:
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
