"""`dln edit`: every option makes its edit, the effect is printed, mistakes write nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dln
from dln.core.calibration import Calibration
from dln.core.circuit import Circuit
from dln.core.model_file import circuit_to_json
from tests.conftest import Run
from tests.support.commands import training_table

COLUMNS = (
    dln.Column("age", "integer"),
    dln.Column("smoker", "boolean"),
    dln.Column("day", "date"),
)
TEXT = """
healthy:
  +1  always
ill:
  +3  age > 54 and smoker
  +2  age > 70
  +1  day > 2024-05-31
"""
EDITS: list[tuple[list[str], str]] = [
    (["--drop", "2"], "drop: rule 2, text 'age > 70'"),
    (["--drop", "age > 70"], "drop: rule 2, text 'age > 70'"),
    (["--change", "2: age > 71 or smoker"], "change: rule 2"),
    (["--add", "ill +2, healthy -1: smoker"], "add: text 'smoker', votes ill +2 healthy -1"),
    (["--votes", "1: ill +1"], "votes: rule 1"),
    (["--base", "ill +2"], "base: votes ill +2"),
    (["--move", "age 54 to 60"], "cutoff: column 'age', from 54.0, to 60.0"),
    (["--move", "2: age 70 to 60.5"], "cutoff: column 'age', from 70.0, to 60.5, rule 2"),
    (["--move", "day 2024-05-31 to 2024-12-31"], "cutoff: column 'day'"),
    (["--lock", "1"], "lock: rule 1"),
    (["--lock", "1", "--unlock", "1"], "unlock: rule 1"),
    (["--never", "ill: age <= 18"], "force: where 'age <= 18', class 'ill'"),
    (["--always", "ill: age > 99"], "force: where 'age > 99', class 'ill', never False"),
    (["--rename-column", "age=years"], "rename column: column 'age', to 'years'"),
    (["--rename-class", "ill=sick"], "rename class: class 'ill', to 'sick'"),
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.json"
    Circuit.from_rules(TEXT, columns=COLUMNS).save(path)
    return path


@pytest.mark.parametrize(("options", "said"), EDITS, ids=lambda value: str(value)[:30])
def test_an_edit_is_made_recorded_and_printed(
    options: list[str], said: str, model: Path, run: Run
) -> None:
    new = model.with_name("new.json")
    status, out, err = run("edit", model, *options, "--who", "A", "--why", "b", "-o", new)
    assert status == 0, err
    assert said in out
    edited = Circuit.load(new)
    assert len(edited.edits) == len(options) // 2
    assert {(record.who, record.why) for record in edited.edits} == {("A", "b")}
    assert all(record.when.startswith("20") for record in edited.edits)
    # The file of edits gives the same model.
    edits, again = model.with_name("edits.json"), model.with_name("again.json")
    assert run("edit", model, *options, "--save-edits", edits)[0] == 0
    assert run("edit", model, "--apply", edits, "-o", again)[0] == 0
    assert Circuit.load(again) == edited


NUMBER = """
risk is 1.5 plus what the rules add.
  +2  age > 54
  +0.5  smoker
"""
NUMBER_EDITS: list[tuple[list[str], str]] = [
    (["--drop", "2"], "drop: rule 2, text 'smoker'"),
    (["--add", "+2.5: age > 70"], "add: text 'age > 70', adds 2.5"),
    (["--votes", "1: -0.25"], "votes: rule 1, text 'age > 54', adds -0.25"),
    (["--base", "2"], "base: adds 2.0"),
    (["--move", "age 54 to 60"], "cutoff: column 'age'"),
    (["--lock", "1"], "lock: rule 1"),
    (["--at-least", "3: smoker"], "at least 3 where smoker (proven by"),
    (["--at-most", "1: not smoker"], "at most 1 where not smoker (proven by"),
    (["--rename-target", "hazard"], "rename target: to 'hazard'"),
]


@pytest.fixture
def number_model(tmp_path: Path) -> Path:
    path = tmp_path / "n.json"
    Circuit.from_rules(NUMBER, columns=COLUMNS).save(path)
    return path


@pytest.mark.parametrize(("options", "said"), NUMBER_EDITS, ids=lambda value: str(value)[:30])
def test_an_edit_of_a_number_is_made_recorded_and_printed(
    options: list[str], said: str, number_model: Path, run: Run
) -> None:
    test_an_edit_is_made_recorded_and_printed(options, said, number_model, run)


def test_the_rules_rows_and_demands_of_a_number(number_model: Path, run: Run) -> None:
    assert run("edit", number_model)[1].splitlines() == [
        "   -  +1.5  always",
        "   1  +2  age > 54",
        "   2  +0.5  smoker",
    ]
    listed = json.loads(run("edit", number_model, "--json")[1])
    assert listed["rules"][1] == {"rule": 2, "text": "smoker", "adds": "0.5", "locked": False}
    table = number_model.with_name("t.csv")
    table.write_text("age,smoker,day,risk\n60,True,,4\n80,False,,3\n20,False,,1.5\n")
    options = ["--drop", "2", "--data", table, "--target", "risk"]
    _status, out, _err = run("edit", number_model, *options)
    assert "1 of 3 rows changed their prediction (33.3 %)." in out
    assert "Change of these rows: -0.5 to -0.5, mean -0.5." in out
    assert "R²: 0.9211 before, 0.8421 after." in out
    assert "the first is higher: smoker (33.3 %)" in out
    one, two = number_model.with_name("1.json"), number_model.with_name("2.json")
    assert run("edit", number_model, "--at-least", "3: smoker", "-o", one)[0] == 0
    status, _, err = run("edit", one, "--add", "-1: smoker", "-o", two)
    assert status == 2
    assert 'the demand "at least 3 where smoker" would be broken' in err
    assert not two.exists()
    assert run("edit", one, "--release", "at least 3: smoker", "-o", two)[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--add", "ill +2: smoker"], "has the amount 'ill +2', expected a number"),
        (["--add", "smoker"], "expected an amount, a colon and a condition"),
        (["--votes", "1: much"], "has the amount 'much'"),
        (["--never", "ill: smoker"], "use --at-least or --at-most"),
        (["--at-least", "smoker"], "expected a number, a colon and a condition"),
        (["--release", "never ill: smoker"], "expected a demand: 'at least 3: age <= 18'"),
        (["--release", "at most 3: smoker"], "there is no demand"),
        (["--rename-class", "a=b"], "has no classes"),
    ],
)
def test_a_mistake_in_an_edit_of_a_number_is_one_line(
    options: list[str], message: str, number_model: Path, run: Run
) -> None:
    new = number_model.with_name("new.json")
    status, _, err = run("edit", number_model, *options, "-o", new)
    assert status == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not new.exists()


def test_without_edits_the_rules_are_listed(model: Path, run: Run) -> None:
    _status, out, _err = run("edit", model)
    assert out.splitlines()[:2] == [
        "   -  healthy +1  always",
        "   1  ill +3  age > 54 and smoker",
    ]
    listed = json.loads(run("edit", model, "--json")[1])
    assert listed["rules"][1] == {"rule": 2, "text": "age > 70", "votes": [0, 2], "locked": False}


def test_rules_are_printed_with_their_numbers(model: Path, number_model: Path, run: Run) -> None:
    for path in (model, number_model):
        status, out, _err = run("rules", path, "--numbers")
        assert status == 0
        assert out == run("edit", path)[1]
        assert [line.split()[0] for line in out.splitlines()[:3]] == ["-", "1", "2"]
    for options in (["--card"], ["--format", "json"], ["--data", "t.csv"]):
        status, _out, err = run("rules", model, "--numbers", *options)
        assert status == 2
        assert "--numbers prints a list; leave out --card, --data and --format" in err


def test_demands_can_be_released(model: Path, run: Run) -> None:
    one, two = model.with_name("1.json"), model.with_name("2.json")
    status, out, err = run("edit", model, "--never", "ill: age <= 18", "-o", one)
    assert "never ill where age <= 18 (proven by" in out
    status, _, err = run("edit", one, "--add", "ill +9: age <= 5", "-o", two)
    assert status == 2
    assert 'the demand "never ill where age <= 18" would be broken' in err
    assert not two.exists()
    assert run("edit", one, "--release", "never ill: age <= 18", "-o", two)[0] == 0


def test_rows_and_accuracy_are_counted(model: Path, run: Run) -> None:
    table = model.with_name("t.csv")
    table.write_text("age,smoker,day,state\n60,True,,ill\n80,False,,ill\n20,False,,healthy\n")
    options = ["--drop", "2", "--data", table, "--target", "state"]
    _status, out, _err = run("edit", model, *options)
    assert "1 of 3 rows changed their class (33.3 %)." in out
    assert "Accuracy: 100.0 % before, 66.7 % after." in out
    assert "exactly where" in out
    found = json.loads(run("edit", model, *options, "--json")[1])
    assert (found["n_changed"], found["differences"]["complete"]) == (1, True)
    assert found["edits"][0]["edit"] == "drop"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drop", "9"], "there is no rule 9; the numbers of the rules are: 1, 2, 3"),
        (["--add", "ill +2: agee > 3"], "column 1: there is no column 'agee'; did you mean 'age'?"),
        (["--add", "ill +2: smoker and"], "column 11: expected a column or a condition"),
        (["--add", "smoker"], "expected votes, a colon and a condition"),
        (["--add", "ill two: smoker"], "has the votes 'ill two'"),
        (["--change", "smoker"], "expected the number of a rule and a colon"),
        (["--votes", "1: +2"], "has the votes '+2'"),
        (["--move", "age 54"], "expected a column, its cutoff and the new one"),
        (["--move", "age 50 to 60"], "its cutoffs are: 54, 70"),
        (["--never", "smoker"], "expected 'CLASS: CONDITION'"),
        (["--never", "il: smoker"], "did you mean 'ill'"),
        (["--release", "ill: smoker"], "expected a demand"),
        (["--release", "never ill: smoker"], "there is no demand"),
        (["--rename-column", "age"], "expected two names"),
        (["--apply", "missing.json"], "missing.json"),
        (["--target", "x"], "--target is only used with --data"),
        ([], "there is no edit to save"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    options: list[str], message: str, model: Path, run: Run
) -> None:
    new = model.with_name("new.json")
    status, _out, err = run("edit", model, *options, "-o", new)
    assert status == 2
    assert message in err
    assert_short(err)
    assert not new.exists()


def assert_short(err: str) -> None:
    """A message is one line; a mistake in a text is also shown, with a mark below its place."""
    first, *marked = err.splitlines()
    if marked:
        assert re.match(r"dln: (line \d+, )?column \d+: ", first)
        assert len(marked) == 2
        assert marked[1].strip() == "^"


def test_edits_for_another_model_are_refused(model: Path, run: Run) -> None:
    edits: dict[str, Any] = {"format": "dln-edits", "version": 1, "model": "0", "edits": []}
    path = model.with_name("edits.json")
    path.write_text(json.dumps(edits))
    status, _out, err = run("edit", model, "--apply", path)
    assert status == 2
    assert "the edits are for model '0'" in err


# -- given rules in training ------------------------------------------------------------------


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    return training_table(tmp_path, 200)


def test_training_keeps_rules_of_a_text_file_and_of_a_model(patients: Path, run: Run) -> None:
    rules = patients.with_name("rules.txt")
    rules.write_text("very ill:\n  +2  age > 70 and dose > 0.5\n")
    options = ["--target", "state", "--max-rules", "3"]
    first, second = patients.with_name("1.json"), patients.with_name("2.json")
    status, out, err = run("train", patients, *options, "--rules", rules, "-o", first)
    assert status == 0, err
    assert "+2  age > 70 and dose > 0.5" in out
    assert len(Circuit.load(first).locked) == 1
    # The settings in the file train the same model again.
    toml = patients.with_name("o.toml")
    toml.write_text(run("options", first)[1])
    again = patients.with_name("3.json")
    assert run("train", patients, "-t", "state", "--options", toml, "-o", again)[0] == 0
    assert Circuit.load(again) == Circuit.load(first)
    # A model is refitted around its locked rules, with its edits and demands.
    edited = patients.with_name("edited.json")
    demand = ["--never", "very ill: age <= 20", "--who", "A"]
    assert run("edit", first, *demand, "-o", edited)[0] == 0
    status, _, err = run("train", patients, *options, "--rules", edited, "-o", second)
    assert status == 0, err
    refitted = Circuit.load(second)
    assert [record.edit.action for record in refitted.edits] == ["force", "refit"]
    assert "age > 70 and dose > 0.5" in str(refitted)
    proof = ["prove", second, "--never", "very ill", "--where", "age=..20"]
    assert run(*proof)[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("very il:\n  +1  age > 3", "did you mean 'very ill'"),
        ("very ill:\n  +1  agee > 3", "line 2, column 7: there is no column 'agee'"),
        ("very ill:\n  +1  age > 3\n  +1  age > 4", "--max-rules is 1, but the given rules need 2"),
        ("{}", "not a circuit"),
        (circuit_to_json(Circuit.from_rules(TEXT, columns=COLUMNS)), "no locked rule to keep"),
    ],
)
def test_rules_that_training_cannot_keep_are_one_line(
    text: str, message: str, patients: Path, run: Run
) -> None:
    rules, output = patients.with_name("rules.txt"), patients.with_name("new.json")
    rules.write_text(text)
    options = ["--target", "state", "--max-rules", "1", "--rules", rules, "-o", output, "-q"]
    status, _, err = run("train", patients, *options)
    assert status == 2
    assert message in err
    assert_short(err)
    assert not output.exists()


def test_training_starts_from_soft_rules(patients: Path, run: Run) -> None:
    rules, output = patients.with_name("soft.txt"), patients.with_name("soft.json")
    rules.write_text("very ill:\n  +2  age > 70\n")
    small = ["--layers", "4", "--networks", "1", "--epochs", "3", "--target", "state", "-q"]
    status, _, err = run("train", patients, *small, "--soft-rules", rules, "-o", output)
    assert (status, err) == (0, "")
    assert Circuit.load(output).locked == ()
    rules.write_text("very ill:\n  +2  agee > 70\n")
    output.unlink()
    status, _, err = run("train", patients, *small, "--soft-rules", rules, "-o", output)
    assert status == 2
    said, shown, mark = err.rstrip("\n").split("\n")
    assert "there is no column 'agee'; did you mean 'age'?" in said
    assert shown[mark.index("^") :] == "agee > 70"
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "is_said"),
    [
        (["--drop", "1"], True),
        (["--add", "ill +1: age > 999"], True),  # no class changes, but probabilities may
        (["--lock", "1"], False),
        (["--rename-class", "ill=sick"], False),
    ],
)
def test_edits_that_change_votes_say_that_probabilities_are_old(
    options: list[str], is_said: bool, model: Path, run: Run
) -> None:
    circuit = Circuit.load(model)
    table = Calibration((-1, 1), ((0.2, 0.8),))
    replace(circuit, readout=replace(circuit.class_readout, calibration=table)).save(model)
    status, _, err = run("edit", model, *options)
    assert status == 0
    assert ("Probabilities are those measured before the edits" in err) == is_said
