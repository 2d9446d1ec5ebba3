"""`dln train` with limits, and `dln path`."""

import json
from pathlib import Path

import pytest

from dln import Circuit, load_path
from tests.conftest import Run
from tests.support.commands import training_table


def test_train_with_a_limit_prints_the_page(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    status, out, err = run("train", data, "-t", "state", "--max-rules", 2, "--max-literals", 3)
    assert status == 0
    assert "Most votes win" in out
    assert "xor" not in out
    assert "Balanced accuracy on 100 test rows: " in out
    assert "the model was not saved; add --output FILE to save it" in err
    assert not list(tmp_path.glob("*.json"))


def test_a_path_is_saved_shown_and_chosen_from(run: Run, tmp_path: Path) -> None:
    data = training_table(tmp_path)
    limits = ("--max-literals", 4, "--path", "p.json", "-o", "m.json")
    assert run("train", data, "-t", "state", *limits)[0] == 0
    path = load_path(tmp_path / "p.json")
    assert Circuit.load(tmp_path / "m.json") == path.circuit
    status, out, _ = run("path", "p.json", "--picture", "p.svg")
    assert (status, out.rstrip()) == (0, str(path).rstrip())
    assert (tmp_path / "p.svg").stat().st_size > 1000
    assert json.loads(run("path", "p.json", "--json")[1]) == path.to_dict()
    status, out, err = run("path", "p.json", "--max-rules", 1, "-o", "small.json")
    assert status == 0
    assert "Balanced accuracy, cross-validated: " in out
    assert "saved small.json" in err
    assert Circuit.load(tmp_path / "small.json") == path.at(max_rules=1).circuit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-rules", "0"), "--max-rules is 0, expected an integer from 1"),
        (("--column-cost", "age", "--max-cost", "1"), "--column-cost is 'age', expected"),
        (("--column-cost", "agee=1", "--max-cost", "1"), "which the table lacks"),
        (("--max-rules", "3", "--layers", "4,2"), "--layers is (4, 2), but a fit with a budget"),
        ((), "--output is missing"),
    ],
)
def test_bad_limits_are_one_line(
    run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    status, out, err = run("train", training_table(tmp_path), "-t", "state", "-q", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_path_refuses_other_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{}")
    status, _, err = run("path", "m.json")
    assert status == 2
    assert "expected 'dln path'" in err
