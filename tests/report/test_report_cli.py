"""`dln report` from the command line, and the origin that a model file records."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dln
from dln import Circuit
from dln.cli.holdout import hold_out
from dln.core.origin import Origin
from dln.errors import CircuitFileError
from tests.conftest import Run

QUICK = ("--layers", "4,4", "--networks", "1", "--epochs", "10", "--tau", "2")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{y:.3f},{'yes' if x > y else 'no way'}" for x, y in rng.random((80, 2))]
    path = tmp_path / "points.csv"
    path.write_text("x,y,is above\n" + "\n".join(rows) + "\n")
    return path


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "dln", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


def test_report_after_train_uses_the_test_rows(table: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "model.json", tmp_path / "report.html"
    assert command("train", table, "-t", "is above", "-o", model, *QUICK).returncode == 0
    done = command("report", model, "--data", table, "-o", page)
    assert (done.returncode, done.stdout) == (0, "")
    assert "60 of the 80 rows were used to train this model; they are left out." in done.stderr
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "<dt>tested on</dt><dd>points.csv: 20 rows." in html
    shown = json.loads(re.search(r'id="page">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    labels = [line.rsplit(",", 1)[1] for line in table.read_text().splitlines()[1:]]
    _, held_out = hold_out(np.array([label == "yes" for label in labels], dtype=int), 0.25, 0)
    assert [row[0] for row in shown["test"]["rows"]] == (held_out + 1).tolist()


def test_report_says_if_the_model_was_trained_on_the_rows(table: Path, run: Run) -> None:
    assert run("train", table, "-t", "is above", "-o", "m.json", "--test", "0", *QUICK)[0] == 0
    status, _, err = run("report", "m.json", "--data", table, "-o", "r.html")
    assert status == 0
    assert "All 80 rows were used to train this model. Expect lower accuracy" in err
    assert "test rows" not in err
    assert shown_words(Path("r.html")) == {"row"}


def test_report_on_all_rows_says_that_training_rows_are_included(table: Path, run: Run) -> None:
    run("train", table, "-t", "is above", "-o", "m.json", *QUICK)
    run("report", "m.json", "--data", table, "-o", "r.html")
    assert shown_words(Path("r.html")) == {"test row"}
    _, _, err = run("report", "m.json", "--data", table, "-o", "r.html", "--all-rows")
    note = "--all-rows: 60 of the 80 rows were used to train this model; they are included."
    assert err.startswith(note)
    assert note in Path("r.html").read_text(encoding="utf-8")
    assert shown_words(Path("r.html")) == {"row"}


def shown_words(path: Path) -> set[str]:
    """Return what the page calls its rows, in its JSON object and in its text."""
    html = path.read_text(encoding="utf-8")
    words = set(re.findall(r'"word":"(.*?)"', html))
    text = html.partition("<script")[0]
    return words | ({"test row"} if re.search("test row", text, re.IGNORECASE) else set())


def test_report_on_a_longer_file_leaves_out_the_training_rows(table: Path, run: Run) -> None:
    run("train", table, "-t", "is above", "-o", "m.json", *QUICK)
    Path("more.csv").write_text(table.read_text() + "0.5,0.1,yes\n")
    status, _, err = run("report", "m.json", "--data", "more.csv", "-o", "r.html")
    assert status == 0
    assert err.startswith("60 of the 81 rows were used to train this model; they are left out.")
    assert '"total":21' in Path("r.html").read_text(encoding="utf-8")


def test_no_rows_leaves_the_rows_out(table: Path, run: Run) -> None:
    run("train", table, "-t", "is above", "-o", "m.json", *QUICK)
    _, _, err = run("report", "m.json", "--data", table, "-o", "r.html")
    assert "The file contains rows of the table; --no-rows leaves them out." in err
    status, _, err = run("report", "m.json", "--data", table, "-o", "none.html", "--no-rows")
    assert status == 0
    assert "contains rows" not in err
    html = Path("none.html").read_text(encoding="utf-8")
    assert '"rows":null' in html
    model = json.loads(re.search(r'id="model">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    assert "rows" not in model["origin"]  # hashes that a known row could be compared with


def test_mistakes_give_one_line_and_write_nothing(table: Path, run: Run) -> None:
    run("train", table, "-t", "is above", "-o", "m.json", *QUICK)
    replace(Circuit.load("m.json"), origin=None).save("bare.json")
    for arguments, message in (
        (
            ("bare.json", "--data", table),
            "the model file does not name its target column; add --target COLUMN",
        ),
        (("m.json", "--data", table, "-t", "is_above"), "did you mean 'is above'?"),
        (("m.json", "--data", "no.csv"), "no.csv"),
    ):
        status, out, err = run("report", *arguments, "-o", "r.html")
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert not Path("r.html").exists()


# -- origin -----------------------------------------------------------------------------------


def test_model_remembers_its_training_through_simplify_and_prune(table: Path, run: Run) -> None:
    run("train", table, "-t", "is above", "-o", "m.json", "--seed", "3", *QUICK)
    run("simplify", "m.json", "-o", "s.json")
    run("prune", "s.json", table, "-t", "is above", "-o", "p.json")
    origin = Circuit.load("m.json").origin
    assert origin is not None
    assert (origin.data, origin.target, origin.n_rows) == ("points.csv", "is above", 60)
    assert (origin.seed, origin.test_part, origin.version) == (3, 0.25, dln.__version__)
    assert dict(origin.settings)["epochs"] == 10
    assert Circuit.load("s.json").origin == origin
    pruned = ("pruned_on", "points.csv with tolerance 0")
    assert Circuit.load("p.json").origin == replace(origin, settings=(*origin.settings, pruned))


def test_origin_is_saved_but_not_compared(tmp_path: Path) -> None:
    circuit = Circuit((), (), (), (), (1, 0), ("a", "b"))
    origin = Origin("<é>.csv", "0" * 64, "y", 3, 0.25, 1, "0.1.0", (("tau", 2.0), ("x", None)))
    told = replace(circuit, origin=origin)
    told.save(tmp_path / "m.json")
    assert Circuit.load(tmp_path / "m.json").origin == origin
    assert told == circuit


@pytest.mark.parametrize(
    "origin", ['"here"', "{}", '{"data": 1}', "null", "[1]", '{"data": "a", "more": 2}']
)
def test_a_damaged_origin_is_refused(tmp_path: Path, origin: str) -> None:
    path = tmp_path / "m.json"
    Circuit((), (), (), (), (1, 0), ("a", "b")).save(path)
    path.write_text(path.read_text().replace('"temperature"', f'"origin": {origin}, "temperature"'))
    with pytest.raises(CircuitFileError, match="origin"):
        Circuit.load(path)
