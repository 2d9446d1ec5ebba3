"""Votes are the same for every kind of table, memory layout, type and instruction set."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import _native
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.literals import Above, Among, Column, Missing
from dln.core.parts import Node, Rule
from dln.errors import ColumnTypeError, MissingColumnError, TableError
from dln.evaluate import predictor
from dln.evaluate.predictor import Predictor, compile_circuit, numpy_evaluate
from tests.support.strategies import FORMS, as_rows, circuits, law, matrices, plain_votes, rows_for

LEVELS = _native.levels()
DTYPES = ("f2", "f4", "g", ">f4", ">f8", ">i4", ">u8", "i1", "u2", "i4", "i8", "u8", "?")
NUMERIC = ("number", "integer", "boolean")


def circuit_of(
    *columns: Column, literals: tuple[Any, ...], classes: Any = ("no", "yes")
) -> Circuit:
    """Make a circuit with a vote for the last class from each literal."""
    votes = (0,) * (len(classes) - 1) + (1,)
    rules = tuple(Rule(wire, votes) for wire in range(len(literals)))
    return Circuit(columns, literals, (), rules, (0,) * len(classes), classes)


AGE = circuit_of(Column("age", "number"), Column("x", "number"), literals=(Above(0, 54.0),))
COLOUR = circuit_of(Column("colour", "category", ("blue", "red")), literals=(Among(0, (1,)),))
BORN = circuit_of(Column("born", "date"), literals=(Above(0, 86400.0),))


# -- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@law
@given(data=st.data(), circuit=circuits())
def test_every_form_of_table_gives_the_votes_of_its_rows(
    form: str, data: st.DataObject, circuit: Circuit
) -> None:
    rows = data.draw(rows_for(circuit))
    assume(circuit.columns or form != "polars")  # a polars frame without columns has no rows
    assert_array_equal(circuit.votes(FORMS[form](circuit, rows)), plain_votes(circuit, rows))


TEXT_TYPES = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]


@law
@given(data=st.data(), circuit=circuits(), text=st.sampled_from(TEXT_TYPES), size=st.integers(1, 4))
def test_tables_and_batches_of_arrow_give_the_votes_of_their_rows(
    data: st.DataObject, circuit: Circuit, text: Any, size: int
) -> None:
    rows = data.draw(rows_for(circuit))
    types = {
        "number": pa.float64(),
        "integer": pa.int64(),
        "boolean": pa.bool_(),
        "date": pa.timestamp("us"),
    }
    columns = {}
    for index, column in enumerate(circuit.columns):
        cells = [row[index] for row in rows]
        is_text = all(cell is None or isinstance(cell, str) for cell in cells)
        assume(is_text or column.is_numeric)
        cells = pa.array(cells, types.get(column.kind, pa.string()))
        columns[column.name] = cells if column.is_numeric else cells.cast(text)
    assume(columns)
    table = pa.table(columns)
    batches = table.to_batches(max_chunksize=size)
    votes = plain_votes(circuit, rows)
    assert_array_equal(circuit.votes(table), votes)
    assert_array_equal(circuit.votes(pa.Table.from_batches(batches, table.schema)), votes)
    if batches:
        assert_array_equal(np.concatenate([circuit.votes(batch) for batch in batches]), votes)


@law
@given(data=st.data(), circuit=circuits())
def test_native_levels_and_numpy_agree(data: st.DataObject, circuit: Circuit) -> None:
    rows = data.draw(rows_for(circuit))
    source, n_rows = Predictor(circuit)._source(as_rows(circuit, rows))
    expected = plain_votes(circuit, rows)
    assert_array_equal(numpy_evaluate(circuit, source, n_rows)[1], expected)
    for level in LEVELS:
        program = compile_circuit(circuit, level)
        assert program.level == level
        assert_array_equal(program.votes(source, n_rows=n_rows), expected)
        assert_array_equal(program.classify(source, n_rows=n_rows), expected.argmax(axis=1))


@law
@given(data=st.data(), circuit=circuits(kinds=NUMERIC))
def test_layouts_and_types_of_arrays_do_not_change_votes(
    data: st.DataObject, circuit: Circuit
) -> None:
    cells = data.draw(rows_for(circuit))
    rows = np.array(cells, dtype=np.float64).reshape(len(cells), len(circuit.columns))
    for matrix in matrices(rows):
        assert_array_equal(circuit.votes(matrix), plain_votes(circuit, cells))
    with np.errstate(over="ignore", invalid="ignore"):
        others = [rows.astype(dtype) for dtype in DTYPES]
    for other in others:
        expected = plain_votes(circuit, other.astype(np.float64).tolist())
        assert_array_equal(circuit.votes(other), expected)
        assert_array_equal(circuit.votes(np.asfortranarray(other)), expected)
        assert_array_equal(circuit.votes(other[::-1]), expected[::-1])
        if other.dtype.str not in ("<f2", "<f16"):  # pandas has no such columns
            frame = pd.DataFrame(other, columns=[column.name for column in circuit.columns])
            assert_array_equal(circuit.votes(frame), expected)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_of_many_rows_vote_like_single_rows(level: str, dtype: str, order: Any) -> None:
    rng = np.random.default_rng(0)
    columns = tuple(Column(f"x{index}", "number") for index in range(5))
    literals = tuple(Above(int(rng.integers(5)), float(rng.integers(-9, 9)) / 2) for _ in range(9))
    gates = tuple(GATE_BY_NAME.values())
    nodes = tuple(
        Node(gates[code], int(rng.integers(9 + place)), int(rng.integers(9 + place)))
        for place, code in enumerate(rng.integers(0, 16, 40).tolist())
    )
    rules = tuple(Rule(wire, tuple(rng.integers(-2, 4, 3).tolist())) for wire in range(0, 49, 2))
    circuit = Circuit(columns, literals, nodes, rules, (1, 0, 0), ("a", "b", "c"))
    program = compile_circuit(circuit, level)
    for n_rows in (0, 1, 2, 63, 64, 65, 511, 513, 5000):
        cells = rng.integers(-6, 7, (n_rows, 5)) / 2
        with np.errstate(invalid="ignore"):
            table = np.array(cells.astype(dtype), order=order)
        expected = numpy_evaluate(circuit, table, n_rows)[1]
        assert_array_equal(program.votes(table), expected)
        assert_array_equal(program.classify(table, n_threads=2), expected.argmax(axis=1))


def test_integers_beyond_float_precision_are_compared_as_float64() -> None:
    circuit = circuit_of(Column("x", "integer"), literals=(Above(0, 2.0**53), Above(0, 2.0**63)))
    for dtype, values in {
        "i8": [2**53, 2**53 + 1, 2**53 + 2, -(2**63), 2**63 - 1],
        "u8": [2**53, 2**53 + 1, 2**53 + 3, 2**63, 2**63 + 1025, 2**64 - 1],
    }.items():
        table = np.array(values, dtype=dtype)[:, None]
        expected = plain_votes(circuit, table.astype(np.float64).tolist())
        assert_array_equal(circuit.votes(table), expected)
        assert_array_equal(circuit.votes(pd.DataFrame(table, columns=["x"])), expected)


def test_the_number_of_threads_does_not_change_votes() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(140_000, 2)).astype(np.float32) * 60
    votes = AGE.votes(table)
    assert_array_equal(votes[:, 1], table[:, 0] > 54)
    assert_array_equal(AGE.predict(table), np.where(votes[:, 1] > 0, "yes", "no"))


@law
@given(data=st.data(), circuit=circuits())
def test_the_first_class_with_most_votes_wins(data: st.DataObject, circuit: Circuit) -> None:
    table = as_rows(circuit, data.draw(rows_for(circuit)))
    winners = circuit.votes(table).argmax(axis=1)
    assert_array_equal(circuit.winners(table), winners)
    labels = circuit.predict(table)
    assert labels.dtype == circuit.class_labels.dtype
    assert labels.tolist() == [circuit.classes[winner] for winner in winners]


@law
@given(data=st.data(), circuit=circuits())
def test_probabilities_follow_the_votes(data: st.DataObject, circuit: Circuit) -> None:
    table = as_rows(circuit, data.draw(rows_for(circuit)))
    votes, chances = circuit.votes(table), circuit.predict_proba(table)
    assert chances.shape == votes.shape
    assert np.all((chances >= 0) & (chances <= 1))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    if circuit.calibration is not None:  # tests/core/test_calibration.py has its laws
        return
    by_votes = np.take_along_axis(chances, np.argsort(votes, axis=1, kind="stable"), axis=1)
    assert np.all(np.diff(by_votes, axis=1) >= 0)
    assert np.all(chances[np.arange(len(votes)), votes.argmax(axis=1)] == chances.max(axis=1))


@pytest.mark.parametrize("temperature", [1.0, 0.1, 7.5, 5e-324, 1e308])
def test_for_two_classes_the_probability_rises_with_the_margin(temperature: float) -> None:
    columns = (Column("x", "number"),)
    literals = tuple(Above(0, float(cutoff)) for cutoff in range(9))
    rules = tuple(Rule(wire, (1, 0) if wire < 4 else (-1, 2)) for wire in range(9))
    circuit = Circuit(columns, literals, (), rules, (-2, 0), (0, 1), temperature)
    table = np.arange(-0.5, 10)[:, None]
    votes, chances = circuit.votes(table), circuit.predict_proba(table)
    margins = votes[:, 1] - votes[:, 0]
    assert len(set(margins.tolist())) > 5
    order = np.argsort(margins)
    assert np.all(np.diff(chances[order, 1]) >= 0)
    assert np.all(chances[margins == 0] == 0.5)
    assert_array_equal(circuit.predict(table), margins > 0)


def test_without_the_extension_votes_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [[60.0, 1.0], [54.0, 2.0], [math.nan, 3.0]]
    with_native = [f(AGE, table) for f in (Circuit.votes, Circuit.predict, Circuit.predict_proba)]
    monkeypatch.setattr(predictor, "_NATIVE_PROGRAM", None)
    bare = Circuit(**AGE.__getstate__())
    assert bare._predictor._program is None
    without = [f(bare, table) for f in (Circuit.votes, Circuit.predict, Circuit.predict_proba)]
    for one, other in zip(with_native, without, strict=True):
        assert_array_equal(one, other)
        assert one.dtype == other.dtype


def test_the_extension_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    assert predictor._find_native() is _native.Program
    monkeypatch.setitem(__import__("sys").modules, "dln._native", None)
    assert predictor._find_native() is None


# -- shapes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (0.5, 1.5), (False, True), (0, "a")])
def test_single_rows_and_no_rows_work_for_labels_of_any_type(classes: Any) -> None:
    circuit = circuit_of(Column("x", "number"), literals=(Above(0, 1.0),), classes=classes)
    for dtype in (np.float32, np.float64, np.int64):
        assert circuit.predict(np.array([[2]], dtype=dtype)).tolist() == [classes[1]]
        assert circuit.predict(np.empty((0, 1), dtype=dtype)).tolist() == []
        assert circuit.votes(np.empty((0, 1), dtype=dtype)).shape == (0, 2)
        assert circuit.predict_proba(np.empty((0, 1), dtype=dtype)).shape == (0, 2)
    for empty in (pd.DataFrame({"x": []}), pl.DataFrame({"x": []}), np.empty((0, 1), dtype=object)):
        assert circuit.predict(empty).tolist() == []


def test_a_circuit_without_columns_or_literals_votes_its_base() -> None:
    bare = Circuit((), (), (), (), (0, 3), ("no", "yes"))
    assert bare.votes(np.empty((3, 0))).tolist() == [[0, 3]] * 3
    unread = Circuit((Column("x", "category", ("a",)),), (), (), (), (0, 3), ("no", "yes"))
    for table in ([["a"], [None]], pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"y": [1, 2]})):
        assert unread.predict(table).tolist() == ["yes", "yes"]


@pytest.mark.parametrize("table", [[60.0, 1.0], np.array([60.0, 1.0]), pd.Series([60.0, 1.0])])
def test_one_dimension_is_refused_with_advice(table: Any) -> None:
    with pytest.raises(TableError, match=r"1 dimension.*expected 2.*reshape\(1, -1\)"):
        AGE.predict(table)


@pytest.mark.parametrize("n_columns", [0, 1, 3])
def test_a_wrong_number_of_columns_is_refused(n_columns: int) -> None:
    message = f"the table has {n_columns} columns, the circuit was trained on 2; give all of them"
    for dtype in (np.float32, np.int64, object):
        with pytest.raises(TableError, match=message):
            AGE.predict(np.zeros((4, n_columns), dtype=dtype))


def test_a_missing_column_is_named_and_an_unread_one_may_be_absent() -> None:
    with pytest.raises(
        MissingColumnError, match=r"reads \['age'\], but the table has only \['x'\]"
    ):
        AGE.predict(pd.DataFrame({"x": [1.0]}))
    assert AGE.predict(pd.DataFrame({"age": [55.0]})).tolist() == ["yes"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_found_by_name(frame: Any) -> None:
    table = frame({"other": ["?", "?"], "x": [99.0, 0.0], "age": [54, 55]})
    assert AGE.predict(table).tolist() == ["no", "yes"]


# -- types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table", [[["old", 1.0]], pd.DataFrame({"age": ["old"]}), pl.DataFrame({"age": ["60"]})]
)
def test_text_in_a_column_of_numbers_is_refused(table: Any) -> None:
    with pytest.raises(ColumnTypeError, match=r"column 'age' holds '(old|60)', expected numbers"):
        AGE.predict(table)


def test_text_after_many_numbers_is_refused() -> None:
    with pytest.raises(ColumnTypeError, match="column 'age' holds 'old', expected numbers"):
        AGE.predict([[60.0, 1.0], ["old", 1.0]])


def test_a_column_of_missing_values_fits_every_kind() -> None:
    for circuit in (COLOUR, BORN, circuit_of(Column("a", "number"), literals=(Above(0, 1.0),))):
        name = circuit.columns[0].name
        blank = [None, None]
        tables = [[[None], [None]], np.full((2, 1), np.nan), pd.DataFrame({name: blank})]
        for table in [*tables, pl.DataFrame({name: blank})]:
            assert circuit.predict(table).tolist() == ["no", "no"]


def test_a_literal_tests_for_missing_values() -> None:
    columns = (Column("a", "number"), Column("c", "category", ("x",)), Column("d", "date"))
    circuit = circuit_of(*columns, literals=tuple(Missing(index) for index in range(3)))
    day = datetime.datetime(2020, 1, 1)
    data = {"a": [1, None], "c": ["x", None], "d": [day, None]}
    for frame in (pd.DataFrame, pl.DataFrame):
        assert circuit.votes(frame(data))[:, 1].tolist() == [0, 3]
    assert circuit.votes([[1, "x", day], [math.nan, None, None]])[:, 1].tolist() == [0, 3]
    assert circuit.votes([[math.inf, "unseen", day]])[:, 1].tolist() == [0]


@pytest.mark.parametrize("table", [[[1.0]], np.array([[1]]), pd.DataFrame({"colour": [1.0]})])
def test_numbers_in_a_column_of_text_are_refused(table: Any) -> None:
    with pytest.raises(
        ColumnTypeError, match=r"'colour' holds .*expected categories.*'blue', 'red'"
    ):
        COLOUR.predict(table)


def test_unseen_and_missing_categories_match_nothing() -> None:
    cells = ["red", "blue", "mauve", None, "RED"]
    for table in ([[cell] for cell in cells], pd.DataFrame({"colour": cells})):
        assert COLOUR.predict(table).tolist() == ["yes", "no", "no", "no", "no"]
    frame = pd.DataFrame({"colour": pd.Categorical(cells)})
    assert COLOUR.predict(frame).tolist() == ["yes", "no", "no", "no", "no"]


def test_numbers_among_the_categories_are_found_in_a_column_of_numbers() -> None:
    column = Column("c", "category", ("a", 1, 2.5))
    circuit = circuit_of(column, literals=(Among(0, (1, 2)), Missing(0)))
    for table in ([[1], [2.5], [3], [None]], pd.DataFrame({"c": [1.0, 2.5, 3.0, None]})):
        assert circuit.votes(table)[:, 1].tolist() == [1, 1, 0, 1]
    assert circuit.votes([["a"], [1], [2.5]])[:, 1].tolist() == [0, 1, 1]
    with pytest.raises(ColumnTypeError, match="column 'c' holds dates, expected categories"):
        circuit.votes(pd.DataFrame({"c": [datetime.datetime(2020, 1, 1)]}))


@pytest.mark.parametrize("kind", ["number", "integer", "boolean"])
def test_numbers_declared_as_categories_are_compared_as_numbers(kind: Any) -> None:
    circuit = circuit_of(Column("x", kind), literals=(Above(0, 0.5), Missing(0)))
    cells = pd.Categorical([0, 1, None, 1.0])
    assert circuit.votes(pd.DataFrame({"x": cells}))[:, 1].tolist() == [0, 1, 1, 1]
    dates = circuit_of(Column("x", "date"), literals=(Above(0, 0.5), Missing(0)))
    with pytest.raises(ColumnTypeError, match="column 'x' holds numbers, expected dates"):
        dates.votes(pd.DataFrame({"x": cells}))
    with pytest.raises(ColumnTypeError, match="column 'x' holds '1', expected "):
        circuit.votes(pd.DataFrame({"x": pd.Categorical([0, "1"])}))


def test_a_column_without_known_categories_accepts_only_text_and_missing_values() -> None:
    circuit = circuit_of(Column("c", "category"), literals=(Missing(0),))
    assert circuit.votes([["a"], [None]])[:, 1].tolist() == [0, 1]
    with pytest.raises(ColumnTypeError, match=r"holds integers, expected categories.*\(none\)"):
        circuit.votes([[1]])


def test_ten_thousand_categories_are_matched_quickly() -> None:
    categories = tuple(f"c{index}" for index in range(10_000))
    circuit = circuit_of(
        Column("c", "category", categories), literals=(Among(0, tuple(range(0, 10_000, 2))),)
    )
    votes = circuit.votes([[name] for name in categories])
    assert votes[:, 1].tolist() == [1, 0] * 5000


@pytest.mark.parametrize(
    "table",
    [
        [[datetime.date(1970, 1, 2)], [datetime.date(1970, 1, 3)]],
        [[datetime.datetime(1970, 1, 2)], [datetime.datetime(1970, 1, 2, 0, 0, 1)]],
        np.array([["1970-01-02"], ["1970-01-03"]], dtype="datetime64[D]"),
        pd.DataFrame({"born": pd.to_datetime(["1970-01-02", "1970-01-03"])}),
        pl.DataFrame({"born": [datetime.date(1970, 1, 2), datetime.date(1970, 1, 3)]}),
        pd.DataFrame({"born": pd.to_datetime(["1970-01-02 01:00", "1970-01-02 02:00"])
                      .tz_localize("Europe/Berlin")}),
    ],
    ids=["dates", "moments", "datetime64", "pandas", "polars", "zone"],
)  # fmt: skip
def test_dates_of_every_kind_are_compared_in_utc(table: Any) -> None:
    assert BORN.predict(table).tolist() == ["no", "yes"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_numbers_in_a_column_of_dates_are_refused(dtype: Any) -> None:
    for table in (np.array([[1]], dtype=dtype), pd.DataFrame({"born": np.array([1], dtype=dtype)})):
        with pytest.raises(ColumnTypeError, match=r"'born' holds \w+, expected dates; convert"):
            BORN.predict(table)


def test_dates_in_a_column_of_numbers_are_refused() -> None:
    with pytest.raises(ColumnTypeError, match="column 'age' holds dates, expected numbers"):
        AGE.predict(pd.DataFrame({"age": pd.to_datetime(["2020-01-01"])}))


def test_infinities_and_negative_zero_compare_like_numbers() -> None:
    circuit = circuit_of(Column("x", "number"), literals=(Above(0, 0.0), Above(0, -1e308)))
    table = np.array([[math.inf], [-math.inf], [-0.0], [0.0], [5e-324], [math.nan]])
    assert circuit.votes(table)[:, 1].tolist() == [2, 0, 1, 1, 2, 0]
    assert circuit.votes(-table)[:, 1].tolist() == [0, 2, 1, 1, 1, 0]


@pytest.mark.parametrize("cutoff", [0.1, 16777217.0, 1e300, -1e300, 5e-324])
def test_float32_values_are_compared_exactly_with_float64_cutoffs(cutoff: float) -> None:
    circuit = circuit_of(Column("x", "number"), literals=(Above(0, cutoff),))
    with np.errstate(over="ignore"):
        near = np.float32(cutoff)
    cells = [near, np.nextafter(near, np.float32("inf")), np.nextafter(near, np.float32("-inf"))]
    table = np.array([[cell] for cell in cells], dtype=np.float32)
    expected = [int(float(cell) > cutoff) for cell in cells]
    for level in LEVELS:
        assert compile_circuit(circuit, level).votes(table)[:, 1].tolist() == expected
