"""Explanations, reasons and changes of predicted numbers, compared with all rows of small circuits.

A limit splits the predictions of a circuit into classes. The classes of every row are compared with
its prediction here; tests/explain/test_class_reasons.py and test_change_options.py show that
reasons and changes of classes are exact.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dln
from dln.core.bands import Bands, split_bands
from dln.core.circuit import Circuit
from dln.core.parts import Rule
from dln.explain.number_explanation import NumberExplanation
from tests.explain.test_change_options import cost_of_cell
from tests.explain.test_class_reasons import all_rows
from tests.explain.test_number_rules import PRICE, SCORE
from tests.support.strategies import (
    busy_circuits,
    law,
    plain_votes,
    score_circuits,
    score_logic_circuits,
    with_score,
)

ROW = {"age": 60, "smoker": True, "hue": "blue"}


@st.composite
def number_circuits(draw: st.DrawFn) -> Circuit:
    """Draw circuits that predict a number, many of which have rows that can be changed."""
    return with_score(draw, draw(busy_circuits()))


ANY = st.one_of(score_circuits(), score_logic_circuits(), number_circuits())


def numbers_of(circuit: Circuit, rows: list[list[Any]]) -> list[float]:
    """Return the predictions of rows from an evaluation of its own."""
    return circuit.number_readout.answers(plain_votes(circuit, rows)).tolist()


def draw_limits(data: st.DataObject, numbers: list[float]) -> dict[str, float]:
    """Draw limits at, between or beyond predictions."""
    known = [number for number in numbers if np.isfinite(number)]
    near = [np.nextafter(x, way) for x in known for way in (-np.inf, np.inf)]
    limit = st.sampled_from([*known, *near, 0.0, 1e9, -1e9]).map(float).filter(np.isfinite)
    match data.draw(st.sampled_from(["at_least", "at_most", "both"])):
        case "both":
            low, high = sorted((data.draw(limit), data.draw(limit)))
            return {"at_least": low, "at_most": high}
        case name:
            return {name: data.draw(limit)}


def bands_of(circuit: Circuit, limits: dict[str, float]) -> Bands:
    # Points of two limits are counted twice.
    largest = sum(abs(rule.votes[0]) for rule in circuit.rules)
    assume(len(limits) == 1 or largest < 2**28)
    return split_bands(circuit, **limits)


@law
@given(data=st.data(), circuit=ANY)
def test_bands_are_those_of_the_predictions(data: st.DataObject, circuit: Circuit) -> None:
    _, rows = all_rows(circuit)
    numbers = numbers_of(circuit, rows)
    limits = draw_limits(data, numbers)
    bands = bands_of(circuit, limits)
    votes = plain_votes(bands.circuit, rows).tolist()
    for number, of_row in zip(numbers, votes, strict=True):
        inside = limits.get("at_least", -np.inf) <= number <= limits.get("at_most", np.inf)
        winner = of_row.index(max(of_row))
        assert (winner == bands.number) == inside
        if not inside:  # the bands are in order
            above = number > limits.get("at_most", np.inf)
            assert (winner < bands.number) == above


@law
@given(data=st.data(), circuit=ANY)
def test_no_allowed_change_that_reaches_the_range_is_cheaper(
    data: st.DataObject, circuit: Circuit
) -> None:
    assume(all(column.kind != "date" for column in circuit.columns))
    atoms, rows = all_rows(circuit)
    numbers = numbers_of(circuit, rows)
    limits = draw_limits(data, numbers)
    bands_of(circuit, limits)
    inside = [
        limits.get("at_least", -np.inf) <= n <= limits.get("at_most", np.inf) for n in numbers
    ]
    outside = [at for at, is_inside in enumerate(inside) if not is_inside]
    assume(outside)
    at = data.draw(st.sampled_from(outside))
    own = rows[at]
    for cell, column in zip(own, circuit.columns, strict=True):
        assume(column.is_numeric or cell is None or isinstance(cell, str))
    costs = []
    read = circuit._search.variables.read
    for row, cells, is_inside in zip(atoms, rows, inside, strict=True):
        steps = [
            cost_of_cell(circuit, index, own[index], cells[index])
            for place, index in enumerate(read)
            if row[place] != atoms[at][place]
        ]
        if is_inside and None not in steps:
            costs.append(sum(step for step in steps if step is not None))
    found = circuit.changes(own, **limits, time_limit=None)
    assert found.complete
    assert found.prediction is not None
    assert found.prediction.value == numbers[at]
    assert bool(found.options) == bool(costs)
    names = [column.name for column in circuit.columns]
    for option in found.options:
        assert option.cost == pytest.approx(float(min(costs)), abs=1e-3)
        changed = list(own)
        for change in option.changes:
            changed[names.index(change.feature)] = change.after
        (number,) = numbers_of(circuit, [changed])
        assert option.prediction is not None
        assert option.prediction.value == number
        assert limits.get("at_least", -np.inf) <= number <= limits.get("at_most", np.inf)
    assert json.loads(found.to_json())["prediction"] == (
        numbers[at] if np.isfinite(numbers[at]) else None
    )


@law
@given(data=st.data(), circuit=ANY)
def test_an_explanation_adds_up_and_its_ranges_are_exact(
    data: st.DataObject, circuit: Circuit
) -> None:
    atoms, rows = all_rows(circuit)
    numbers, points = numbers_of(circuit, rows), plain_votes(circuit, rows)[:, 0].tolist()
    at = data.draw(st.integers(0, len(rows) - 1))
    own = rows[at]
    for cell, column in zip(own, circuit.columns, strict=True):
        assume(column.is_numeric or cell is None or isinstance(cell, str))
    found = circuit.explain(own)
    assert isinstance(found, NumberExplanation)
    assert found.points == points[at]
    fired = sum(rule.votes[0] for rule in found.fired)
    assert circuit.number_readout.offset + fired == found.points
    assert [abs(r.votes[0]) for r in found.rules] == sorted(
        (abs(r.votes[0]) for r in found.rules), reverse=True
    )
    reaches = {reach.feature: reach for reach in found.reaches}
    for place, index in enumerate(circuit._search.variables.read):
        column = circuit.columns[index]
        alone = [
            numbers[other]
            for other, row in enumerate(atoms)
            if all(row[p] == atoms[at][p] for p in range(len(row)) if p != place)
            and rows[other][index] is not None
            and (column.is_numeric or rows[other][index] in column.categories)
        ]
        reach = reaches.get(column.name)
        if reach is not None:
            assert (reach.lowest.value, reach.highest.value) == (min(alone), max(alone))
        else:
            assert len(set(alone)) <= 1 or circuit.number_readout.link != "identity"
    assert str(found)
    assert found.to_markdown()
    assert "<script" not in found.to_html()


@law
@given(data=st.data(), circuit=ANY)
def test_the_nearest_change_reaches_the_range(data: st.DataObject, circuit: Circuit) -> None:
    atoms, rows = all_rows(circuit)
    numbers = numbers_of(circuit, rows)
    limits = draw_limits(data, numbers)
    bands_of(circuit, limits)
    low, high = limits.get("at_least", -np.inf), limits.get("at_most", np.inf)
    at = data.draw(st.integers(0, len(rows) - 1))
    assume(not low <= numbers[at] <= high)
    own = rows[at]
    for cell, column in zip(own, circuit.columns, strict=True):
        assume(column.is_numeric or cell is None or isinstance(cell, str))
    found = circuit.explain(own, **limits)
    assert isinstance(found, NumberExplanation)
    changes = {change.feature: change for change in found.changes}
    for place, index in enumerate(circuit._search.variables.read):
        alone = [
            numbers[other]
            for other, row in enumerate(atoms)
            if all(row[p] == atoms[at][p] for p in range(len(row)) if p != place)
        ]
        name = circuit.columns[index].name
        assert (name in changes) == any(low <= number <= high for number in alone)
        if name in changes:
            prediction = changes[name].prediction
            assert prediction is not None
            assert low <= prediction.value <= high


def test_an_explanation_reads_well() -> None:
    assert str(PRICE.explain(ROW, at_most=13)) == "\n".join(
        [
            "price: 14.9 = 12.5 + 2.4",
            "smallest change: smoker: True -> False (not smoker) gives 11.7",
            "other changes:",
            "  age: 60 -> 30 (age <= 30) gives 12.5",
            "one feature alone can move it:",
            "  smoker: 11.7 (not smoker) to 14.9 (smoker)",
            "  age: 12.5 (age <= 30) to 14.9 (age > 54)",
            "  hue: 14.9 (hue != red) to 15.6 (hue = red)",
            "fired:",
            "  +3.2  age > 54 and smoker",
            "  -1.5  age > 54",
            "  +0.7  age > 30",
            "did not fire:",
            "  +0.7  hue = red",
        ]
    )


def test_reasons_and_changes_name_the_range() -> None:
    assert str(PRICE.reason(ROW, at_least=13)) == (
        "price at least 13: this is enough, whatever the other columns hold\n  age > 30\n  smoker"
    )
    assert str(PRICE.reason(ROW, at_most=20)) == ("price at most 20 for every possible row")
    assert "in every reason: age, smoker" in str(PRICE.reasons(ROW, at_least=13))
    assert str(PRICE.changes(ROW, at_least=15.6)) == (
        "14.9; changes that give price at least 15.6, cheapest first:\n"
        "  1. hue: blue -> red (hue = red) gives 15.6"
    )
    within = PRICE.changes(ROW, at_least=12, at_most=13, fixed=["age", "smoker"])
    assert str(within) == "No allowed change gives price from 12 to 13."
    codes = dln.reason_codes(PRICE, [list(ROW.values()), [20, True, "red"]], at_least=14)
    assert [code.label for code in codes] == ["price at least 14", "price below 14"]
    assert codes[0].condition == PRICE.reason(ROW, at_least=14).condition


def test_trends_of_a_number_are_those_of_its_points() -> None:
    assert str(dln.find_trends(PRICE)) == (
        "as it grows  price\nage          rises and falls\nsmoker       never falls"
    )
    rising = replace(PRICE, readout=replace(SCORE, rules=(Rule(0, (5,)), Rule(2, (3,)))))
    assert "age          never falls" in str(dln.find_trends(rising))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.reason(ROW), r"predicts a number \(price\); set a limit, such as at_least=10"),
        (lambda c: c.changes(ROW), "set a limit, such as at_least=10 or at_most=10"),
        (lambda c: c.changes(ROW, to="x"), "to is 'x', but the circuit predicts a number; use at_"),
        (lambda c: c.changes(ROW, at_least=5, at_most=4), "at_least is 5 and at_most 4: expected"),
        (lambda c: c.changes(ROW, at_least="5"), "at_least is '5', expected a finite number"),
        (lambda c: c.changes(ROW, at_least=14), r"gets 14.9, which is already in .*at least 14\)"),
        (lambda c: c.explain(ROW, at_most=15), "gets 14.9, which is already in the range asked"),
    ],
)
def test_a_question_without_a_clear_range_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(dln.OptionError, match=message):
        ask(PRICE)


def test_limits_are_refused_for_classes() -> None:
    classifier = Circuit((dln.Column("a", "number"),), (), (), (), (0, 1), ("no", "yes"))
    for ask in (classifier.explain, classifier.reason, classifier.reasons, classifier.changes):
        with pytest.raises(dln.OptionError, match="at_least is for circuits that predict a number"):
            ask([1.0], at_least=3)  # type: ignore[operator]


def test_points_that_are_too_large_for_limits_are_refused() -> None:
    large = replace(PRICE, readout=replace(SCORE, rules=(Rule(0, (2**31 - 200,)),)))
    with pytest.raises(dln.OptionError, match="the points of the rules are too large for limits"):
        large.reason(ROW, at_least=14, at_most=15)
