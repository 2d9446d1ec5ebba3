"""`dln train` on several files: bad files, a full disk, Ctrl-C and a kill.

Each mistake is one clear line, and leaves neither a model nor a temporary file.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dln
from dln.data import batches, store
from dln.train import native
from tests.conftest import Run
from tests.support.killed import needs_sigkill

QUICK = ("--effort", "quick", "--epochs", "2", "--layers", "16", "--networks", "1", "--tau", "4")


def make_frame(n_rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(4)
    size, place = rng.normal(size=n_rows), rng.choice(["here", "there"], n_rows)
    label = np.where(size + (place == "here") > 0.5, "yes", "no")
    return pa.table({"size": size, "place": place, "label": label})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in three files, and a folder for temporary files."""
    monkeypatch.setattr(store, "SMALL", 1)
    (tmp_path / "parts").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for number in range(3):
        write(tmp_path, number, make_frame().slice(100 * number, 100))
    return tmp_path


def write(folder: Path, number: int, frame: pa.Table) -> None:
    pq.write_table(frame, folder / "parts" / f"{number}.parquet")


def command(folder: Path, data: str = "parts") -> list[str]:
    model = str(folder / "model.json")
    return ["train", str(folder / data), "-t", "label", "-o", model, *QUICK]


def assert_refused(run: Run, folder: Path, *messages: str) -> None:
    status, out, err = run(*command(folder))
    assert (status, out) == (2, ""), err
    assert err.count("\n") == 1
    for message in messages:
        assert message in err
    assert not (folder / "model.json").exists()
    assert os.listdir(folder / "temporary") == []


def column(frame: pa.Table, name: str, values: Any) -> pa.Table:
    return frame.set_column(frame.column_names.index(name), name, pa.array(values))


def test_a_part_of_zero_bytes(run: Run, folder: Path) -> None:
    (folder / "parts" / "1.parquet").write_bytes(b"")
    assert_refused(run, folder, "1.parquet", "the table cannot be read")


def test_a_part_that_is_cut_off(run: Run, folder: Path) -> None:
    part = folder / "parts" / "1.parquet"
    part.write_bytes(part.read_bytes()[:-100])
    assert_refused(run, folder, "1.parquet", "the table cannot be read")


def test_a_part_with_damaged_pages(run: Run, folder: Path) -> None:
    part = folder / "parts" / "1.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:20] + b"\xff" * 300 + whole[320:])
    assert_refused(run, folder, "the table cannot be read")


def test_a_column_of_numbers_that_is_text_in_one_part(run: Run, folder: Path) -> None:
    write(folder, 2, column(make_frame(100), "size", ["1"] * 100))
    assert_refused(run, folder, "'size' of", "2.parquet is string, but double in other files")


def test_a_column_of_integers_that_is_text_in_one_part(run: Run, folder: Path) -> None:
    for number in range(2):
        write(folder, number, column(make_frame(100), "size", list(range(100))))
    write(folder, 2, column(make_frame(100), "size", ["1"] * 100))
    assert_refused(run, folder, "'size' of", "2.parquet is string, but int64 in other files")


@pytest.mark.parametrize("change", ["delete", "rewrite", "append"])
def test_a_part_that_changes_while_the_parts_are_read(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    part, read = folder / "parts" / "2.parquet", batches._batches

    def changing(*arguments: Any) -> Any:
        if change == "delete":
            part.unlink()
        elif change == "rewrite":
            write(folder, 2, make_frame(57))
        else:
            part.write_bytes(part.read_bytes() + b"more")
        yield from read(*arguments)

    monkeypatch.setattr(batches, "_batches", changing)
    assert_refused(run, folder, "2.parquet")


def model_of(run: Run, folder: Path, data: str) -> dln.Circuit:
    status, _, err = run(*command(folder, data))
    assert status == 0, err
    circuit = dln.Circuit.load(folder / "model.json")
    (folder / "model.json").unlink()
    return circuit


def write_whole(folder: Path) -> None:
    parts = [pq.read_table(path) for path in sorted((folder / "parts").iterdir())]
    pq.write_table(pa.concat_tables(parts, promote_options="default"), folder / "whole.parquet")


def assert_as_one_file(run: Run, folder: Path) -> dln.Circuit:
    write_whole(folder)
    found, expected = (model_of(run, folder, data) for data in ("parts", "whole.parquet"))
    for own, other in ((found.rules, expected.rules), (found.classes, expected.classes)):
        assert own == other
    assert found.logic == expected.logic
    return found


def test_a_part_without_rows(run: Run, folder: Path) -> None:
    write(folder, 1, make_frame().slice(0, 0))
    assert_as_one_file(run, folder)


def test_a_class_that_only_the_last_part_has(run: Run, folder: Path) -> None:
    frame = make_frame().slice(200)
    labels = ["perhaps" if number % 2 else "no" for number in range(100)]
    write(folder, 2, column(frame, "label", labels))
    assert assert_as_one_file(run, folder).classes == ("no", "perhaps", "yes")


def test_parts_with_other_dictionaries(run: Run, folder: Path) -> None:
    for number, words in enumerate((["here", "there"], ["there", "here", "far"], ["far"])):
        codes = np.arange(100, dtype=np.int8) % len(words)
        place = pa.DictionaryArray.from_arrays(codes, words)
        write(folder, number, column(make_frame().slice(100 * number, 100), "place", place))
    assert_as_one_file(run, folder)


def test_a_column_without_values_in_one_part(run: Run, folder: Path) -> None:
    frame = make_frame().slice(100, 100)
    write(folder, 1, column(frame, "place", pa.nulls(100, pa.string())))
    assert_as_one_file(run, folder)


@pytest.mark.parametrize("name", ["evaluate", "explain", "report"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            "parts/*.parquet",
            "stands for several files, which only dln train and dln predict read as one",
        ),
        ("parts", "stands for several files, which only dln train and dln predict read as one"),
        ("none/*.parquet", "no file matches"),
    ],
)
def test_other_commands_read_one_file(
    run: Run, folder: Path, name: str, data: str, message: str
) -> None:
    assert run(*command(folder))[0] == 0
    model, table = folder / "model.json", folder / data
    given = [name, model, table] if name != "report" else [name, model, "-d", table]
    output = ["-o", folder / "output.html"] if name == "report" else []
    status, out, err = run(*given, *output)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (folder / "output.html").exists()


# -- the disk, Ctrl-C and a kill --------------------------------------------------------------

LIMITED = """
import resource, sys
from dln.data import store
from dln.cli import main

store.SMALL = 1
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@needs_sigkill
@pytest.mark.parametrize("most", [600, 1_500])  # fewer bytes than a column; than encoded rows
def test_a_full_disk(folder: Path, most: int) -> None:
    """A limit of the size of files stands for a full disk: the same call fails."""
    for number in range(3):  # two columns of codes, with 4 bytes for each of 300 rows
        frame = make_frame().slice(100 * number, 100)
        write(folder, number, column(frame, "size", frame["place"].to_pylist()))
    child = subprocess.run(
        [sys.executable, "-c", LIMITED, str(most), *command(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(folder / "temporary")},
    )
    assert (child.returncode, child.stdout) == (2, ""), child.stderr
    line = child.stderr.splitlines()[-1]
    assert f"the disk of {folder / 'temporary'} is full, which holds the temporary files" in line
    assert "set TMPDIR" in line
    assert not (folder / "model.json").exists()
    assert os.listdir(folder / "temporary") == []


DYING = """
import os, signal, sys
import dln.train.fit
from dln.data import store
from dln.cli import main

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

store.SMALL = 1
dln.train.fit.discretise = die
main(sys.argv[1:])
"""


@needs_sigkill
def test_a_kill_leaves_nothing_behind(folder: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", DYING, *command(folder)],
        capture_output=True,
        check=False,
        env={**os.environ, "TMPDIR": str(folder / "temporary")},
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert os.listdir(folder / "temporary") == []
    assert sorted(os.listdir(folder)) == ["parts", "temporary"]


@pytest.mark.parametrize("storage", [False, True])
def test_ctrl_c_keeps_the_model(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, storage: bool
) -> None:
    train = native.train_population

    def interrupt(jobs: Any, **options: Any) -> Any:
        def stop(_: object) -> None:
            raise KeyboardInterrupt

        return train(jobs, **options | {"on_progress": stop})

    place = str(folder / "work")
    more = ("--storage", place) if storage else ()
    with monkeypatch.context() as pressed:
        pressed.setattr(native, "train_population", interrupt)
        status, _, err = run(*command(folder), *more)
    assert status == 0, err
    assert "The fit was interrupted. The model keeps what it had learned so far." in err
    assert dln.Circuit.load(folder / "model.json").classes == ("no", "yes")
    assert os.path.exists(place) == storage  # the same command continues the training
    assert os.listdir(folder / "temporary") == []


def test_progress_shows_the_speed_of_reading_and_of_training(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dln.train.pace._SOON", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    status, _, err = run(*command(folder))
    assert status == 0
    for title in ("reading", "training"):
        assert re.search(rf"{title} [^\n]*% [^\n]*M rows/s, \d+ s left", err), err
