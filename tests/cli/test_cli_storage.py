"""`dln train --storage FOLDER`: the same command resumes a training that was killed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dln.data import batches, store
from tests.conftest import Run
from tests.support.killed import needs_sigkill, run_and_kill

QUICK = ("--effort", "quick", "--epochs", "3", "--layers", "16", "--networks", "1")

TRAIN = """
from dln.cli import main
main(sys.argv[3:])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in one file and in two."""
    monkeypatch.setattr(store, "SMALL", 1)
    rng = np.random.default_rng(2)
    size, place = rng.normal(size=400), rng.choice(["here", "there"], 400)
    label = np.where(size + (place == "here") > 0.5, "yes", "no")
    frame = pa.table({"size": size, "place": place, "label": label})
    (tmp_path / "parts").mkdir()
    pq.write_table(frame, tmp_path / "whole.parquet")
    for number in range(2):
        pq.write_table(frame.slice(200 * number, 200), tmp_path / "parts" / f"{number}.parquet")
    return tmp_path


def command(folder: Path, data: str, *more: str) -> list[str]:
    model = str(folder / "model.json")
    return ["train", str(folder / data), "-t", "label", "-o", model, *QUICK, *more]


@needs_sigkill
@pytest.mark.parametrize("data", ["parts/*.parquet", "whole.parquet"])
def test_the_same_command_resumes(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    model, storage = folder / "model.json", folder / "work"
    status, expected_out, _ = run(*command(folder, data))
    assert status == 0
    expected = model.read_bytes()
    model.unlink()
    with_storage = command(folder, data, "--storage", str(storage))
    run_and_kill(TRAIN, "run-", 2, *with_storage)
    assert not model.exists()
    if data.startswith("parts"):  # the files are not read again
        monkeypatch.setattr(batches, "_batches", None)
    status, out, err = run(*with_storage)
    assert status == 0, err
    assert (out, model.read_bytes()) == (expected_out, expected)
    assert not storage.exists()


@needs_sigkill
def test_other_work_in_the_folder_is_one_clear_line(run: Run, folder: Path) -> None:
    storage = str(folder / "work")
    given = command(folder, "parts", "--storage", storage)
    run_and_kill(TRAIN, "columns", 1, *given)
    before = sorted(os.listdir(storage))
    for more, message in (
        (("--only", "size"), "holds a fit with other columns; use another folder"),
        (("--test", "0.5"), ""),  # the fit was not reached, so only the columns count
    ):
        status, _, err = run(*given, *more)
        assert (status, message in err) == (2 if message else 0, True)
        if message:
            assert err.count("\n") == 1
            assert sorted(os.listdir(storage)) == before
            assert not (folder / "model.json").exists()


def test_the_storage_may_not_be_an_input_or_another_output(run: Run, folder: Path) -> None:
    for storage, message in (
        (folder / "parts", "is a folder with other files; name a new folder"),
        (folder / "whole.parquet", "is a file, expected a folder"),
        (folder / "none" / "work", "cannot be made: there is no folder"),
    ):
        status, _, err = run(*command(folder, "parts", "--storage", str(storage)))
        assert status == 2
        assert message in err
        assert err.count("\n") == 1
    status, _, err = run(*command(folder, "whole.parquet", "--price", "--storage", "work",
                                  "--monotone", "size=+"))  # fmt: skip
    assert status == 2
    assert "--price trains a second model; leave out --price or --storage" in err


def test_a_mistake_leaves_no_folder(run: Run, folder: Path) -> None:
    given = command(folder, "parts", "--storage", str(folder / "work"), "--ignore", "none")
    status, _, err = run(*given)
    assert status == 2, err
    assert not (folder / "work").exists()
