"""`dln train --group`: the rows of a group are all training rows or all test rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import Circuit, DLNClassifier
from dln.cli.groups import group_numbers
from dln.cli.holdout import hold_out
from dln.cli.layout import Layout
from dln.cli.own_rows import own_rows
from dln.errors import TableError
from tests.conftest import Run

QUICK = ("--layers", "4,2", "--networks", "1", "--epochs", "2", "--tau", "2")


@given(
    groups=st.lists(st.integers(0, 12), min_size=2, max_size=80),
    n_classes=st.integers(1, 4),
    part=st.floats(0.0, 0.9),
    seed=st.integers(0, 99),
)
def test_a_split_never_separates_a_group(
    groups: list[int], n_classes: int, part: float, seed: int
) -> None:
    _, numbers = np.unique(groups, return_inverse=True)
    classes = np.random.default_rng(seed).integers(n_classes, size=len(groups))
    rows, test_rows = hold_out(classes, part, seed, numbers)
    assert sorted([*rows, *test_rows]) == list(range(len(groups)))
    assert not set(numbers[rows]) & set(numbers[test_rows])
    assert set(classes[rows]) == set(classes)


@given(sizes=st.lists(st.integers(1, 9), min_size=3, max_size=40), seed=st.integers(0, 99))
def test_no_other_group_would_bring_the_shares_nearer(sizes: list[int], seed: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    classes = np.random.default_rng(seed).integers(3, size=len(groups))
    counts = np.array([np.bincount(classes[groups == g], minlength=3) for g in range(len(sizes))])
    total = np.maximum(counts.sum(axis=0), 1)
    rows, test_rows = hold_out(classes, 0.25, seed, groups)
    tested = np.bincount(classes[test_rows], minlength=3)

    def distance(tested: np.ndarray) -> float:
        return float((((tested - 0.25 * counts.sum(axis=0)) / total) ** 2).sum())

    for group in set(groups[rows]):
        more = tested + counts[group]
        takes_last = (more == total)[counts[group] > 0].any()
        assert takes_last or distance(more) >= distance(tested) - 1e-9


def patients(folder: Path, name: str = "visits.csv") -> Path:
    """Write visits of 60 patients; a few rows have no class."""
    rng = np.random.default_rng(0)
    patient = rng.permutation(np.repeat(np.arange(60), 5))
    age = rng.integers(18, 90, 300)
    state = [None if row % 50 == 7 else ("ill" if age[row] > 54 else "well") for row in range(300)]
    table = pa.table({"patient": patient, "age": age, "dose": rng.random(300), "state": state})
    if name.endswith(".csv"):
        text = table.to_pandas().to_csv(index=False)
        (folder / name).write_text(text)
    else:
        pa.parquet.write_table(table, folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["visits.csv", "visits.parquet"])
@pytest.mark.parametrize("no_rows", [False, True])
def test_later_commands_find_the_test_rows_of_a_grouped_training(
    run: Run, tmp_path: Path, name: str, no_rows: bool
) -> None:
    table = patients(tmp_path, name)
    options = (*QUICK, *(["--no-rows"] if no_rows else []))
    code, _, err = run(
        "train", str(table), "-t", "state", "-o", "m.json", "--group", "patient", *options
    )
    assert code == 0
    assert "note: The column 'patient' has 60 groups of 4 to 5 rows; the rows of a group" in err
    circuit = Circuit.load("m.json")
    assert [column.name for column in circuit.columns] == ["age", "dose"]
    origin = circuit.origin
    assert origin is not None
    assert dict(origin.settings)["group"] == "patient"
    training = own_rows(circuit, str(table), Layout(), "state", "training")
    test = own_rows(circuit, str(table), Layout(), "state", "test")
    assert training is not None
    assert test is not None
    assert training.sum() == origin.n_rows
    assert (training ^ test).all()
    patient = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 5))
    patient = np.delete(patient, np.arange(7, 300, 50))
    assert not set(patient[training]) & set(patient[test])
    assert len(set(patient[test])) == pytest.approx(15, abs=2)
    code, out, _ = run("evaluate", "m.json", str(table), "--json")
    assert code == 0
    assert json.loads(out)["rows_left_out"] == origin.n_rows
    assert run("options", "m.json")[0] == 0


def test_the_same_rows_are_recognised_in_another_file(run: Run, tmp_path: Path) -> None:
    table = patients(tmp_path)
    run("train", str(table), "-t", "state", "-o", "m.json", "--group", "patient", *QUICK)
    head, *lines = table.read_text().splitlines()
    Path("turned.csv").write_text("\n".join([head, *reversed(lines), ""]))
    _, out, _ = run("evaluate", "m.json", "turned.csv", "--json")
    origin = Circuit.load("m.json").origin
    assert origin is not None
    assert json.loads(out)["rows_left_out"] == origin.n_rows


def test_the_fit_gets_the_groups_of_the_training_rows(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    original = DLNClassifier.fit

    def record(self, X, y, sample_weight=None, groups=None):  # type: ignore[no-untyped-def]
        seen.append((len(y), groups))
        return original(self, X, y, sample_weight, groups)

    monkeypatch.setattr(DLNClassifier, "fit", record)
    table = patients(tmp_path)
    run("train", str(table), "-t", "state", "-o", "m.json", "--group", "patient", *QUICK)
    [(n_rows, groups)] = seen
    assert len(groups) == n_rows
    assert 40 < len(set(groups)) < 60


@pytest.mark.parametrize(
    ("text", "group", "message"),
    [
        ("g,x,y\nA,1,0\n,2,1\nNA,3,1\nB,4,0\n", "g", "'g' has no value in 2 of 4 rows; give each"),
        ("g,x,y\nA,1,0\nA,2,1\nA,3,1\nA,4,0\n", "g", "'g' has the same value in all 4 rows"),
        ("g,x,y\nA,1,0\nB,2,1\n", "h", "no column 'h'"),
        ("g,x,y\nA,1,0\nB,2,1\n", "y", "--group and --target both name 'y'"),
        ("g,y\nA,0\nB,1\n", "g", "no column besides the target 'y' and the group column 'g'"),
        ("g,x,y\nA,1,0\nB,2,0\nA,3,1\nB,4,1\n", "g", "since their groups are too large"),
    ],
)
def test_bad_groups_are_refused_in_one_line(run: Run, text: str, group: str, message: str) -> None:
    Path("t.csv").write_text(text)
    code, _, err = run("train", "t.csv", "-t", "y", "-o", "m.json", "--group", group, "-q")
    assert code != 0
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_single_rows_as_groups_are_noted(run: Run) -> None:
    rows = "".join(f"{n},{n},{n % 2}\n" for n in range(40))
    Path("t.csv").write_text("g,x,y\n" + rows)
    code, _, err = run("train", "t.csv", "-t", "y", "-o", "m.json", "--group", "g", *QUICK)
    assert code == 0
    assert "40 groups of one row each, so --group changes nothing" in err


def test_groups_may_have_any_simple_type() -> None:
    words = pa.chunked_array([["a", "b"], ["a"]], pa.dictionary(pa.int32(), pa.string()))
    assert group_numbers(words, "g", ()).tolist() == [0, 1, 0]
    assert group_numbers(pa.chunked_array([[2.5, 2.5, 1.0]]), "g", ()).tolist() == [0, 0, 1]
    with pytest.raises(TableError, match="no value in 1 of 2 rows"):
        group_numbers(pa.chunked_array([[2.5, float("nan")]]), "g", ())
    with pytest.raises(TableError, match="holds list"):
        group_numbers(pa.chunked_array([[[1], [2]]]), "g", ())


def test_a_search_keeps_groups_together(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dln.search import DLNSearchCV

    seen = []
    original = DLNSearchCV._folds

    def record(self, read, sample, scoring, groups):  # type: ignore[no-untyped-def]
        folds = original(self, read, sample, scoring, groups)
        seen.extend((sample.groups[fold.train], sample.groups[fold.valid]) for fold in folds)
        return folds

    monkeypatch.setattr(DLNSearchCV, "_folds", record)
    Path("options.toml").write_text("layers = [4, 2]\nepochs = 2\nn_networks = 1\ntau = 2.0\n")
    command = ("search", str(patients(tmp_path)), "-t", "state", "-o", "m.json", "--trials", "1")
    code, _, err = run(*command, "--group", "patient", "--options", "options.toml")
    assert code == 0
    assert "the rows of a group stay together" in err
    assert len(seen) > 1
    assert all(not set(train) & set(valid) for train, valid in seen)
    origin = Circuit.load("m.json").origin
    assert origin is not None
    assert dict(origin.settings)["group"] == "patient"
