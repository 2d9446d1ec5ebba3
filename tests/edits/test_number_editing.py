"""Edits of circuits that predict a number do what they say, and their effect is proven."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.edit_record import EditRecord
from dln.core.literals import Column
from dln.edits.editing import Editing
from dln.edits.number_demands import prove_limits
from dln.edits.number_effect import NumberEditEffect
from dln.errors import DlnError, OptionError
from tests.support.strategies import (
    every_row,
    law,
    plain_votes,
    plain_wires,
    rows_for,
    score_circuits,
    score_logic_circuits,
)

COLUMNS = (Column("age", "integer"), Column("pregnant", "boolean"), Column("dose", "number"))
TEXT = """
risk is 1.5 plus what the rules add.
  +2  age > 54
  -0.5  dose > 3 and pregnant
  +0.25  pregnant
"""
CIRCUIT = Circuit.from_rules(TEXT, columns=COLUMNS)
AMOUNTS = st.one_of(
    st.integers(-99, 99).map(float), st.sampled_from([0.25, -1.5, 0.001, -12.345, 4000.0])
)


def exact(circuit: Circuit, rows: list[list[object]]) -> list[Fraction]:
    """Compute the score of rows, as the reference."""
    scale = Fraction(10) ** circuit.number_readout.digits
    return [Fraction(int(points)) / scale for (points,) in plain_votes(circuit, rows)]


# -- laws -------------------------------------------------------------------------------------


@law
@given(score_circuits(), AMOUNTS, st.data())
def test_a_rule_is_dropped_or_gets_other_points(
    circuit: Circuit, amount: float, data: st.DataObject
) -> None:
    assume(abs(circuit.number_readout.digits) < 22)
    # Any edit that builds the circuit again drops constant rules.
    try:
        circuit = dln.edit(circuit).set_base_votes(0.5).circuit
    except OptionError:  # too many decimals for the points of the circuit
        return
    editing = dln.edit(circuit)
    assume(editing.draft.numbers)
    place = data.draw(st.integers(0, len(circuit.rules) - 1))
    rows = data.draw(rows_for(circuit))
    wires = plain_wires(circuit, rows)[:, circuit.rules[place].wire]
    fires = [Fraction(int(fire)) for fire in wires]
    scale = Fraction(10) ** circuit.number_readout.digits
    own = Fraction(circuit.rules[place].votes[0]) / scale
    before = exact(circuit, rows)
    dropped = editing.drop(place + 1).circuit
    assert exact(dropped, rows) == [
        score - fire * own for score, fire in zip(before, fires, strict=True)
    ]
    try:
        changed = editing.set_votes(place + 1, amount).circuit
    except DlnError:  # too many decimals, or too many points
        return
    assert exact(changed, rows) == [
        score + fire * (Fraction(repr(amount)) - own)
        for score, fire in zip(before, fires, strict=True)
    ]


@law
@given(
    score_logic_circuits(max_literals=4, max_gates=6),
    st.sampled_from(["x0", "not x1", "x0 and x1", "x0 xor x1", "x1 or not x0"]),
    st.booleans(),
    st.data(),
)
def test_a_limit_is_kept_on_every_row_and_changes_no_other(
    circuit: Circuit, where: str, least: bool, data: st.DataObject
) -> None:
    assume(len(circuit.columns) > 1)
    rows = every_row(circuit)
    before = circuit.predict(rows)
    # Near what is predicted, and never beyond what a link can reach.
    limit = float(data.draw(st.sampled_from(before.tolist())))
    assume(np.isfinite(limit))
    name = "at_least" if least else "at_most"
    editing = dln.edit(circuit).force(where, **{name: limit})
    (proof,) = editing.proofs
    assert proof
    text = f"0:\n  +1  {where}"
    region = Circuit.from_rules(text, columns=circuit.columns).votes(rows)[:, 0] > 0
    after = editing.circuit.predict(rows)
    assert (after >= limit if least else after <= limit)[region].all()
    np.testing.assert_array_equal(before[~region], after[~region])
    if (before >= limit if least else before <= limit)[region].all():
        assert not editing.circuit.locked
        return
    # One point less would not be enough.
    (place,) = editing.circuit.locked
    score = editing.circuit.number_readout
    points = score.rules[place].votes[0]
    assert (points > 0) == least
    fewer = score.decimal(points - (1 if least else -1))
    weaker = dln.edit(editing.circuit).release(where, **{name: limit}).unlock(place + 1)
    weaker = weaker.set_votes(place + 1, float(fewer))
    limits = (limit, None) if least else (None, limit)
    assert not prove_limits(weaker.circuit, where, *limits)


# -- each edit --------------------------------------------------------------------------------


def test_the_rules_are_listed_with_numbers_and_keep_them() -> None:
    editing = dln.edit(CIRCUIT).drop(1).add("dose > 9", 0.125, locked=True).set_votes(3, -3)
    assert str(editing).splitlines() == [
        "   -  +1.5  always",
        "   2  -0.5  dose > 3 and pregnant",
        "   3  -3  pregnant",
        "   4  +0.125  dose > 9  (locked)",
    ]
    assert editing.circuit.number_readout.digits == 3


def test_change_move_base_and_names() -> None:
    editing = (
        dln.edit(CIRCUIT)
        .change("pregnant", "pregnant and age <= 54")
        .move_cutoff("dose", 3, 4.5)
        .set_base_votes(2)
        .rename_column("age", "years")
        .rename_target("hazard")
    )
    assert str(editing.circuit).splitlines() == [
        "hazard is 2 plus what the rules add.",
        "  +2  years > 54",
        "  -0.5  dose > 4.5 and pregnant",
        "  +0.25  years <= 54 and pregnant",
    ]
    effect = editing.effect([[60, True, 4.0]], [3.0])
    assert isinstance(effect, NumberEditEffect)
    assert effect.n_changed == 1


def test_a_demand_is_met_kept_and_released() -> None:
    editing = dln.edit(CIRCUIT, who="A. Weber").force("pregnant", at_least=3, why="guideline")
    (proof,) = editing.proofs
    assert str(proof).startswith("at least 3 where pregnant (proven by ")
    assert str(editing).splitlines()[-1] == "   4  +1.75  pregnant  (locked)"
    with pytest.raises(OptionError, match='the demand "at least 3 where pregnant" would be broken'):
        editing.add("dose > 7", -1)
    renamed = editing.rename_column("pregnant", "expecting").rename_target("hazard")
    assert len(renamed.proofs) == 1
    freed = editing.release("pregnant", at_least=3).unlock(4).drop(4)
    assert freed.proofs == ()
    assert freed.circuit == CIRCUIT
    both = dln.edit(CIRCUIT).force("age > 54", at_least=2, at_most=4.5)
    assert not both.circuit.locked
    assert dln.edit(CIRCUIT).force("age > 54", at_most=3).circuit.rules[-1].votes == (-75,)
    with pytest.raises(
        OptionError, match=r"no rule keeps the prediction at least 2 and at most 2\.1"
    ):
        dln.edit(CIRCUIT).force("age > 54", at_least=2, at_most=2.1)


def test_the_effect_is_counted_and_proven() -> None:
    rows = [[60, False, 1.0], [60, True, 1.0], [20, True, 5.0], [20, False, 0.0]]
    editing = dln.edit(CIRCUIT).set_votes(1, 3).drop(3)
    effect = editing.effect(rows, [4, 5, 1, 1.5])
    assert isinstance(effect, NumberEditEffect)
    assert (effect.n_rows, effect.n_changed) == (4, 3)
    assert effect.changes == (-0.25, 0.5, 1.0)
    errors = [
        np.abs(circuit.predict(rows) - [4, 5, 1, 1.5]).mean()
        for circuit in (CIRCUIT, editing.circuit)
    ]
    assert effect.mae == pytest.approx(errors)
    text = effect.to_text()
    assert text.startswith(
        "3 of 4 rows changed their prediction (75.0 %).\n"
        "Change of these rows: -0.25 to +1, mean +0.5.\n"
        "R²: "
    )
    assert "The models differ (75.0 % of the rows) exactly where" in text
    assert effect.differences.complete
    assert json.loads(json.dumps(effect.to_dict()))["n_changed"] == 3
    assert "R²" in effect.to_markdown()
    alone = dln.edit(CIRCUIT).drop(3).effect()
    assert isinstance(alone, NumberEditEffect)
    assert (alone.n_rows, alone.r2, alone.mae) == (None, None, None)
    same = dln.edit(CIRCUIT).lock(1).effect(rows, [1, 1, 1, 1])
    assert "0 of 4 rows" in same.to_text()
    assert "predict the same number for every possible row" in same.to_text()
    assert "R²" not in same.to_text()


def test_edits_survive_a_file_simplification_and_export(tmp_path: Path) -> None:
    editing = dln.edit(CIRCUIT, who="A", when="2024").lock(2).force("pregnant", at_least=3)
    path = tmp_path / "m.json"
    editing.circuit.save(path)
    loaded = Circuit.load(path)
    assert (loaded, loaded.edits) == (editing.circuit, editing.circuit.edits)
    smaller = dln.simplify(loaded)
    assert len(smaller.locked) == 2
    assert dln.prove_equal(smaller, loaded)
    dln.export(smaller, to="c")
    edits = tmp_path / "edits.json"
    dln.save_edits(edits, editing.records, CIRCUIT)
    again = dln.edit(CIRCUIT).apply(*dln.load_edits(edits, CIRCUIT))
    assert again.circuit == editing.circuit
    assert again.records == editing.records


def test_records_of_a_number() -> None:
    editing = dln.edit(CIRCUIT).add("pregnant", 0.1).set_base_votes(2).force("pregnant", at_most=9)
    documents = [record.to_dict() for record in editing.rename_target("r").records]
    assert documents == [
        {"edit": "add", "text": "pregnant", "adds": 0.1},
        {"edit": "base", "adds": 2.0},
        {"edit": "force", "where": "pregnant", "at most": 9.0},
        {"edit": "rename target", "to": "r"},
    ]
    assert [EditRecord.from_dict(each) for each in documents] == [
        EditRecord(record.edit) for record in editing.rename_target("r").records
    ]
    for document in (
        {"edit": "base"},
        {"edit": "force", "where": "x"},
        {"edit": "add", "text": "x"},
    ):
        with pytest.raises(ValueError, match=r'"(votes|class)" is missing'):
            EditRecord.from_dict(document)


# -- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            lambda e: e.add("pregnant", {"ill": 1}),
            "predicts a number and has no classes; give what",
        ),
        (lambda e: e.set_base_votes({"ill": 1}), "predicts a number and has no classes"),
        (lambda e: e.add("pregnant", 0), "adds nothing; give another amount than 0"),
        (lambda e: e.add("pregnant", float("nan")), "what is added: 3.2"),
        (lambda e: e.add("pregnant", True), "what is added: 3.2"),
        (lambda e: e.add("pregnant", 1 / 3), "has too many decimals for this model"),
        (lambda e: e.add("pregnant", 1e15), "may add up to"),
        (lambda e: e.lock(1).set_votes(1, 3), "rule 1 is locked and cannot be changed"),
        (lambda e: e.force("pregnant", never="ill"), "demand at least or at most a number"),
        (lambda e: e.force("pregnant"), "for a number give at_least=… or at_most=…"),
        (lambda e: e.force("pregnant", at_least="x"), "at_least is 'x', expected a number"),
        (lambda e: e.force("pregnant", at_least=3, at_most=2), "no number is at least 3 and at"),
        (lambda e: e.force("pregnant", at_least=1e12), "no points make the prediction at least"),
        (lambda e: e.release("pregnant", at_least=3), 'no demand "at least 3 where pregnant"'),
        (lambda e: e.rename_class("ill", "sick"), "predicts a number (risk) and has no classes"),
    ],
)
def test_a_mistake_is_one_line(step: Callable[[Editing], object], message: str) -> None:
    with pytest.raises(DlnError) as caught:
        step(dln.edit(CIRCUIT))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_classes_take_no_amounts_and_limits() -> None:
    classes = Circuit.from_rules("no:\nyes:\n  +1  pregnant", columns=COLUMNS)
    for step, message in (
        (lambda e: e.add("age > 3", 2), "the model predicts classes; give votes by class"),
        (lambda e: e.force("age > 3", at_least=2), "the model predicts classes; demand that"),
        (lambda e: e.rename_target("x"), "expected a circuit that predicts a number"),
    ):
        with pytest.raises(DlnError, match=message):
            step(dln.edit(classes))
