"""Constraints on the command line: trained with, proven, priced, and refused in one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
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
    lines = ["income,debt,city,granted,limit"]
    for _ in range(200):
        income, debt = rng.integers(1, 100, 2)
        limit = income - debt + rng.normal() * 20
        granted = "yes" if limit > 0 else "no"
        city = rng.choice(["Bern", "Chur"])
        lines.append(f"{income},{debt},{city},{granted},{limit:.1f}")
    path.write_text("\n".join(lines))
    return path


CLASSES = ["-t", "granted", "--ignore", "limit"]
NUMBER = ["-t", "limit", "--ignore", "granted"]
both_kinds = pytest.mark.parametrize("target", [CLASSES, NUMBER], ids=["classes", "number"])


@pytest.fixture
def model(table: Path, run: Run) -> Path:
    path = table.with_name("model.json")
    signs = ["--monotone", "income=+", "--monotone", "no:debt=+"]
    about = ["--interactions", "income,debt", "--unused", "city"]
    if not path.exists():
        assert run("train", table, *CLASSES, *signs, *about, *SMALL, "-o", path)[0] == 0
    return path


@pytest.fixture
def number_model(table: Path, run: Run) -> Path:
    path = table.with_name("number.json")
    signs = ["--monotone", "income=+", "--monotone", "debt=-"]
    about = ["--interactions", "income,debt", "--unused", "city"]
    if not path.exists():
        assert run("train", table, *NUMBER, *signs, *about, *SMALL, "-o", path)[0] == 0
    return path


def test_a_model_states_what_it_was_trained_to_satisfy(run: Run, model: Path) -> None:
    constraints = Circuit.load(model).constraints
    assert constraints is not None
    assert constraints.lines() == [
        "yes never loses as income grows",
        "yes never gains as debt grows",
        "only columns of the same group occur together in a rule: income, debt",
        "no rule reads city",
    ]
    assert f"Satisfied by every rule: {'; '.join(constraints.lines())}." in run("rules", model)[1]


def test_a_model_of_a_number_names_it(run: Run, number_model: Path) -> None:
    claims = [
        "limit never falls as income grows",
        "limit never rises as debt grows",
        "only columns of the same group occur together in a rule: income, debt",
        "no rule reads city",
    ]
    assert f"Satisfied by every rule: {'; '.join(claims)}." in run("rules", number_model)[1]
    status, out, _ = run("prove", number_model, "--constraints")
    assert status == 0
    assert all(f"Proven: {claim} (" in out for claim in claims)
    status, out, _ = run("prove", number_model, "--monotone", "income=-")
    assert status == 1
    assert "Refuted: limit never rises as income grows.\nraising income from " in out


@both_kinds
def test_the_options_of_a_constrained_model_train_it_again(
    run: Run, model: Path, number_model: Path, table: Path, target: list[str]
) -> None:
    model = model if target == CLASSES else number_model
    options = model.with_name("options.toml")
    options.write_text(run("options", model)[1])
    again = model.with_name("again.json")
    assert run("train", table, *target, "--options", options, "-q", "-o", again)[0] == 0
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


@both_kinds
def test_a_certificate_of_the_constraints_is_accepted(
    run: Run, model: Path, number_model: Path, tmp_path: Path, target: list[str]
) -> None:
    model = model if target == CLASSES else number_model
    proof = tmp_path / "proof.json"
    status, _, err = run("prove", model, "--constraints", "--certificate", proof)
    assert status == 0
    assert f"check it: python check_certificate.py {model} {proof}" in err
    checker = Path(__file__).parents[2] / "check_certificate.py"
    done = subprocess.run([sys.executable, checker, model, proof], capture_output=True, text=True)
    assert done.returncode == 0, done
    assert 'no rule reads any of ["city"]' in done.stdout
    proof.unlink()
    assert run("prove", model, "--unused", "income", "--certificate", proof)[0] == 1
    assert not proof.exists()


@both_kinds
def test_the_price_is_the_score_without_constraints(
    run: Run, table: Path, tmp_path: Path, target: list[str]
) -> None:
    output = tmp_path / "m.json"
    given = ["train", table, *target, "--max-columns-per-rule", "1", *SMALL, "-o", output]
    unit = " points" if target == CLASSES else ""
    shown = run(*given, "--price")[1]
    assert re.search(
        rf"\nWithout the constraints: .*\(the constraints (cost|gain) [0-9.]+{unit}\)\n", shown
    )
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
        (["--unused", "citty"], "there is no column 'citty'; did you mean 'city'"),
        (["--interactions", "income,dept"], "there is no column 'dept'; did you mean 'debt'"),
        (["--monotone", "income=+", "--monotone", "income=-"], "both directions of 'income'"),
        (["--monotone", "city=+"], "'city', which has categories and so no order"),
        (
            ["--interactions", "income"],
            "--interactions has ['income'], expected at least 2",
        ),
        (["--forbidden-pair", "income,debt,city"], "expected two columns"),
        (["--unused", "income,debt,city"], "--unused names every column"),
        (
            ["--unused", "income", "--monotone", "income=+"],
            "is in --monotone and in --unused",
        ),
        (
            ["--unused", "city", "--forbidden-pair", "city,debt"],
            "'city' is in --forbidden-pair and in --unused; leave it out of one of them",
        ),
        (
            ["--interactions", "income,debt", "--forbidden-pair", "debt,income"],
            "'income' and 'debt' are in a group of --interactions and in --forbidden-pair",
        ),
        (["--max-columns-per-rule", "0"], "--max-columns-per-rule is 0, expected an integer"),
        (["--price"], "--price compares with and without constraints, but there are none"),
        (["--price", "--unused", "city", "--test", "0"], "--test 0 keeps none"),
    ],
)
@both_kinds
def test_what_cannot_be_satisfied_is_refused_before_training(
    run: Run, options: list[str], message: str, table: Path, tmp_path: Path, target: list[str]
) -> None:
    output = tmp_path / "m.json"
    status, _, err = run("train", table, *target, *options, "-q", "-o", output)
    assert status == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert not output.exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (CLASSES, "--monotone: there is no class 'maybe'; the classes are: no, yes"),
        (NUMBER, "--monotone is 'maybe:income=+', but a number is predicted; leave out the class"),
    ],
)
def test_an_unknown_class_is_refused(
    run: Run, table: Path, tmp_path: Path, target: list[str], message: str
) -> None:
    output = tmp_path / "m.json"
    given = ["--monotone", "maybe:income=+", "-q", "-o", output]
    status, _, err = run("train", table, *target, *given)
    assert (status, err) == (2, f"dln: {message}\n")


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


def test_a_search_satisfies_the_constraints(run: Run, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    output, options = tmp_path / "m.json", tmp_path / "o.toml"
    options.write_text("layers = [6]\nepochs = 3\nn_networks = 1\n")
    given = ["--trials", "1", "--options", options, "--monotone", "income=+", "--quiet"]
    assert run("search", table, *CLASSES, *given, "-o", output)[0] == 0
    constraints = Circuit.load(output).constraints
    assert constraints is not None
    assert constraints.lines() == ["yes never loses as income grows"]
