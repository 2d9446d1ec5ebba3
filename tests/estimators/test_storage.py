"""A fit that was killed gives the circuit of a fit that was not, and repeats no finished work."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dln
from dln._util.storage import Storage
from dln.data import batches, store
from dln.errors import DlnError, OptionError, TableError
from dln.train import native
from tests.support.killed import needs_sigkill, run_and_kill

OPTIONS: dict[str, Any] = {"effort": "quick", "epochs": 3, "simplify": None, "random_state": 0}

FIT = """
import json, warnings
import pyarrow.dataset as ds
import dln
_, folder, kind, options = sys.argv[2:]
warnings.simplefilter("ignore")
target = "label" if kind == "DLNClassifier" else "number"
model = getattr(dln, kind)(**json.loads(options), storage=folder + "/work")
model.fit(ds.dataset(folder + "/parts"), target)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table in three files."""
    monkeypatch.setattr(store, "SMALL", 1)
    rng = np.random.default_rng(1)
    size, count = rng.normal(size=600).astype(np.float32), rng.integers(0, 9, 600)
    place = rng.choice(["here", "there", "far"], 600)
    score = size + (count > 4) + (place == "far")
    frame = pa.table(
        {
            "size": pa.array(size, mask=rng.random(600) < 0.1),
            "count": pa.array(count, mask=rng.random(600) < 0.1),
            "place": pa.array(place, mask=rng.random(600) < 0.1),
            "label": np.where(score > 1, "yes", "no"),
            "number": score + 0.1 * rng.normal(size=600),
        }
    )
    (tmp_path / "parts").mkdir()
    for number in range(3):
        pq.write_table(frame.slice(200 * number, 200), tmp_path / "parts" / f"{number}.parquet")
    return tmp_path


def read(folder: Path) -> Any:
    return ds.dataset(folder / "parts")


def work(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / "work"))


MOMENTS = [
    ("DLNClassifier", {}, "column", 2),  # while the columns are completed
    ("DLNClassifier", {}, "columns", 1),
    ("DLNClassifier", {}, "run-", 1),  # while recipes are compared
    ("DLNClassifier", {}, "encoded-", 1),
    ("DLNClassifier", {"layers": (16,), "tau": 4.0, "epochs": 30}, "run-", 2),
    ("DLNRegressor", {}, "run-", 2),
]


@needs_sigkill
@pytest.mark.parametrize(("kind", "more", "step", "number"), MOMENTS)
def test_a_killed_fit_is_resumed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    more: dict[str, Any],
    step: str,
    number: int,
) -> None:
    options = OPTIONS | more
    target = "label" if kind == "DLNClassifier" else "number"
    expected = getattr(dln, kind)(**options).fit(read(folder), target)
    run_and_kill(FIT, step, number, str(folder), kind, json.dumps(options))
    finished = [file for file in work(folder) if file.endswith(".data")]
    if "columns.data" in finished:  # so the table is not read again
        monkeypatch.setattr(batches, "_batches", None)
    model = getattr(dln, kind)(**options, storage=folder / "work").fit(read(folder), target)
    assert model.circuit_ == expected.circuit_
    for name, history in expected.history_.items():
        np.testing.assert_array_equal(model.history_[name], history)
    assert not (folder / "work").exists()


def test_finished_networks_are_not_trained_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit fails when all networks are trained; the next one trains none."""
    visited: list[float] = []
    engine = native.train_population

    def spy(jobs: Any, **options: Any) -> Any:
        first: list[float] = []
        options["on_progress"] = lambda histories: first.append(histories.epochs)
        trained = engine(jobs, **options)
        visited.append(first[0])
        assert all(len(result.history) == 3 for result in trained)
        return trained

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the machine is gone")

    one = {"layers": (16,), "n_networks": 1, "tau": 4.0}
    model = dln.DLNClassifier(**OPTIONS | one, storage=folder / "work")
    with monkeypatch.context() as broken:
        broken.setattr("dln.train.fit.discretise", fail)
        with pytest.raises(RuntimeError):
            model.fit(read(folder), "label")
    monkeypatch.setattr(native, "train_population", spy)
    model.fit(read(folder), "label")
    assert visited[0] == 3.0  # epochs, at the first report


def test_a_table_in_memory_is_resumed_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pq.read_table(folder / "parts").to_pandas()
    X, y = frame[["size", "count", "place"]], frame["label"]
    expected = dln.DLNClassifier(**OPTIONS).fit(X, y).circuit_
    model = dln.DLNClassifier(**OPTIONS, storage=str(folder / "work"))
    with monkeypatch.context() as broken:
        broken.setattr("dln.train.fit.discretise", None)
        with pytest.raises(TypeError):
            model.fit(X, y)
    with pytest.raises(OptionError, match="holds a fit with other rows; use another folder"):
        model.fit(X.iloc[::-1], y)
    assert model.fit(X, y).circuit_ == expected
    assert not (folder / "work").exists()


def stop(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Leave the folder of a fit that was stopped."""
    with monkeypatch.context() as broken:
        broken.setattr("dln.train.fit.discretise", None)
        with pytest.raises(TypeError):
            fit(folder, **options)


def fit(folder: Path, **options: Any) -> Any:
    model = dln.DLNClassifier(**OPTIONS | options, storage=folder / "work")
    return model.fit(read(folder), "label")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 4}, r"holds a fit with other epochs \(3, now 4\); use another folder, or the"),
        ({"layers": (8,)}, r"holds a fit with other layers; use another folder"),
        ({"random_state": 1}, r"other seed; use another|other seed \("),
    ],
)
def test_another_fit_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    stop(folder, monkeypatch)
    before = work(folder)
    with pytest.raises(OptionError, match=message):
        fit(folder, **options)
    assert work(folder) == before


def test_options_without_influence_on_the_result_may_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(folder, monkeypatch, n_jobs=1)
    assert fit(folder, n_jobs=2, verbose=0, on_interrupt="keep").circuit_.rules


def test_without_a_seed_the_first_one_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop(folder, monkeypatch, random_state=None)
    seed = json.loads((folder / "work" / "fit.json").read_text())["fit"]["seed"]
    found = fit(folder, random_state=None).circuit_
    monkeypatch.setattr("dln.estimators.storing.draw_seed", lambda _: seed)
    assert found == fit(folder).circuit_


def test_other_files_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop(folder, monkeypatch)
    part = folder / "parts" / "1.parquet"
    pq.write_table(pq.read_table(part).slice(0, 100), part)
    with pytest.raises(TableError, match=r"1.parquet is not the file that storage .* was made"):
        fit(folder)


def test_another_version_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop(folder, monkeypatch)
    monkeypatch.setattr("dln._util.storage.version", lambda _: "99")
    with pytest.raises(OptionError, match=r"holds a fit with other dln \('.*', now '99'\)"):
        fit(folder)


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda place: place.write_text("x"), "is a file, expected a folder; name another"),
        (
            lambda place: (place.mkdir(), (place / "notes.txt").write_text("mine")),
            "is a folder with other files; name a new folder, or that of an earlier fit",
        ),
        (
            lambda place: (place.mkdir(), (place / "fit.json").write_text("{")),
            "is damaged: fit.json cannot be read; delete the folder, and start again",
        ),
    ],
)
def test_a_wrong_folder_is_one_clear_error(folder: Path, prepare: Any, message: str) -> None:
    place = folder / "work"
    prepare(place)
    files = sorted(place.rglob("*"))
    with pytest.raises(OptionError, match=message):
        fit(folder)
    assert sorted(place.rglob("*")) == files


def test_a_missing_parent_and_a_wrong_type_are_refused(folder: Path) -> None:
    with pytest.raises(OptionError, match="cannot be made: there is no folder"):
        dln.DLNClassifier(storage=folder / "none" / "work").fit(read(folder), "label")
    with pytest.raises(OptionError, match="storage is 3, expected the name of a folder, or None"):
        dln.DLNClassifier(storage=3).fit(read(folder), "label")  # type: ignore[arg-type]
    with pytest.raises(
        OptionError, match="storage is for the native engine, but engine is 'torch'"
    ):
        dln.DLNClassifier(engine="torch", storage=folder / "work").fit(read(folder), "label")


@needs_sigkill
def test_one_process_at_a_time_uses_a_folder(folder: Path) -> None:
    with Storage.open(folder / "work"), pytest.raises(OptionError, match="used by another process"):
        fit(folder)
    assert fit(folder).circuit_.rules  # it is free again


def test_an_error_before_anything_is_finished_leaves_no_folder(folder: Path) -> None:
    (folder / "parts" / "2.parquet").write_bytes(b"no table")
    with pytest.raises(DlnError):
        fit(folder)
    assert not (folder / "work").exists()


def test_damaged_work_is_done_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fit(folder).circuit_
    stop(folder, monkeypatch)
    for file in (folder / "work").glob("run-*.data"):
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    assert fit(folder).circuit_ == expected


def test_an_interrupted_fit_keeps_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fit(folder).circuit_
    engine = native.train_population

    def interrupt(jobs: Any, **options: Any) -> Any:
        def stop(_: object) -> None:
            raise KeyboardInterrupt

        return engine(jobs, **options | {"on_progress": stop})

    with monkeypatch.context() as pressed:
        pressed.setattr(native, "train_population", interrupt)
        with pytest.warns(dln.DlnWarning, match="The fit was interrupted"):
            fit(folder, on_interrupt="keep")
    assert "columns.data" in work(folder)
    assert fit(folder).circuit_ == expected
    assert not (folder / "work").exists()


def test_iterators_are_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pq.read_table(folder / "parts").to_pandas()[["size", "label"]]

    def parts() -> Any:
        return iter([frame[:200], frame[200:]])

    expected = dln.DLNClassifier(**OPTIONS).fit(parts(), "label").circuit_
    model = dln.DLNClassifier(**OPTIONS, storage=folder / "work")
    with monkeypatch.context() as broken:
        broken.setattr("dln.train.fit.discretise", None)
        with pytest.raises(TypeError):
            model.fit(parts(), "label")
    rest = parts()
    assert model.fit(rest, "label").circuit_ == expected
    assert len(next(rest)) == 200


def test_the_files_hold_the_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = batches.read_batches(read(folder))
    with Storage.open(folder / "work") as storage:
        batches.read_batches(read(folder), storage=storage)
        monkeypatch.setattr(batches, "_batches", None)
        again = batches.read_batches(read(folder), storage=storage)
    assert again.column_names() == whole.column_names()
    for index in range(whole.n_columns):
        own, other = again.read(index), whole.read(index)
        assert own.kind == other.kind
        assert own.values.dtype == other.values.dtype
        pd.testing.assert_series_equal(pd.Series(own.values), pd.Series(other.values))
