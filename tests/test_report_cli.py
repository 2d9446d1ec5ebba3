"""`dln report` from the command line, and what a model file remembers of its training."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

import dln
from dln import Circuit
from dln.cli.holdout import hold_out
from dln.errors import CircuitFileError
from dln.origin import Origin
from dln.report.intervals import accuracy, balanced_accuracy, share_of
from dln.scores import tally

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
    shown = json.loads(re.search(r'id="page">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    labels = [line.rsplit(",", 1)[1] for line in table.read_text().splitlines()[1:]]
    _, held_out = hold_out(np.array([label == "yes" for label in labels], dtype=int), 0.25, 0)
    assert sorted(row["number"] for row in shown["test"]["rows"]) == (held_out + 1).tolist()


def test_report_says_so_where_the_rows_were_trained_on(table: Path, run: Run) -> None:
    assert run("train", table, "-t", "is above", "-o", "m.json", "--test", "0", *QUICK)[0] == 0
    status, _, talk = run("report", "m.json", "--data", table, "-o", "r.html")
    assert status == 0
    assert "All 80 rows were used to train this model. Expect lower accuracy" in talk


def test_report_on_a_longer_file_leaves_out_the_training_rows(table: Path, run: Run) -> None:
    run("train", table, "-t", "is above", "-o", "m.json", *QUICK)
    Path("more.csv").write_text(table.read_text() + "0.5,0.1,yes\n")
    status, _, talk = run("report", "m.json", "--data", "more.csv", "-o", "r.html")
    assert status == 0
    assert talk.startswith("60 of the 81 rows were used to train this model; they are left out.")
    assert '"total": 21' in Path("r.html").read_text(encoding="utf-8")


def test_mistakes_are_told_in_one_line_and_write_nothing(table: Path, run: Run) -> None:
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
        status, out, talk = run("report", *arguments, "-o", "r.html")
        assert (status, out, talk.count("\n")) == (2, "", 1)
        assert message in talk
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


# -- ranges -----------------------------------------------------------------------------------


def test_ranges_hold_the_share_and_shrink_with_rows() -> None:
    for hits, rows in ((0, 1), (1, 1), (3, 10), (99, 100), (500, 1000)):
        few, many = share_of(hits, rows), share_of(100 * hits, 100 * rows)
        assert few is not None
        assert many is not None
        assert 0 <= few.low <= few.share <= few.high <= 1
        assert many.high - many.low < few.high - few.low
    assert share_of(0, 0) is None


def test_ranges_of_accuracies_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([0.9, 0.7])
    inside = np.zeros(2)
    for _ in range(300):
        target = np.repeat([0, 1], 60)
        right = rng.random(120) < truth[target]
        predicted = np.where(right, target, 1 - target)
        counted = tally(target, predicted, np.eye(2)[predicted])
        for place, share in enumerate((accuracy(counted), balanced_accuracy(counted))):
            inside[place] += share.low <= truth.mean() <= share.high
    assert np.all(inside / 300 > 0.9)


@pytest.mark.parametrize(("n_classes", "n_rows", "truth"), [(30, 10, 0.95), (10, 30, 0.99)])
def test_the_range_of_balanced_accuracy_holds_the_truth_with_many_classes(
    n_classes: int, n_rows: int, truth: float
) -> None:
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(n_classes), n_rows)
    inside = 0
    for _ in range(100):
        right = rng.random(len(target)) < truth
        predicted = np.where(right, target, (target + 1) % n_classes)
        share = balanced_accuracy(tally(target, predicted, np.eye(n_classes)[predicted]))
        assert share.low <= share.share <= share.high
        inside += share.low <= truth <= share.high
    assert inside > 80


def test_with_one_class_met_the_two_ranges_are_the_same() -> None:
    target, predicted = np.zeros(9, dtype=int), np.array([0] * 7 + [1] * 2)
    counted = tally(target, predicted, np.eye(2)[predicted])
    one, other = accuracy(counted), balanced_accuracy(counted)
    assert (one.share, one.range) == (other.share, other.range)
