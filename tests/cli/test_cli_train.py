"""`dln train`: options, messages and the saved model."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import dln
from dln import Circuit
from dln.cli.layout import Layout
from dln.cli.prepare import prepare
from tests.conftest import Run
from tests.support.commands import COMMAND, LONG, training_table

QUICK = ("--layers", "6,4", "--networks", "1", "--epochs", "20", "--tau", "2")


def test_train_tests_and_saves_a_model(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    status, out, err = run("train", data, "--target", "state", "-o", "m.json", *QUICK)
    assert status == 0
    assert out.startswith("Balanced accuracy on 100 test rows: ")
    assert "integer: age\n" in err
    assert "category: city\n" in err
    assert "training on 300 rows, testing on 100" in err
    assert "very ill" in str(Circuit.load(tmp_path / "m.json"))


def test_train_prints_warnings_unless_quiet(run: Run, tmp_path: Path) -> None:
    (tmp_path / "same.csv").write_text("x,class\n" + "1,a\n1,b\n" * 20)
    train = ("train", "same.csv", "-t", "class", "-o", "m.json", *QUICK)
    assert (
        run(*train)[2].count("The model has no rules, so it predicts the same class for every row.")
        == 1
    )
    # In a separate process: under pytest, uncaught warnings are errors.
    quiet = subprocess.run(
        [*COMMAND, *train, "-q"], capture_output=True, text=True, timeout=LONG, check=True
    )
    assert quiet.stderr == ""


def test_train_gives_the_same_model_for_the_same_seed(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    for name in ("a.json", "b.json"):
        assert run("train", data, "-t", "state", "-o", name, "--seed", 3, *QUICK)[0] == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_train_takes_a_preset(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    quick = ("--epochs", "20", "--tau", "2", "-q")
    for name, preset in (("a.json", ()), ("b.json", ("--preset", "program"))):
        assert run("train", data, "-t", "state", "-o", name, *quick, *preset)[0] == 0
    a, b = (Circuit.load(tmp_path / name) for name in ("a.json", "b.json"))
    assert a.rules != b.rules
    status, _, err = run("train", data, "-t", "state", "-o", "c.json", "--preset", "papers")
    assert status == 2
    assert "'papers' is not one of 'paper', 'program'" in err


def test_train_prints_json(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    longer = (*QUICK, "--epochs", "100")
    status, out, err = run("train", data, "-t", "state", "-o", "m.json", "--json", "-q", *longer)
    report = json.loads(out)
    assert (status, err) == (0, "")
    assert report["columns"] == {"age": "integer", "city": "category", "dose": "number"}
    assert report["test"]["balanced_accuracy"] > 0.8
    assert report["training_rows"] == 300


def test_train_without_a_test_uses_all_rows(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    status, out, err = run("train", data, "-t", "state", "-o", "-", "--test", 0, *QUICK)
    assert status == 0
    assert "training on 400 rows, testing on none" in err
    assert json.loads(out)["format"] == "dln-circuit"  # the result went to standard error


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ignore": ["age,dose"]}, ["city", "a,b"]),
        ({"ignore": ["age", "dose, city"]}, ["a,b"]),
        ({"ignore": ["a,b"]}, ["age", "city", "dose"]),
        ({"only": ["dose, age"]}, ["age", "dose"]),
        ({"only": ["dose", "a,b", "state"]}, ["dose", "a,b"]),
        ({}, ["age", "city", "dose", "a,b"]),
    ],
)
def test_columns_are_chosen_by_name(
    options: dict[str, list[str]], expected: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text('age,city,dose,"a,b",state\n' + "1,x,3,4,yes\n2,y,4,5,no\n" * 3)
    given = {"ignore": [], "only": []} | options
    assert list(prepare(str(path), Layout(), "state", kinds=[], **given).kinds) == expected


def test_train_uses_the_kind_that_the_user_gives(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    options = ("--kind", "age=category", "--ignore", "dose", "--json")
    _, out, _ = run("train", data, "-t", "state", "-o", "m.json", *options, *QUICK)
    assert json.loads(out)["columns"] == {"age": "category", "city": "category"}


@pytest.mark.parametrize(
    "options",
    [
        ("--simplify", "none"),
        ("--simplify", "normal"),
        ("--class-weight", "none"),
        ("--cutoffs", "2"),
        ("--jobs", "1"),
    ],
)
def test_train_passes_its_options_to_the_estimator(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    data = training_table(tmp_path)
    assert run("train", data, "-t", "state", "-o", "m.json", *QUICK, *options)[0] == 0
    names = {"class-weight": "class_weight", "cutoffs": "n_cutoffs", "jobs": "n_jobs"}
    chosen = {
        names.get(option.removeprefix("--"), option.removeprefix("--")): {"none": None}.get(
            value, int(value) if value.isdigit() else value
        )
        for option, value in zip(options[::2], options[1::2], strict=True)
    }
    prepared = prepare(str(data), Layout(), "state", kinds=[], ignore=[])
    rows = prepared.split(0.25, seed=0)[0]
    settings = {"layers": (6, 4), "n_networks": 1, "epochs": 20, "tau": 2.0, "random_state": 0}
    expected = dln.DLNClassifier(**settings, **chosen).fit(prepared.X.take(rows), prepared.y[rows])
    assert Circuit.load(tmp_path / "m.json") == expected.circuit_


def test_train_passes_engine_and_device_to_the_estimator(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}

    def record(**options: object) -> None:
        seen.update(options)
        raise dln.OptionError("seen")

    monkeypatch.setattr("dln.DLNClassifier", record)
    options = ("--engine", "torch", "--device", "cuda:1")
    status, _, err = run("train", "t.csv", "-t", "y", "-o", "m.json", *options)
    assert (status, err) == (2, "dln: seen\n")
    assert (seen["engine"], seen["device"]) == ("torch", "cuda:1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "stat"), "no column 'stat'; did you mean 'state'? The columns are: age,"),
        (("--target", "state", "--layers", "8,x"), "--layers is '8,x', expected numbers of gates"),
        (("--target", "state", "--layers", "8,0"), "layers holds a size that is 0"),
        (("--target", "state", "--networks", "few"), "--networks is 'few', expected a number"),
        (("--target", "state", "--kind", "age=real"), "expected COLUMN=KIND"),
        (("--target", "state", "--ignore", "Age"), "did you mean 'age'?"),
        (("--target", "state", "--ignore", "age,cty"), "did you mean 'city'?"),
        (("--target", "state", "--ignore", "age", "--only", "dose"), "cannot be combined"),
        (("--target", "state", "--kind", "state=date"), "--kind names 'state', which is not"),
        (("--target", "state", "--test", "2"), "'--test'"),
        (("--target", "state", "--engine", "gpu"), "'--engine'"),
        (
            ("--target", "dose", "--task", "classes"),
            "the target 'dose' has 400 different values in 400 rows, too many for classes",
        ),
        ((), "Missing option '--target'"),
    ],
)
def test_an_invalid_option_of_train_gives_one_line(
    run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    status, out, err = run("train", training_table(tmp_path), "-o", "m.json", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert err.splitlines()[-1].startswith("dln: ")
    assert not (tmp_path / "m.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a terminal and SIGINT")
def test_ctrl_c_shows_progress_and_keeps_the_model(tmp_path: Path) -> None:
    import pty

    data = training_table(tmp_path)
    options = ("--layers", "6,4", "--networks", "1", "--tau", "2", "--epochs", "10000000")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "train", str(data), "-t", "state", "-o", str(tmp_path / "m.json"), *options],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    try:
        os.close(theirs)
        err = b""
        while b"epoch " not in err:  # raises an error if the child ends before
            err += os.read(ours, 1 << 16)
        child.send_signal(signal.SIGINT)
        while b"saved" not in err:
            err += os.read(ours, 1 << 16)
        out, _ = child.communicate(timeout=LONG)
    finally:
        child.kill()
        os.close(ours)
    assert child.returncode == 0
    assert b"The model keeps what it had learned so far." in err
    assert "Balanced accuracy on 100 test rows" in out
    assert Circuit.load(tmp_path / "m.json").classes == ("very ill", "well")


def test_a_model_of_many_rules_comes_with_advice_on_fewer(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    advice = "For rules that fit on a page, add --max-rules 10."
    train = ("train", data, "-t", "state", "-o", "m.json", "--epochs", "5")
    _, _, messages = run(*train)
    assert f"has {len(Circuit.load('m.json').rules)} rules. {advice}\n" in messages
    _, _, messages = run(*train, "--layers", "64,32", "--networks", "3")
    assert len(Circuit.load("m.json").rules) > 20
    assert advice not in messages


def test_immutable_columns_are_saved(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{age},{age % 7},{'ill' if age > 40 else 'well'}" for age in range(20, 60)]
    table.write_text("\n".join(["age,dose,class", *rows]) + "\n", "utf-8")
    options = ("--target", "class", "--layers", "4", "--epochs", "5", "--networks", "1")
    model = tmp_path / "m.json"
    status, _, err = run("train", table, *options, "--immutable", "age,sex", "-o", model)
    assert status == 2
    assert "there is no column 'sex'" in err
    assert run("train", table, *options, "--immutable", "age", "-q", "-o", model)[0] == 0
    assert [c.name for c in dln.Circuit.load(model).columns if c.immutable] == ["age"]


def test_train_learns_on_from_an_earlier_model(run: Run, tmp_path: Path) -> None:
    table = Path(training_table(tmp_path))
    head, *lines = table.read_text().splitlines()
    (tmp_path / "old.csv").write_text("\n".join([head, *lines[:200], ""]))
    (tmp_path / "new.csv").write_text("\n".join([head, *lines[200:], ""]))
    assert run("train", "old.csv", "-t", "state", "-o", "old.json", *QUICK)[0] == 0
    train = ("train", "new.csv", "-t", "state", "--init", "old.json", "-o", "new.json")
    status, out, _ = run(*train)
    assert status == 0
    assert out.startswith("Balanced accuracy on 50 test rows: ")
    status, _, err = run("train", str(table), *train[2:])
    assert status != 0
    assert "has rows that old.json was trained on" in err
    status, _, err = run(*train, "--layers", "4,2")
    assert status != 0
    assert "a fit with init trains no network; leave out one of the two" in err
