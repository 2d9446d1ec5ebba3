"""Commands with a target of numbers: from a table to predictions, reasons and proofs."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dln
from dln._util.option import options_of
from dln.cli.models import name_option
from dln.cli.train import train
from dln.estimators.parameters import NumberParameters
from tests.conftest import Run

FAST = ("--effort", "quick", "--epochs", "3", "--networks", "1")


def houses(n_rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rooms, age = rng.integers(1, 8, n_rows), rng.integers(0, 90, n_rows)
    town = rng.choice(["north", "south"], n_rows)
    price = 50 + 20 * rooms - 0.3 * age + 15 * (town == "south") + rng.normal(0, 2, n_rows)
    return pd.DataFrame({"rooms": rooms, "age": age, "town": town, "price": price.round(1)})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "houses.csv"
    houses().to_csv(path, index=False)
    return path


@pytest.fixture
def model(run: Run, table: Path) -> Path:
    path = table.parent / "price.json"
    status, _, _ = run("train", table, "-t", "price", "-o", path, "--max-rules", "6", "--quiet")
    assert status == 0
    return path


def test_a_target_of_many_numbers_is_predicted_as_a_number(run: Run, table: Path) -> None:
    status, output, messages = run("train", table, "-t", "price", "-o", "price.json", *FAST)
    assert status == 0
    assert "so a number is predicted. To predict classes, add --task classes." in messages
    assert "target 'price': numbers from" in messages
    assert "R² on 50 test rows: 0.9" in output
    circuit = dln.Circuit.load("price.json")
    assert circuit.task == "number"
    assert circuit.number_readout.name == "price"
    document = json.loads(
        run("train", table, "-t", "price", "-o", "b.json", *FAST, "--json", "--quiet")[1]
    )
    assert document["task"] == "number"
    assert document["test"]["rows"] == 50
    assert dln.Circuit.load("b.json") == circuit


def test_the_task_can_be_stated(run: Run, table: Path) -> None:
    status, _, messages = run(
        "train", table, "-t", "rooms", "-o", "rooms.json", *FAST, "--task", "number"
    )
    assert status == 0
    assert "add --task classes" not in messages
    assert dln.Circuit.load("rooms.json").task == "number"
    status, _, _ = run("train", table, "-t", "rooms", "-o", "rooms.json", *FAST)
    assert dln.Circuit.load("rooms.json").task == "classes"


def test_rows_of_the_training_are_recognised(run: Run, table: Path, model: Path) -> None:
    shuffled = table.parent / "shuffled.csv"
    houses().sample(frac=1.0, random_state=1).to_csv(shuffled, index=False)
    found = [json.loads(run("evaluate", model, path, "--json")[1]) for path in (table, shuffled)]
    assert [document["rows"] for document in found] == [50, 50]
    assert found[0]["r2"]["value"] == pytest.approx(found[1]["r2"]["value"])
    assert found[0]["r2"]["value"] > 0.8
    text = run("evaluate", model, table)[1]
    assert text.startswith("R² on 50 rows: 0.")
    assert "Mean absolute error" in text
    assert sum(group["n_rows"] for group in found[0]["by_prediction"]) == 50


def test_predictions_and_points_are_written(run: Run, table: Path, model: Path) -> None:
    assert run("predict", model, table, "-o", "p.csv", "--votes", "--quiet")[0] == 0
    written = pd.read_csv("p.csv")
    circuit = dln.Circuit.load(model)
    assert written["prediction"].tolist() == circuit.predict(houses()).tolist()
    assert written["points"].tolist() == circuit.votes(houses())[:, 0].tolist()
    status, _, messages = run("predict", model, table, "--proba")
    assert status != 0
    assert "--proba is for classes, but the model predicts a number" in messages


def test_one_row_is_explained(run: Run, table: Path, model: Path) -> None:
    output = run("explain", model, table, "--row", "3")[1]
    assert output.startswith("price: ")
    prediction = dln.Circuit.load(model).predict(houses()[2:3])[0]
    limit = prediction + 10
    document = json.loads(
        run("explain", model, table, "--row", "3", "--at-least", limit, "--changes", 1, "--json")[1]
    )
    assert document["reason"]
    assert document["options"]["options"]


def test_rules_diagrams_costs_and_smaller_models(run: Run, table: Path, model: Path) -> None:
    assert "price" in run("rules", model)[1]
    assert run("rules", model, "--data", table, "--format", "json")[0] == 0
    assert "total" in run("cost", model)[1]
    assert run("simplify", model, "-o", "small.json")[0] == 0
    status, output, _ = run("verify", model, "small.json")
    assert (status, output.startswith("equal on every possible row")) == (0, True)
    assert "rooms" in run("trends", model)[1]


def test_claims_about_a_number(run: Run, table: Path, model: Path) -> None:
    circuit = dln.Circuit.load(model)
    low, high = circuit.predict(houses()).min(), circuit.predict(houses()).max()
    assert run("prove", model, "--at-least", low - 500, "--at-most", high + 500)[0] == 0
    status, output, _ = run("prove", model, "--at-most", low)
    assert (status, output.startswith("Refuted: price is at most")) == (1, True)
    assert run("prove", model, "--independent", "rooms", "--within", 1000)[0] == 0
    assert run("prove", model, "--independent", "rooms")[0] == 1
    for options, message in (
        (("--lead", "dear", "--at-least", 3), "--lead is for classes"),
        (("--always", "dear"), "predicts a number"),
        (("--within", 3, "--at-least", 3), "--within is only used with --independent"),
    ):
        status, _, messages = run("prove", model, *options)
        assert status == 2
        assert message in messages


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--task", "number", "--tau", "3"), "--tau is for classes, but a number is predicted"),
        (("--task", "classes", "--loss", "absolute"), "--loss is for a number, but classes are"),
        (("--task", "number", "-t", "town"), "the target 'town' holds 'south' (row 1), expected"),
        (("--task", "classes"), "too many for classes; for numbers, add --task number"),
        (("--loss", "quantile", "--quantile", "2"), "quantile is 2"),
    ],
)
def test_a_wrong_option_is_one_line(
    run: Run, table: Path, options: tuple[str, ...], message: str
) -> None:
    target = () if "-t" in options else ("-t", "price")
    status, _, messages = run("train", table, *target, "-o", "m.json", *options)
    assert status == 2
    assert message in messages.splitlines()[-1]
    assert not Path("m.json").exists()


def test_missing_and_infinite_targets(run: Run, tmp_path: Path) -> None:
    frame = houses(60)
    frame["price"] = frame["price"].astype(object)
    frame.loc[3, "price"] = "NA"
    frame.to_csv("some.csv", index=False)
    messages = run("train", "some.csv", "-t", "price", "-o", "m.json", *FAST)[2]
    assert "has no value in 1 of 60 rows, which is left out" in messages
    frame.loc[4, "price"] = "inf"
    frame.to_csv("some.csv", index=False)
    status, _, messages = run("train", "some.csv", "-t", "price", "-o", "m.json", *FAST)
    assert status == 2
    assert "the target 'price' is infinite in row 5; expected finite numbers" in messages


def test_messages_name_options_that_exist() -> None:
    options = {f"--{name.replace('_', '-')}" for name in signature(train).parameters}
    for_one_task = set(dln.DLNClassifier().get_params()) ^ set(options_of(NumberParameters))
    for name in for_one_task | {"loss", "quantile"}:
        said = name_option(name)
        assert (said in options) == said.startswith("--"), said


# -- given rules ------------------------------------------------------------------------------


def test_training_keeps_rules_and_refits_an_edited_model(run: Run, table: Path) -> None:
    rules = table.parent / "rules.txt"
    rules.write_text("price is 0 plus what the rules add.\n  +12.25  rooms > 4 and town = south\n")
    options = ("-t", "price", "--max-rules", "4", "-q")
    status, out, err = run("train", table, *options, "--rules", rules, "-o", "1.json")
    assert status == 0, err
    assert "+12.25  rooms > 4 and town = south" in out
    first = dln.Circuit.load("1.json")
    assert len(first.locked) == 1
    # The settings in the file train the same model again.
    Path("o.toml").write_text(run("options", "1.json")[1])
    assert run("train", table, "-t", "price", "--options", "o.toml", "-q", "-o", "2.json")[0] == 0
    assert dln.Circuit.load("2.json") == first
    # A model is refitted around its locked rules, with its edits and demands.
    demand = ("--at-most", "200: age > 20", "--rename-target", "cost", "--who", "A")
    assert run("edit", "1.json", *demand, "-o", "edited.json")[0] == 0
    status, _, err = run("train", table, *options, "--rules", "edited.json", "-o", "3.json")
    assert status == 0, err
    refitted = dln.Circuit.load("3.json")
    assert [record.edit.action for record in refitted.edits][-1] == "refit"
    assert "+12.25  rooms > 4 and town = south" in str(refitted)
    assert refitted.number_readout.name == "cost"
    assert run("edit", "3.json", "--add", "+900: age > 20")[0] == 2  # breaks the demand


def test_training_starts_from_soft_rules(run: Run, table: Path) -> None:
    Path("soft.txt").write_text("  +15  town = south\n")
    options = ("-t", "price", "--max-rules", "3", "--soft-rules", "soft.txt", "-q")
    assert run("train", table, *options, "-o", "soft.json")[0] == 0
    circuit = dln.Circuit.load("soft.json")
    assert circuit.locked == ()
    assert "town = south" in str(circuit)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  +1  room > 3", "line 1, column 7: there is no column 'room'; did you mean 'rooms'?"),
        ("cheap:\n  +1  rooms > 3", "the rules vote for a class; expected rules of a number"),
        ("  +1  rooms > 3\n  +1  age > 4", "--max-rules is 1, but the given rules need 2"),
        ("  +1  always", '--rules has the rule "always"'),
        ("  +1  rooms <= 3", "--rules breaks a constraint"),
    ],
)
def test_rules_that_training_cannot_keep_write_nothing(
    run: Run, table: Path, text: str, message: str
) -> None:
    Path("rules.txt").write_text(text)
    options = ("-t", "price", "--max-rules", "1", "--monotone", "rooms=+", "--rules", "rules.txt")
    status, _, err = run("train", table, *options, "-q", "-o", "new.json")
    assert status == 2
    assert message in err
    assert not Path("new.json").exists()


def test_rules_for_the_other_task_name_the_option(run: Run, table: Path, model: Path) -> None:
    assert run("edit", model, "--lock", "1", "-o", "locked.json")[0] == 0
    options = ("-t", "town", "--rules", "locked.json", "-q", "-o", "new.json")
    status, _, err = run("train", table, *options)
    assert status == 2
    assert "the rows have classes; give rules of classes, or set --task number" in err
