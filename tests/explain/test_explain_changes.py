"""The changes that an explanation lists give another class, and no nearer value does."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.parts import Node, Rule
from dln.explain.explanation import explain_row
from tests.explain.test_rules_text import Reader, renamed
from tests.support.strategies import (
    as_objects,
    atom_cells,
    busy_circuits,
    circuits,
    law,
    plain_votes,
    rows_for,
)


def changed(row: list[Any], column: int, cell: Any) -> list[Any]:
    return [*row[:column], cell, *row[column + 1 :]]


# -- laws -------------------------------------------------------------------------------------


@law
@given(data=st.data(), circuit=st.one_of(circuits(max_literals=8), busy_circuits()))
def test_a_change_gives_its_class_and_is_found_if_one_exists(
    data: st.DataObject, circuit: Circuit
) -> None:
    for row in data.draw(rows_for(circuit, max_rows=3)):
        explanation = explain_row(circuit, row)
        names = [column.name for column in circuit.columns]
        by_column = {names.index(change.feature): change for change in explanation.changes}
        for column in circuit.logic.used_columns:
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
def test_values_that_fulfil_the_condition_of_a_change_give_its_class(
    data: st.DataObject, circuit: Circuit
) -> None:
    circuit = renamed(circuit)
    names = [column.name for column in circuit.columns]
    for row in data.draw(rows_for(circuit, max_rows=3)):
        for change in explain_row(circuit, row).changes:
            if change.condition.endswith("is an unknown category"):
                assert change.after not in circuit.columns[names.index(change.feature)].categories
                continue
            holds = Reader(change.condition, {}).read()
            assert holds({change.feature: change.after})
            column = names.index(change.feature)
            for cell in atom_cells(circuit, column):
                if holds({change.feature: cell}):
                    (votes,) = plain_votes(circuit, [changed(row, column, cell)])
                    assert circuit.classes[int(votes.argmax())] == change.label


def cells_near(circuit: Circuit, column: int, value: float) -> list[float]:
    """List numbers at and near every cutoff of a column, and near the present value."""
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
            if change.distance is None:  # from or to a missing value
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


# -- values -----------------------------------------------------------------------------------


def of_one_column(column: Column, *literals: Literal) -> Circuit:
    """Make a circuit that predicts "yes" if any literal is true."""
    rules = tuple(Rule(wire, (0, 1)) for wire in range(len(literals)))
    return Circuit((column,), literals, (), rules, (0, 0), ("no", "yes"))


def change_of(circuit: Circuit, cell: Any) -> tuple[Any, str]:
    change = explain_row(circuit, [cell]).change
    assert change is not None
    assert type(change.after) in (int, float, bool, str, datetime.datetime, type(None))
    return change.after, change.condition


def test_numbers_change_to_a_value_just_past_the_cutoff() -> None:
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


def test_integers_booleans_and_dates_keep_their_type() -> None:
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


def test_a_column_of_0_and_1_changes_to_0_or_1() -> None:
    for kind in ("number", "integer"):
        sex = of_one_column(Column("sex", kind, binary=True), Above(0, 0.0))
        assert change_of(sex, 0) == (1, "sex = 1")
        for other in (1, 0.5, 7):
            assert change_of(sex, other) == (0, "sex != 1")


def test_known_categories_are_preferred_and_missing_values_come_last() -> None:
    city = Column("city", "category", ("Bern", "Basel", "Chur"))
    assert change_of(of_one_column(city, Among(0, (1,))), "Bern") == ("Basel", "city = Basel")
    assert change_of(of_one_column(city, Among(0, (1,))), "Rome") == ("Basel", "city = Basel")
    assert change_of(of_one_column(city, Among(0, (1,))), None) == ("Basel", "city = Basel")
    every = of_one_column(city, Among(0, (0, 1, 2)))
    assert change_of(every, "Bern") == ("other", "city is an unknown category")
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
    assert change_of(tie, 3) == (6, "5 < x <= 9")


def test_a_condition_excludes_missing_values_if_they_give_another_class() -> None:
    number, yes_no = Column("x", "number"), Column("b", "boolean")
    circuit = of_one_column(number, Above(0, 5.0), Missing(0))
    assert change_of(circuit, 6.0) == (5.0, "x <= 5 and x is not missing")
    assert change_of(circuit, None) == (0.0, "x <= 5 and x is not missing")
    assert change_of(of_one_column(number, Above(0, 5.0)), 6.0) == (5.0, "x <= 5")
    absent = of_one_column(yes_no, Above(0, 0.5), Missing(0))
    assert change_of(absent, None) == (False, "not b and b is not missing")


def test_changes_are_ranked_by_cutoffs_crossed_then_by_distance() -> None:
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


def test_within_a_column_the_nearest_value_is_chosen_even_if_it_crosses_more_cutoffs() -> None:
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


@law
@given(data=st.data(), circuit=busy_circuits())
def test_immutable_columns_are_left_out_and_the_other_changes_stay(
    data: st.DataObject, circuit: Circuit
) -> None:
    names = data.draw(st.sets(st.sampled_from([column.name for column in circuit.columns])))
    for row in data.draw(rows_for(circuit, max_rows=3)):
        free = explain_row(circuit, row)
        kept = explain_row(circuit.with_immutable(names), row)
        assert kept.changes == tuple(each for each in free.changes if each.feature not in names)
        assert set(kept.immutable) == names & set(free.row)
        if not kept.changes:
            assert ("that is not immutable" in str(kept)) == bool(kept.immutable)


def test_fixed_columns_hold_for_the_change_of_one_feature() -> None:
    import pytest

    from dln.errors import OptionError
    from tests.prove.test_certify import biased

    circuit, row = biased(), {"age": 50, "sex": "m", "chol": 100.0}
    first = circuit.explain(row).change
    assert first is not None
    found = circuit.explain(row, fixed=[first.feature])
    assert found.change is None or found.change.feature != first.feature
    assert first.feature in found.immutable
    with pytest.raises(OptionError, match="there is no column 'size'"):
        circuit.explain(row, fixed=["size"])
