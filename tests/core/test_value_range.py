"""Ranges of the training rows: measured, saved, kept, and used in examples of rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dln
from dln import Above, Among, Circuit, Column, Logic, Missing, Rule, Score, ValueRange
from dln.core.conditions import Gap, column_atoms
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.core.value_range import LEVELS
from dln.data.table import RawColumn
from dln.encode.ranges import measure_range
from dln.errors import CircuitError, CircuitFileError
from dln.exporters.identity import circuit_id
from dln.prove.region import likely_box
from tests.support.strategies import circuits, law

FINITE = st.floats(allow_nan=False, allow_infinity=False)
QUANTILES = st.lists(FINITE, min_size=len(LEVELS), max_size=len(LEVELS)).map(sorted).map(tuple)
CHOL = ValueRange((120, 180, 210, 240, 280, 320, 580))


@st.composite
def ranged(draw: st.DrawFn) -> Circuit:
    """Draw a circuit some of whose columns have a range."""
    circuit = draw(circuits())
    columns = [
        replace(
            column,
            range=draw(
                st.none()
                | st.builds(
                    ValueRange,
                    QUANTILES if column.is_numeric else st.just(()),
                    st.booleans(),
                )
            ),
        )
        for column in circuit.columns
    ]
    return replace(circuit, logic=replace(circuit.logic, columns=tuple(columns)))


def ranges(circuit: Circuit) -> list[ValueRange | None]:
    return [column.range for column in circuit.columns]


def one_column(column: Column, *cutoffs: float) -> Circuit:
    """Return a circuit that says yes above the last cutoff."""
    literals = tuple(Above(0, cutoff) for cutoff in cutoffs)
    rules = (Rule(len(cutoffs) - 1, (0, 1)),)
    return Circuit((column,), literals, (), rules, (0, 0), ("no", "yes"))


# -- measuring ----------------------------------------------------------------------------------


@law
@given(
    values=st.lists(st.floats() | st.integers(-99, 99).map(float), min_size=1, max_size=40),
    kind=st.sampled_from(["number", "integer", "date"]),
)
def test_a_range_contains_all_values_and_is_about_as_wide(values: list[float], kind: Any) -> None:
    numbers = np.array(values)
    if kind != "number":
        numbers = np.trunc(numbers)
    found = measure_range(RawColumn(kind, numbers))
    finite = numbers[np.isfinite(numbers)]
    assert found.missing == bool(np.isnan(numbers).any())
    assert bool(found.quantiles) == bool(len(finite))
    if len(finite):
        low, high = found.quantiles[0], found.quantiles[-1]
        assert low <= finite.min() <= finite.max() <= high
        # At most a tenth of the span is added at each end, and at most 1 for integers.
        span = max(finite.max() / 2 - finite.min() / 2, 0.5 if kind == "integer" else 0.0)
        assert finite.min() / 2 - low / 2 <= span * 0.2001 + (kind == "integer")
        assert high / 2 - finite.max() / 2 <= span * 0.2001 + (kind == "integer")


def test_quantiles_are_near_those_of_the_rows() -> None:
    values = np.random.default_rng(0).normal(240, 50, 5000)
    found = measure_range(RawColumn("number", values)).quantiles
    step = 20.0
    assert all(number % step == 0 for number in found)
    inner = np.quantile(values, LEVELS[1:-1], method="inverted_cdf")
    assert np.abs(np.array(found[1:-1]) - inner).max() <= step / 2


def test_no_exact_extreme_of_a_wide_column_is_saved() -> None:
    values = np.array([126.0, 211.5, 240.25, 301.0, 563.75])
    assert not set(measure_range(RawColumn("number", values)).quantiles) & set(values.tolist())


def test_dates_are_rounded_to_days_and_booleans_stay() -> None:
    day = 86_400.0
    dates = measure_range(RawColumn("date", np.array([100.5, 7.25, 31.0]) * day)).quantiles
    assert [number / day for number in dates] == [5, 5, 5, 30, 100, 100, 105]
    truth = measure_range(RawColumn("boolean", np.array([True, False, False])))
    assert truth.quantiles == (0, 0, 0, 0, 1, 1, 1)


def test_a_column_without_numbers_has_no_quantiles() -> None:
    assert measure_range(RawColumn("number", np.array([np.nan]))) == ValueRange((), missing=True)
    words = np.array(["a", None], dtype=object)
    assert measure_range(RawColumn("category", words)) == ValueRange((), missing=True)


# -- files and other circuits --------------------------------------------------------------------


@law
@given(circuit=ranged())
def test_a_file_keeps_ranges(circuit: Circuit) -> None:
    loaded = circuit_from_json(circuit_to_json(circuit))
    assert loaded == circuit
    assert ranges(loaded) == ranges(circuit)


@law
@given(circuit=ranged())
def test_ranges_change_neither_equality_nor_the_id(circuit: Circuit) -> None:
    plain = circuit.without_ranges()
    assert ranges(plain) == [None] * len(plain.columns)
    assert plain == circuit
    assert hash(plain.columns) == hash(circuit.columns)
    assert circuit_id(plain) == circuit_id(circuit)


@law
@given(circuit=ranged())
def test_simplify_keeps_ranges(circuit: Circuit) -> None:
    assert ranges(dln.simplify(circuit, "quick")) == ranges(circuit)


def test_edits_and_pruning_keep_ranges() -> None:
    circuit = one_column(Column("chol", "integer", range=CHOL), 100.0, 240.0)
    edited = dln.edit(circuit).rename_column("chol", "cholesterol").circuit
    assert ranges(edited) == [CHOL]
    rows = [[value] for value in range(130, 500, 10)]
    labels = circuit.predict(rows)
    assert ranges(dln.prune(circuit, rows, labels).circuit) == [CHOL]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ('{"quantiles": [1]}', 'must have "quantiles" and "missing"'),
        ('{"quantiles": [1, 2], "missing": false}', "has 2 quantiles, expected 7 or none"),
        ('{"quantiles": [7, 6, 5, 4, 3, 2, 1], "missing": false}', "descend"),
        ('{"quantiles": ["a"], "missing": false}', "expected numbers"),
        ('{"quantiles": [], "missing": 1}', "expected true or false"),
        ('{"quantiles": [1, 2, 3, 4, 5, 6, 1' + "0" * 400 + '], "missing": false}', "too large"),
        ('{"quantiles": [1, 2, 3, 4, 5, 6, 1e999], "missing": false}', "not finite"),
        ("3", "must have"),
    ],
)
def test_wrong_ranges_are_refused(part: str, message: str) -> None:
    text = circuit_to_json(one_column(Column("chol", "integer"), 240.0))
    text = text.replace('"kind": "integer"', f'"kind": "integer", "range": {part}')
    with pytest.raises(CircuitFileError, match=message) as caught:
        circuit_from_json(text)
    assert "\n" not in str(caught.value)


def test_categories_have_no_quantiles() -> None:
    with pytest.raises(CircuitError, match="has categories, but its range has quantiles"):
        Column("hue", "category", ("red",), range=CHOL)


# -- examples of rows ----------------------------------------------------------------------------


@law
@given(circuit=ranged())
def test_examples_are_in_their_atom_and_in_the_range_if_possible(circuit: Circuit) -> None:
    for index in circuit.logic.used_columns:
        column = circuit.columns[index]
        literals = [literal for literal in circuit.literals if literal.column == index]
        with_range = column_atoms(column, literals)
        plain = column_atoms(replace(column, range=None), literals)
        assert with_range == plain
        for atom in with_range.atoms:
            if isinstance(atom, Gap) and column.kind in ("number", "integer"):
                value = atom.cell
                assert isinstance(value, (int, float))
                assert atom.low < value <= atom.high or value == -math.inf
                if column.range is not None and column.range.quantiles and atom.is_likely:
                    assert column.range.quantiles[0] <= value <= column.range.quantiles[-1]


@law
@given(circuit=ranged(), where=st.integers(0, 5))
def test_a_counterexample_is_likely_if_a_likely_one_exists(circuit: Circuit, where: int) -> None:
    assume(circuit.n_classes > 1)
    search, label = circuit._search, circuit.classes[where % circuit.n_classes]
    verdict = dln.prove_rule(circuit, label)
    plain = dln.prove_rule(circuit.without_ranges(), label)
    assert bool(verdict) == bool(plain)
    likely = likely_box(search)
    if isinstance(verdict, dln.Violation) and search.has_rows(likely):
        number = circuit.classes.index(label)
        if search.find_other(likely, number).row is not None:
            for column in circuit.columns:
                if column.name in verdict.row and column.range is not None:
                    value = verdict.row[column.name]
                    if value is None:
                        assert column.range.missing
                    elif not column.is_numeric:
                        assert value in column.categories
                    elif column.range.quantiles and column.kind in ("number", "integer"):
                        assert isinstance(value, (int, float))
                        assert column.range.quantiles[0] <= value <= column.range.quantiles[-1]


def test_a_counterexample_has_a_plausible_value_without_data() -> None:
    column = Column("chol", "integer", range=CHOL)
    circuit = one_column(column, 100.0, 240.0)
    assert dln.prove_rule(circuit.without_ranges(), "yes").row == {"chol": 0}
    assert dln.prove_rule(circuit, "yes").row == {"chol": 230}
    # A condition comes first; the range chooses among the values that are left.
    assert dln.prove_rule(circuit, "yes", where={"chol": (None, 150)}).row == {"chol": 140}
    assert dln.prove_rule(circuit, "yes", where={"chol": (None, 90)}).row == {"chol": 0}


def test_an_implausible_counterexample_is_found_if_there_is_no_other() -> None:
    circuit = one_column(Column("chol", "integer", range=CHOL), 100.0)
    found = dln.prove_rule(circuit, "yes")
    assert isinstance(found, dln.Violation)
    assert found.row == {"chol": 0}


def test_a_missing_value_is_an_example_only_if_it_occurred_or_nothing_else_does() -> None:
    def found(literals: tuple[Any, ...], missing: bool) -> Any:
        column = Column("hue", "category", ("blue", "red"), range=ValueRange((), missing))
        rules = tuple(Rule(wire, (0, 1)) for wire in range(len(literals)))
        circuit = Circuit((column,), literals, (), rules, (0, 0), ("no", "yes"))
        return dln.prove_rule(circuit, "no").row["hue"]

    assert found((Missing(0), Among(0, (1,))), missing=False) == "red"
    assert found((Missing(0), Among(0, (1,))), missing=True) in (None, "red")
    assert found((Missing(0),), missing=False) is None


def test_proofs_hold_for_values_outside_the_range_too() -> None:
    circuit = one_column(Column("chol", "integer", range=CHOL), 100.0, 600.0)
    assert not dln.prove_rule(circuit, "no")


def test_changes_prefer_values_in_the_range() -> None:
    age = Column("age", "integer", range=ValueRange((20, 25, 30, 40, 50, 60, 70)))
    chol = Column("chol", "integer", range=CHOL)
    literals = (Above(0, 30.0), Above(0, 90.0), Above(1, 200.0), Above(1, 300.0))
    rules = (Rule(1, (0, 1)), Rule(3, (0, 1)))
    circuit = Circuit((age, chol), literals, (), rules, (0, 0), ("no", "yes"))
    row = {"age": 88, "chol": 190}
    (option,) = circuit.without_ranges().changes(row).options
    assert [(change.feature, change.after) for change in option.changes] == [("age", 91)]
    (option,) = circuit.changes(row).options
    assert [(change.feature, change.after) for change in option.changes] == [("chol", 301)]
    best = circuit.explain(row).changes[0]
    assert (best.feature, best.after) == ("chol", 301)
    # Nothing else gives the class: a value outside the range is better than no answer.
    (option,) = circuit.changes(row, fixed=["chol"]).options
    assert [(change.feature, change.after) for change in option.changes] == [("age", 91)]
    # The user's own range replaces that of the training rows.
    (option,) = circuit.changes(row, within={"age": (None, None)}).options
    assert [change.feature for change in option.changes] == ["age"]


# -- fits ----------------------------------------------------------------------------------------


def test_a_fit_keeps_the_ranges_of_the_columns_that_are_read() -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(240, 50, 200), np.zeros(200), rng.normal(0, 1, 200)])
    table[:3, 0] = np.nan
    labels = np.nan_to_num(table[:, 0]) > 250
    model = dln.DLNClassifier(max_rules=2, random_state=0).fit(table, labels)
    for circuit in (model.circuit_, *(point.circuit for point in model.path_.points)):
        read = circuit.logic.used_columns
        assert [n for n, column in enumerate(circuit.columns) if column.range] == read
        for index in read:
            assert circuit.columns[index].range == measure_range(
                RawColumn("number", table[:, index])
            )
    assert model.circuit_.columns[0].range.missing


def test_a_refit_has_the_ranges_of_its_rows() -> None:
    circuit = one_column(Column("x0", "number"), 10.0, 30.0)
    table = np.arange(60.0).reshape(-1, 1)
    model = dln.DLNClassifier(max_rules=2, random_state=0)
    labels = np.where(table[:, 0] > 30, "yes", "no")
    again = dln.refit(circuit, table, labels, locked=[1], model=model)
    assert ranges(again) == [measure_range(RawColumn("number", table[:, 0]))]


def test_a_fit_of_a_number_keeps_ranges() -> None:
    table = np.arange(60.0).reshape(-1, 1)
    model = dln.DLNRegressor(max_rules=1, random_state=0).fit(table, 2 * table[:, 0])
    assert model.circuit_.columns[0].range == measure_range(RawColumn("number", table[:, 0]))
    logic = Logic(model.circuit_.columns, (Above(0, 30.0),), ())
    price = Circuit(logic=logic, readout=Score((Rule(0, (32,)),), (125,), 1, name="price"))
    found = dln.prove_range(price, at_most=13)
    assert isinstance(found, dln.Violation)
    assert found.row == {"x0": 40.0}
