"""Every possible value is in exactly one atom, and every atom contains a possible value."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.conditions import column_atoms
from dln.core.literals import Above, Among, Column, ColumnKind, Literal, Missing
from dln.core.parts import Rule
from tests.support.strategies import circuits, law, rows_for

LARGEST = 1.7976931348623157e308
UTMOST: dict[ColumnKind, list[float]] = {
    "number": [LARGEST, -LARGEST, math.nextafter(LARGEST, 0), 5e-324, 0.0, -0.0, 2.0**53],
    "integer": [LARGEST, -LARGEST, 2.0**52, -(2.0**52), 2.0**53, 2.0**53 + 2, 3.2, 3.7, -0.5],
    "boolean": [-1.0, 0.0, 0.3, 0.99, 1.0, 7.0],
    "date": [0.0, 5e-324, 1e-6, 2.5e-6, -1.0, 253402300800.0, 1e12, 9.3e12, -9.3e12, LARGEST],
}


def truths_of(column: Column, literals: list[Literal], cells: list[Any]) -> list[tuple[bool, ...]]:
    """Find by a circuit's votes which literals are true for each value."""
    n_classes = len(literals) + 1
    rules = tuple(
        Rule(wire, tuple(int(number == wire) for number in range(n_classes)))
        for wire in range(len(literals))
    )
    circuit = Circuit(
        (column,), tuple(literals), (), rules, (0,) * n_classes, tuple(range(n_classes))
    )
    # With text in the column, numbers among the categories are not converted.
    table = np.empty((len(cells) + 1, 1), dtype=object)
    table[:-1, 0] = cells
    table[-1, 0] = None if column.is_numeric else ""
    return [tuple(row) for row in (circuit.votes(table)[:-1, :-1] == 1).tolist()]


def check_examples(column: Column, literals: list[Literal]) -> None:
    found = column_atoms(column, literals)
    truths = [found.truths(number) for number in range(len(found.atoms))]
    assert len(set(truths)) == len(truths) > 0
    assert truths_of(column, literals, [atom.cell for atom in found.atoms]) == truths


def cells_of(column: Column, *literals: Literal) -> list[Any]:
    return [atom.cell for atom in column_atoms(column, literals).atoms]


# -- laws -------------------------------------------------------------------------------------


@law
@given(data=st.data(), circuit=circuits())
def test_every_value_behaves_like_the_example_of_one_atom(
    data: st.DataObject, circuit: Circuit
) -> None:
    rows = data.draw(rows_for(circuit))
    for index, column in enumerate(circuit.columns):
        literals = [literal for literal in circuit.literals if literal.column == index]
        alone: list[Literal] = [replace(literal, column=0) for literal in literals]
        check_examples(column, alone)
        found = column_atoms(column, literals)
        known = {found.truths(number) for number in range(len(found.atoms))}
        assert set(truths_of(column, alone, [row[index] for row in rows])) <= known


@pytest.mark.parametrize("kind", UTMOST)
@given(data=st.data())
def test_examples_hold_at_the_ends_of_float64_and_of_time(
    kind: ColumnKind, data: st.DataObject
) -> None:
    cutoffs = st.lists(st.sampled_from(UTMOST[kind]).map(lambda cutoff: Above(0, cutoff)))
    literals: list[Literal] = [*data.draw(cutoffs), *data.draw(st.sampled_from([[], [Missing(0)]]))]
    check_examples(Column("x", kind), literals)


@law
@given(circuit=circuits(max_columns=1))
def test_literals_are_true_in_the_same_atoms_if_no_value_distinguishes_them(
    circuit: Circuit,
) -> None:
    for column in circuit.columns:
        found = column_atoms(column, circuit.literals)
        cells = [atom.cell for atom in found.atoms]
        truths = truths_of(column, list(circuit.literals), cells)
        for x, where_x in enumerate(found.where):
            for y, where_y in enumerate(found.where):
                assert (where_x == where_y) == all(row[x] == row[y] for row in truths)


# -- kinds ------------------------------------------------------------------------------------


def test_cutoffs_of_a_number_make_intervals_with_readable_examples() -> None:
    assert cells_of(Column("x", "number"), Above(0, 3.0), Above(0, 4.0)) == [0.0, 4.0, 6.0]
    assert cells_of(Column("x", "number"), Above(0, 3.25), Above(0, 3.3)) == [0.0, 3.3, 5.0]


def test_only_infinity_is_above_the_largest_number() -> None:
    assert cells_of(Column("x", "number"), Above(0, LARGEST)) == [0.0, math.inf]
    assert cells_of(Column("x", "integer"), Above(0, LARGEST)) == [0]


def test_cutoffs_between_the_same_two_integers_make_no_atom() -> None:
    column = Column("x", "integer")
    found = column_atoms(column, (Above(0, 3.0), Above(0, 3.7), Above(0, 4.0)))
    assert found.where == (range(1, 3), range(1, 3), range(2, 3))
    assert [atom.cell for atom in found.atoms] == [0, 4, 8]
    assert all(type(atom.cell) is int for atom in found.atoms)


def test_integers_beyond_two_to_the_53_are_those_that_float64_holds() -> None:
    cutoffs = (Above(0, 2.0**53), Above(0, 2.0**53 + 2))
    assert cells_of(Column("x", "integer"), *cutoffs) == [0, 2**53 + 2, 10**16]


def test_a_boolean_is_false_true_or_missing() -> None:
    column = Column("x", "boolean")
    assert cells_of(column, Above(0, 0.0), Above(0, 0.9), Missing(0)) == [None, False, True]
    assert column_atoms(column, (Above(0, 1.0),)).where == (range(1, 1),)
    assert cells_of(column, Above(0, -1.0)) == [None, False]  # only missing values are not above


def test_dates_are_whole_microseconds() -> None:
    column = Column("born", "date")
    day = datetime.datetime(2020, 5, 17)
    seconds = (day - datetime.datetime(1970, 1, 1)).total_seconds()
    examples = cells_of(column, Above(0, seconds - 1.0), Above(0, seconds))
    assert examples == [datetime.datetime(2019, 1, 1), day, datetime.datetime(2021, 1, 1)]
    assert len(cells_of(column, Above(0, 1e-6), Above(0, 1.9e-6))) == 2
    assert len(cells_of(column, Above(0, 1e-6), Above(0, 2e-6))) == 3


def test_missing_values_are_an_atom_only_if_a_literal_distinguishes_them() -> None:
    hue = Column("hue", "category", ("red", "blue"))
    assert cells_of(hue, Among(0, (0,))) == ["blue", "red"]
    assert cells_of(hue, Among(0, (0,)), Missing(0)) == [None, "blue", "red"]
    assert cells_of(Column("x", "number"), Above(0, 1.0)) == [0.0, 2.0]
    assert cells_of(Column("x", "number"), Above(0, 1.0), Missing(0)) == [None, 0.0, 2.0]
    assert cells_of(Column("x", "number")) == [0.0]


def test_categories_that_no_literal_distinguishes_are_one_atom() -> None:
    column = Column("c", "category", ("a", "b", "c", "d"))
    found = column_atoms(column, (Among(0, (2, 0, 1)), Among(0, (1,))))
    assert [atom.cell for atom in found.atoms] == ["d", "a", "b"]
    assert found.where == ((1, 2), (2,))


def test_an_unseen_category_is_new() -> None:
    known = ("other", "another")
    column = Column("c", "category", known)
    cell = cells_of(column, Among(0, (0, 1)))[0]
    assert isinstance(cell, str)
    assert cell not in known
    assert cells_of(Column("c", "category", (1, 2)), Among(0, (0, 1))) == ["other", 1]


def test_ten_thousand_literals_of_one_column_are_supported() -> None:
    literals = [Above(0, float(cutoff)) for cutoff in range(10_000)]
    found = column_atoms(Column("x", "number"), literals)
    assert len(found.atoms) == 10_001
    assert found.where[1234] == range(1235, 10_001)
    column = Column("c", "category", tuple(map(str, range(10_000))))
    assert len(column_atoms(column, [Among(0, (c,)) for c in range(10_000)]).atoms) == 10_001
