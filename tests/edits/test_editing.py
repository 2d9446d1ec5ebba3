"""Edits do what they say, are recorded, and their effect is proven."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.edit_record import EditRecord, Force, Refit
from dln.core.literals import Column
from dln.edits.demands import prove_demand
from dln.edits.editing import Editing
from dln.errors import DlnError, OptionError, RuleTextError
from tests.support.strategies import (
    busy_circuits,
    circuits,
    every_row,
    law,
    logic_circuits,
    plain_votes,
    rows_for,
)

COLUMNS = (
    Column("age", "integer"),
    Column("smoker", "boolean"),
    Column("city", "category", ("Bern", "Chur")),
    Column("day", "date"),
)
TEXT = """
healthy:
  +1  always
ill:
  +3  age > 54 and smoker
  +2  city = Bern
  +1  day > 2024-05-31 or age > 54
"""
CIRCUIT = Circuit.from_rules(TEXT, columns=COLUMNS)


# -- laws -------------------------------------------------------------------------------------


@law
@given(circuits(), st.data())
def test_dropping_a_rule_takes_its_votes_away(circuit: Circuit, data: st.DataObject) -> None:
    editing = dln.edit(circuit)
    assume(editing.draft.numbers)
    # A first edit folds the circuit, so that constant rules are gone.
    editing = editing.set_base_votes({str(circuit.classes[0]): 0})
    assume(editing.draft.numbers)
    number = data.draw(st.sampled_from(editing.draft.numbers))
    after = editing.drop(number)
    rows = data.draw(rows_for(circuit))
    assume(rows)
    rule = editing.circuit.rules[editing.draft.numbers.index(number)]
    fires = [plain_rule(editing.circuit, rule.wire, row) for row in rows]
    expected = plain_votes(editing.circuit, rows) - np.outer(fires, rule.votes).astype(int)
    np.testing.assert_array_equal(plain_votes(after.circuit, rows), expected)
    assert after.draft.numbers == tuple(n for n in editing.draft.numbers if n != number)
    assert after.original is circuit
    assert [record.edit.action for record in after.records] == ["base", "drop"]


def plain_rule(circuit: Circuit, wire: int, row: list[object]) -> bool:
    alone = replace(circuit, rules=(dln.Rule(wire, (1,) * circuit.n_classes),), locked=())  # type: ignore[call-arg]
    alone = replace(alone, base_votes=(0,) * circuit.n_classes)  # type: ignore[call-arg]
    return bool(plain_votes(alone, [row])[0, 0])


@law
@given(logic_circuits(max_literals=4, max_gates=6), st.integers(0, 2), st.booleans(), st.data())
def test_a_demand_is_met_on_every_row_and_changes_no_other(
    circuit: Circuit, number: int, never: bool, data: st.DataObject
) -> None:
    assume(circuit.n_classes > 1 and circuit.n_literals > 1)
    label = circuit.classes[number % circuit.n_classes]
    where = data.draw(st.sampled_from(["x0", "not x1", "x0 and x1", "x0 xor x1", "x1 or not x0"]))
    editing = dln.edit(circuit).force(where, **{"never" if never else "always": label})  # type: ignore[arg-type]
    (proof,) = editing.proofs
    assert proof
    rows = every_row(circuit)
    region = Circuit.from_rules(f"0:\n  +1  {where}", columns=circuit.columns).votes(rows)[:, 0] > 0
    before, after = circuit.predict(rows), editing.circuit.predict(rows)
    assert ((after == label) != never)[region].all()
    np.testing.assert_array_equal(before[~region], after[~region])
    if ((before == label) != never)[region].all():
        assert not editing.circuit.locked
    else:
        # One vote less would not be enough.
        (place,) = editing.circuit.locked
        votes = editing.circuit.rules[place].votes
        less = tuple(vote - (vote > 0) + (vote < 0) for vote in votes)
        rules = list(editing.circuit.rules)
        rules[place] = rules[place]._replace(votes=less)
        weaker = replace(editing.circuit, rules=tuple(rules))  # type: ignore[call-arg]
        assert not prove_demand(weaker, Force(where, label, never))


@law
@given(circuit=busy_circuits(), data=st.data())
def test_edits_survive_a_file(
    circuit: Circuit, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    editing = dln.edit(circuit, who="Ä. Weber", when="2024-05-31")
    number = data.draw(st.sampled_from(editing.draft.numbers))
    editing = editing.lock(number, why="agreed").set_base_votes({"yes": 1})
    path = tmp_path_factory.getbasetemp() / "edited.json"
    editing.circuit.save(path)
    loaded = Circuit.load(path)
    assert loaded == editing.circuit
    assert loaded.edits == editing.circuit.edits
    assert loaded.locked == editing.circuit.locked
    again = dln.edit(loaded).set_base_votes({"yes": 2})
    assert [record.edit.action for record in again.circuit.edits] == ["lock", "base", "base"]
    assert [record.edit.action for record in again.records] == ["base"]


# -- each edit --------------------------------------------------------------------------------


def test_numbers_stay_while_rules_come_and_go() -> None:
    editing = (
        dln.edit(CIRCUIT).drop(1).add("smoker", {"ill": 1}).drop(2).set_votes(4, {"healthy": 2})
    )
    assert editing.draft.numbers == (3, 4)
    assert str(editing).splitlines() == [
        "   -  healthy +1  always",
        "   3  ill +1  age > 54 or day > 2024-05-31",
        "   4  healthy +2  smoker",
    ]


def test_a_rule_is_found_by_its_text_however_it_is_written() -> None:
    for text in ("smoker and age > 54", "not (not smoker or age <= 54)", "age >= 55 and smoker"):
        assert dln.edit(CIRCUIT).drop(text).draft.numbers == (2, 3)
    with pytest.raises(OptionError, match=r"no rule of the model is .*; did you mean rule 1: "):
        dln.edit(CIRCUIT).drop("smoker and age > 55")
    twice = dln.edit(CIRCUIT).add("city = Bern", {"ill": 1})
    with pytest.raises(OptionError, match="rules 2, 4 say 'city = Bern'"):
        twice.drop("city = Bern")


def test_a_cutoff_moves_in_all_rules_or_in_one() -> None:
    everywhere = dln.edit(CIRCUIT).move_cutoff("age", 54, 60)
    assert str(everywhere).count("age > 60") == 2
    one = dln.edit(CIRCUIT).move_cutoff("age", 54, 60, rule=3)
    assert one.draft.text(0) == "age > 54 and smoker"
    assert "age > 60" in one.draft.text(2)
    day = dln.edit(CIRCUIT).move_cutoff("day", "2024-05-31", "2024-12-31")
    assert "day > 2024-12-31" in str(day)


def test_change_add_votes_and_base() -> None:
    editing = (
        dln.edit(CIRCUIT)
        .change(2, "city in {Bern, Chur}")
        .add("age is missing", {"healthy": 1, "ill": 2}, locked=True)
        .set_votes("age > 54 and smoker", {"ill": 5})
        .set_base_votes({"ill": 1})
    )
    assert str(editing).splitlines() == [
        "   -  healthy +1, ill +1  always",
        "   1  ill +5  age > 54 and smoker",
        "   2  ill +2  city in {Bern, Chur}",
        "   3  ill +1  age > 54 or day > 2024-05-31",
        "   4  healthy +1, ill +2  age is missing  (locked)",
    ]


def test_renamed_columns_and_classes_still_compare() -> None:
    editing = dln.edit(CIRCUIT).rename_column("age", "years").rename_class("ill", "sick").drop(2)
    assert editing.circuit.columns[0].name == "years"
    assert editing.circuit.classes == ("healthy", "sick")
    table = pd.DataFrame(
        {"age": [60, 20], "smoker": [True, False], "city": ["Chur", "Bern"], "day": pd.NaT}
    )
    new = table.rename(columns={"age": "years"})
    for rows, y in ((table, ["ill", "healthy"]), (new, ["sick", "healthy"])):
        effect = editing.effect(rows, y)
        assert (effect.n_rows, effect.n_changed) == (2, 1)
        assert effect.accuracy == (0.5, 1.0)
        assert effect.differences.complete


def test_a_demand_follows_renames_and_refuses_edits_that_break_it() -> None:
    editing = dln.edit(CIRCUIT).force("age <= 18", never="ill", why="law")
    editing = editing.rename_column("age", "years").rename_class("ill", "sick")
    assert len(editing.proofs) == 1
    with pytest.raises(OptionError, match='the demand "never ill where age <= 18" would be broken'):
        editing.add("years <= 10", {"sick": 9})
    guard = editing.circuit.locked[0] + 1
    with pytest.raises(OptionError, match="is locked and cannot be dropped"):
        editing.drop(guard)
    with pytest.raises(OptionError, match="would be broken"):
        editing.unlock(guard).drop(guard)
    with pytest.raises(OptionError, match="there is no demand"):
        dln.edit(CIRCUIT).release("age <= 18", never="ill")
    freed = dln.edit(CIRCUIT).force("age <= 18", never="ill").release("age <= 18", never="ill")
    assert freed.unlock(guard).drop(guard).draft.numbers == (1, 2, 3)
    assert freed.proofs == ()


def test_the_effect_is_counted_and_proven() -> None:
    editing = dln.edit(CIRCUIT).drop("city = Bern")
    rows = [
        list(row) for row in itertools.product((30, 60), (True, False), ("Bern", "Chur"), [None])
    ]
    y = ["ill" if row[0] > 54 else "healthy" for row in rows]
    effect = editing.effect(rows, y)
    changed = CIRCUIT.predict(rows) != editing.circuit.predict(rows)
    assert (effect.n_rows, effect.n_changed) == (8, int(changed.sum()))
    assert effect.accuracy == tuple(
        float(np.mean(circuit.predict(rows) == y)) for circuit in (CIRCUIT, editing.circuit)
    )
    assert effect.differences.complete
    assert "rows changed their class" in effect.to_text()
    assert effect.to_dict()["n_changed"] == effect.n_changed
    assert "Accuracy" in effect.to_markdown()
    alone = editing.effect()
    assert (alone.n_rows, alone.accuracy) == (None, None)
    assert dln.edit(CIRCUIT).effect().to_text() == (
        "The models predict the same class for every possible row."
    )


def test_an_edited_model_still_simplifies_prunes_and_exports(tmp_path: Path) -> None:
    editing = dln.edit(CIRCUIT).lock(2).force("age <= 18", never="ill")
    smaller = dln.simplify(editing.circuit)
    assert smaller.edits == editing.circuit.edits
    assert len(smaller.locked) == len(editing.circuit.locked) == 2
    path = tmp_path / "m.py"
    dln.export(smaller, to="python").save(path)
    assert path.exists()
    assert (
        dln.export(smaller, to="c").model_id
        == dln.export(replace(smaller, locked=()), to="c").model_id
    )


# -- records ----------------------------------------------------------------------------------


def test_records_say_who_when_and_why() -> None:
    editing = dln.edit(CIRCUIT, who="A. Weber", when="2024-05-31").drop(2, why="not causal")
    (record,) = editing.records
    assert record.to_dict() == {
        "edit": "drop",
        "rule": 2,
        "text": "city = Bern",
        "who": "A. Weber",
        "when": "2024-05-31",
        "why": "not causal",
    }
    assert str(record) == ("drop: rule 2, text 'city = Bern' (A. Weber, 2024-05-31: not causal)")
    # A record of a file keeps what it says, and takes the rest from here.
    other = dln.edit(CIRCUIT, who="B. Meier", when="2025").apply(EditRecord(record.edit, who="C"))
    assert (other.records[0].who, other.records[0].when) == ("C", "2025")


# -- mistakes ---------------------------------------------------------------------------------

Step = Callable[[Editing], object]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda e: e.drop(9), "there is no rule 9; the numbers of the rules are: 1, 2, 3"),
        (lambda e: e.drop(0), "there is no rule 0"),
        (lambda e: e.drop(1.5), "the rule is a float, expected its number or its text"),
        (lambda e: e.lock(1).drop(1), "rule 1 is locked and cannot be dropped; unlock it first"),
        (lambda e: e.lock(1).change(1, "smoker"), "rule 1 is locked and cannot be changed"),
        (lambda e: e.lock(1).set_votes(1, {"ill": 1}), "rule 1 is locked"),
        (lambda e: e.lock(1).move_cutoff("age", 54, 60), "rule 1 is locked"),
        (lambda e: e.change(1, "smoker or not smoker"), "always holds; use base votes"),
        (lambda e: e.add("age > 3 and age <= 3", {"ill": 1}), "never holds"),
        (lambda e: e.add("never", {"ill": 1}), "never holds"),
        (lambda e: e.add("smoker", {}), "has no votes"),
        (lambda e: e.add("smoker", {"il": 1}), "there is no class 'il'; did you mean 'ill'?"),
        (lambda e: e.add("smoker", {"ill": 1.5}), "expected whole numbers by class"),
        (
            lambda e: e.move_cutoff("age", 50, 60),
            "no rule compares 'age' with 50; its cutoffs are: 54",
        ),
        (lambda e: e.move_cutoff("agee", 54, 60), "did you mean 'age'"),
        (lambda e: e.move_cutoff("city", 54, 60), "holds categories and has no cutoffs"),
        (lambda e: e.move_cutoff("age", "x", 60), "cutoff 'x' of column 'age' is not a number"),
        (lambda e: e.move_cutoff("age", 54, float("nan")), "expected a number, or a date as text"),
        (lambda e: e.move_cutoff("day", "soon", "2024-01-01"), "is not a date such as"),
        (
            lambda e: e.move_cutoff("age", 54, 60, rule=2),
            "no rule compares 'age' with 54; its cutoffs are: none",
        ),
        (lambda e: e.rename_column("age", "city"), "there is a column 'city' already"),
        (lambda e: e.rename_class("ill", "healthy"), "there is a class healthy already"),
        (lambda e: e.force("smoker"), "give the class as never=… or always=…"),
        (lambda e: e.force("smoker", never="il"), "did you mean 'ill'"),
        (lambda e: e.apply(Refit(3)), "a refit needs training rows"),
        (lambda e: dln.edit(3), "edit takes a Circuit, not an int"),
        (lambda e: dln.edit(CIRCUIT, who=3), "who is an int, expected text"),
    ],
)
def test_a_mistake_is_one_line(step: Step, message: str) -> None:
    with pytest.raises(DlnError) as caught:
        step(dln.edit(CIRCUIT))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_typo_in_a_rule_is_marked() -> None:
    with pytest.raises(RuleTextError, match=r"(?s)column 12: .*\n  smoker and agee > 5\n {13}\^$"):
        dln.edit(CIRCUIT).add("smoker and agee > 5", {"ill": 1})


def test_a_rule_that_does_not_exist_names_the_nearest_one() -> None:
    texts = dln.edit(CIRCUIT).draft.circuit._written_rules.texts
    wrong = texts[0] + " and not smoker"
    with pytest.raises(OptionError, match="did you mean rule 1: ") as caught:
        dln.edit(CIRCUIT).drop(wrong)
    assert repr(texts[0]) in str(caught.value)


def test_an_edit_for_another_model_is_refused() -> None:
    (record,) = dln.edit(CIRCUIT).drop(2).records
    other = dln.edit(CIRCUIT).drop(1).circuit
    with pytest.raises(OptionError, match="the edit was made for another model"):
        dln.edit(other).apply(record)
