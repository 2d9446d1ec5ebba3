"""Constraints on the command line: trained with, proven, priced, and refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dln import Circuit
from tests.conftest import Run

SMALL = ["--layers", "8,6", "--networks", "1", "--epochs", "10", "--quiet"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("constraints") / "credit.csv"
    lines = ["income,debt,city,granted"]
    for _ in range(200):
        income, debt = rng.integers(1, 100, 2)
        granted = "yes" if income - debt + rng.normal() * 20 > 0 else "no"
        lines.append(f"{income},{debt},{rng.choice(['Bern', 'Chur'])},{granted}")
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def model(table: Path, run: Run) -> Path:
    path = table.with_name("model.json")
    signs = ["--monotone", "income=+", "--monotone", "no:debt=+"]
    about = ["--interactions", "income,debt", "--unused", "city"]
    if not path.exists():
        assert run("train", table, "-t", "granted", *signs, *about, *SMALL, "-o", path)[0] == 0
    return path


def test_a_model_states_what_it_was_trained_to_keep(run: Run, model: Path) -> None:
    constraints = Circuit.load(model).constraints
    assert constraints is not None
    assert constraints.lines() == [
        "yes never loses as income grows",
        "yes never gains as debt grows",
        "only columns of the same group occur together in a rule: income, debt",
        "no rule reads city",
    ]
    assert f"Satisfied by every rule: {'; '.join(constraints.lines())}." in run("rules", model)[1]


def test_the_options_of_a_constrained_model_train_it_again(
    run: Run, model: Path, table: Path
) -> None:
    options = model.with_name("options.toml")
    options.write_text(run("options", model)[1])
    again = model.with_name("again.json")
    assert run("train", table, "-t", "granted", "--options", options, "-q", "-o", again)[0] == 0
    assert Circuit.load(again) == Circuit.load(model)
    assert Circuit.load(again).constraints == Circuit.load(model).constraints


def test_constraints_are_proven(run: Run, model: Path) -> None:
    shown = run("prove", model, "--constraints")[1]
    assert shown.count("Proven: ") == 4
    document = json.loads(run("prove", model, "--constraints", "--json")[1])
    assert document["proven"] is True
    assert [part["proven"] for part in document["constraints"]] == [True] * 4


def test_others_are_refuted(run: Run, model: Path) -> None:
    status, out, _ = run("prove", model, "--monotone", "income=-", "--unused", "debt")
    assert status == 1
    assert "Refuted: yes never gains as income grows.\nraising income from " in out
    assert "Refuted: no rule reads debt.\na rule " in out
    status, out, _ = run("prove", model, "--unused", "income", "--json")
    assert status == 1
    assert json.loads(out)["constraints"][0]["proven"] is False


def test_the_price_is_the_accuracy_without_constraints(
    run: Run, table: Path, tmp_path: Path
) -> None:
    output = tmp_path / "m.json"
    given = ["train", table, "-t", "granted", "--max-columns-per-rule", "1", *SMALL, "-o", output]
    assert "\nWithout the constraints: " in run(*given, "--price")[1]
    document = json.loads(run(*given, "--price", "--json")[1])
    assert 0.5 < document["without_constraints"] <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--monotone", "income"], "--monotone is 'income', expected COLUMN=+ or COLUMN=-"),
        (
            ["--monotone", "incme=+"],
            "--monotone: there is no column 'incme'; did you mean 'income'",
        ),
        (["--monotone", "maybe:income=+"], "there is no class 'maybe'; the classes are: no, yes"),
        (["--monotone", "income=+", "--monotone", "income=-"], "both directions of 'income'"),
        (["--monotone", "city=+"], "'city', which has categories and so no order"),
        (["--interactions", "income"], "interactions has ['income'], expected at least 2 columns"),
        (["--forbidden-pair", "income,debt,city"], "expected two columns"),
        (["--unused", "income,debt,city"], "unused_columns names every column"),
        (["--unused", "income", "--monotone", "income=+"], "'income' is in monotone and in unused"),
        (["--price"], "--price compares with and without constraints, but there are none"),
        (["--price", "--unused", "city", "--test", "0"], "--test 0 keeps none"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_training(
    run: Run, options: list[str], message: str, table: Path, tmp_path: Path
) -> None:
    output = tmp_path / "m.json"
    status, _, err = run("train", table, "-t", "granted", *options, "-q", "-o", output)
    assert status == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--constraints", "--never", "yes"], "give one of --always"),
        (["--constraints", "--monotone", "income=+"], "--constraints proves those of the model"),
        (["--monotone", "income=+", "--where", "income=3"], "cannot be used with constraints"),
    ],
)
def test_one_question_at_a_time(run: Run, options: list[str], message: str, model: Path) -> None:
    status, _, err = run("prove", model, *options)
    assert status == 2
    assert message in err


def test_a_search_keeps_the_constraints(run: Run, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    output, options = tmp_path / "m.json", tmp_path / "o.toml"
    options.write_text("layers = [6]\nepochs = 3\nn_networks = 1\n")
    given = ["--trials", "1", "--options", options, "--monotone", "income=+", "--quiet"]
    assert run("search", table, "-t", "granted", *given, "-o", output)[0] == 0
    constraints = Circuit.load(output).constraints
    assert constraints is not None
    assert constraints.lines() == ["yes never loses as income grows"]
