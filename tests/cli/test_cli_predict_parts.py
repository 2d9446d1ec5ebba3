"""`dln predict` on several files, and on files and disks that fail: nothing is half-written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dln.cli import main
from tests.conftest import Run
from tests.support.commands import (
    LONG,
    circuit,
    saved_model,  # noqa: F401 - a fixture
)

FRAME = pa.table(
    {
        "age": pa.array([60, None, 20, 70, 55, 12] * 20, pa.int64()),
        "smoker": pa.array([True, False, None, True] * 30),
        "city": pa.array(["Bern", "Basel", None, "Chur", "Basel"] * 24),
        "id": list(range(120)),
    }
)


def write_parts(folder: Path, ending: str) -> Path:
    parts = folder / "parts"
    parts.mkdir()
    for number, (start, stop) in enumerate(((0, 50), (50, 51), (51, 120))):
        rows = FRAME.slice(start, stop - start)
        path = parts / f"{number}.{ending}"
        (pq.write_table if ending == "parquet" else pa.csv.write_csv)(rows, path)
    return parts


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_several_files_are_one_table(run: Run, model: Path, tmp_path: Path, ending: str) -> None:
    parts = write_parts(tmp_path, ending)
    out = tmp_path / "out.parquet"
    table = parts if ending == "parquet" else parts / "*.csv"
    status, _, err = run("predict", model, table, "--keep", "id", "-o", out)
    assert (status, err) == (0, f"wrote {out}: 120 rows\n")
    found = pq.read_table(out)
    assert found["prediction"].to_pylist() == circuit().predict(FRAME).tolist()
    assert list(map(str, found["id"].to_pylist())) == list(map(str, range(120)))
    assert found["prediction"].type == pa.string()


def refused(run: Run, model: Path, table: object, out: Path, *options: str) -> str:
    before = sorted(out.parent.iterdir())
    status, _, err = run("predict", model, table, "-o", out, *options)
    assert (status, err.count("\n")) == (2, 1), err
    assert sorted(out.parent.iterdir()) == before
    return err


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_parts_that_do_not_fit_are_refused(
    run: Run, model: Path, tmp_path: Path, ending: str
) -> None:
    parts = write_parts(tmp_path, ending)
    table, out, last = parts / f"*.{ending}", tmp_path / "out.parquet", parts / f"9.{ending}"
    write = pq.write_table if ending == "parquet" else pa.csv.write_csv
    write(FRAME.drop_columns(["city"]), last)
    err = refused(run, model, table, out)
    assert f"the model reads 'city', but {last} has only age, smoker, id" in err
    write(FRAME.drop_columns(["id"]), last)
    assert f"{last}: there is no column 'id'" in refused(run, model, table, out, "--keep", "id")
    write(FRAME.set_column(0, "age", pa.array(["old"] * 120)), last)
    assert f"{last}: column 'age' holds " in refused(run, model, table, out)
    if ending == "parquet":
        write(FRAME.set_column(3, "id", pa.array(["a"] * 120)), last)
        err = refused(run, model, table, out, "--keep", "id")
        assert f"column 'id' of {last} is string, but int64 in other files" in err
    assert "no file matches" in refused(run, model, tmp_path / "*.none", out)
    out.write_bytes(b"old")
    (parts / f"9.{ending}").unlink()
    assert "is the same file as" in refused(run, model, table, parts / f"1.{ending}")
    assert out.read_bytes() == b"old"


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("change", ["truncated", "appended"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    run: Run, model: Path, tmp_path: Path, ending: str, change: str
) -> None:
    table, out = tmp_path / f"t.{ending}", tmp_path / f"out.{ending}"
    write = pq.write_table if ending == "parquet" else pa.csv.write_csv
    write(pa.concat_tables([FRAME] * 5), table)
    content = table.read_bytes()

    def join(copies: object, answers: object) -> object:
        table.write_bytes(content[:200] if change == "truncated" else content + b"60,true,Bern,7\n")
        return answers

    with (
        patch("dln.cli.predict._joined", join),
        patch("dln.cli.read._BATCH_ROWS", 7),
        patch("dln.cli.read.BLOCK_BYTES", 64),
    ):
        err = refused(run, model, table, out)
    assert err == f"dln: {table} changed while it was read; try again when it is complete\n"


def test_damaged_pages_are_named(run: Run, model: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "t.parquet", tmp_path / "out.parquet"
    pq.write_table(FRAME, table, use_dictionary=False)
    content = bytearray(table.read_bytes())
    content[4:200] = bytes(196)  # the first page; the footer is intact
    table.write_bytes(content)
    assert f"dln: {table} cannot be read: " in refused(run, model, table, out)


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_full_disk_leaves_nothing_behind(model: Path, tmp_path: Path, ending: str) -> None:
    rows = pa.concat_tables([FRAME] * 200)
    rows = rows.set_column(3, "id", pa.array(range(len(rows))))
    pq.write_table(rows, tmp_path / "t.parquet")
    folder = tmp_path / "out"
    folder.mkdir()
    limited = (
        "import resource, sys; from dln.cli import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); sys.exit(main(sys.argv[1:]))"
    )
    files = [str(model), str(tmp_path / "t.parquet"), "-o", str(folder / f"out.{ending}")]
    done = subprocess.run(
        [sys.executable, "-c", limited, "predict", *files, "--keep", "id", "--proba"],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert (done.returncode, done.stderr) == (141, "dln: cannot write the output: File too large\n")
    assert list(folder.iterdir()) == []


def test_one_file_of_another_name_is_still_a_file(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a[1].csv"  # the name of a file, although it is a pattern too
    pa.csv.write_csv(FRAME, path)
    assert main(["predict", str(model), str(path), "-o", str(tmp_path / "out.csv"), "-q"]) == 0
