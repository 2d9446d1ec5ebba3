"""Tables that are read in batches hold what the same rows hold as one table in memory."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln.data import store
from dln.data.arrow import read_arrow
from dln.data.batches import is_batched, read_batches
from dln.data.coded import CodedColumn, coded
from dln.data.store import ColumnStore, Files
from dln.data.table import RawColumn, Table, is_missing, read_table
from dln.errors import ColumnTypeError, DiskSpaceError, ExtraMissingError, TableError

VALUES: dict[Any, st.SearchStrategy[Any]] = {
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**53), 2**53),
    pa.bool_(): st.booleans(),
    pa.string(): st.sampled_from(["", "a", "b", "ä"]),
    pa.large_string(): st.sampled_from(["x", "y"]),
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from(["u", "v"]),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
}


@st.composite
def frames(draw: st.DrawFn) -> pa.Table:
    n_rows = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    columns = {}
    for number, kind in enumerate(kinds):
        cells = st.none() | VALUES[kind] if draw(st.booleans()) else VALUES[kind]
        values = draw(st.lists(cells, min_size=n_rows, max_size=n_rows))
        columns[f"c{number}"] = pa.array(values, kind)
    return pa.table(columns)


def assert_same(found: Table, expected: Table) -> None:
    assert (found.n_rows, found.column_names()) == (expected.n_rows, expected.column_names())
    for index in range(expected.n_columns):
        own, other = found.read(index), expected.read(index)
        assert own.kind == other.kind
        assert_array_equal(own.values, other.values)


@given(frames(), st.data())
def test_a_store_holds_what_the_whole_table_holds(frame: pa.Table, data: st.DataObject) -> None:
    start = 0
    with ColumnStore() as collected:
        while start < len(frame):
            size = data.draw(st.integers(1, len(frame) - start))
            collected.append(read_arrow(frame.slice(start, size)))
            start += size
        found = collected.table()
    assert_same(found, read_table(frame))


@given(
    st.lists(st.sampled_from(["a", "b", "a", None]), min_size=1),
    st.lists(st.none() | st.integers(0, 9), min_size=1),
    st.integers(1, 4),
)
def test_dictionaries_are_read_as_the_text_they_stand_for(
    words: list[str | None], numbers: list[int | None], size: int
) -> None:
    """Dictionaries may hold unused words, the same word twice, and a missing word."""
    codes = [None if number is None else number % len(words) for number in numbers]
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(words, pa.string()))
    parts = [coded.slice(start, size) for start in range(0, len(coded), size)]
    text = pa.chunked_array([part.cast(pa.string()) for part in parts])
    found = read_arrow(pa.table({"x": pa.chunked_array(parts)})).read(0)
    expected = read_arrow(pa.table({"x": text})).read(0)
    values = [[None if is_missing(x) else x for x in column.values] for column in (found, expected)]
    assert values[0] == values[1]
    # Order of appearance; a column without values has no categories.
    assert getattr(found, "distinct", ()) == getattr(expected, "distinct", ())


@given(frames(), st.data())
def test_chosen_rows_can_be_chosen_again(frame: pa.Table, data: st.DataObject) -> None:
    table = read_batches(iter([frame]))
    rows = np.array(data.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=9)))
    first = data.draw(st.integers(0, len(rows) - 1))
    part = slice(first, data.draw(st.integers(first, len(rows))))
    whole = read_table(frame)
    assert_same(table.take(rows).take(part), whole.take(rows[part]))
    assert_same(table.take(part).take(slice(0, 2)), whole.take(np.arange(len(frame))[part][:2]))
    within = np.arange(len(range(len(frame))[part]))[::-1]
    assert_same(table.take(part).take(within), whole.take(np.arange(len(frame))[part][::-1]))


def example() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "size": pa.array(rng.normal(size=500), mask=rng.random(500) < 0.1),
            "count": pa.array(rng.integers(0, 9, 500), mask=rng.random(500) < 0.1),
            "place": pa.array(rng.choice(["u", "v"], 500), mask=rng.random(500) < 0.1),
            "day": [datetime.date(2020, 1, 1 + day % 28) for day in range(500)],
            "y": rng.integers(0, 2, 500).astype(bool),
        }
    )


def parts(frame: Any, n_rows: int = 200) -> Iterator[Any]:
    for start in range(0, 500, n_rows):
        yield frame[start : start + n_rows]


SOURCES = {
    "reader": lambda frame: pa.RecordBatchReader.from_batches(frame.schema, frame.to_batches(99)),
    "dataset": lambda frame: ds.dataset(frame),
    "duckdb": lambda frame: duckdb.from_arrow(frame),
    "polars": lambda frame: pl.from_arrow(frame).lazy(),  # type: ignore[union-attr]
    "polars batches": lambda frame: parts(pl.from_arrow(frame)),
    "pandas batches": lambda frame: parts(frame.to_pandas(types_mapper=pd.ArrowDtype)),
    "arrow batches": lambda frame: iter([frame.slice(0, 300), frame.slice(300)]),
}


@pytest.mark.parametrize("source", SOURCES)
def test_sources_are_read_in_batches(source: str) -> None:
    if source == "polars" and not hasattr(pl.LazyFrame, "collect_batches"):
        pytest.skip("needs polars 1.34")
    frame = example()
    X = SOURCES[source](frame)
    assert is_batched(X)
    assert_same(read_batches(X), read_table(frame))


def test_columns_in_the_names_of_folders_are_read(tmp_path: Path) -> None:
    frame = pa.table({"a": [1.5, 2.5, 3.5], "place": ["u", "v", "v"]})
    ds.write_dataset(
        frame, tmp_path, format="parquet", partitioning=["place"], partitioning_flavor="hive"
    )
    found = read_batches(ds.dataset(tmp_path, partitioning="hive"))
    assert found.column_names() == ("a", "place")
    assert found.read(1).values.tolist() == ["u", "v", "v"]


def test_an_old_library_is_refused() -> None:
    class LazyFrame:
        __module__ = "polars.lazyframe"

    with pytest.raises(ExtraMissingError, match=r"upgrade polars to 1.34 or duckdb to 1.2"):
        read_batches(LazyFrame())


def test_tables_in_memory_are_not_batched() -> None:
    for X in (example(), pl.DataFrame(), pd.DataFrame(), np.zeros((1, 1)), [[1]]):
        assert not is_batched(X)


def test_a_batch_without_values_has_the_kind_of_the_others() -> None:
    parts = [None, None], ["a", None], [None], ["b", "a"]
    frames = (pd.DataFrame({"x": pd.Series(cells, dtype=object)}) for cells in parts)
    found = read_batches(frames).read(0)
    assert isinstance(found, CodedColumn)
    assert found.values.tolist() == [None, None, "a", None, None, "b", "a"]
    assert found.counts() == {"a": 2, "b": 1}


def test_integers_and_numbers_become_numbers() -> None:
    found = read_batches(iter([pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [0.5]})])).read(0)
    assert found.kind == "number"
    assert found.values.tolist() == [1.0, 2.0, 0.5]


@pytest.mark.parametrize(
    ("second", "error", "message"),
    [
        ({"x": ["a"]}, ColumnTypeError, "'x' holds values of the kind category after row 2, but"),
        ({"y": [1]}, TableError, "the batch after row 2 has the columns y; expected x, as before"),
        ([1], TableError, "the table has 1 dimension"),
        ("text", ColumnTypeError, "a batch cannot be read: the table is"),
    ],
)
def test_batches_must_fit_together(second: Any, error: type[Exception], message: str) -> None:
    frame = pd.DataFrame(second) if isinstance(second, dict) else second
    with pytest.raises(error, match=message):
        read_batches(iter([pd.DataFrame({"x": [1, 2]}), frame]))


def test_no_rows_are_refused() -> None:
    with pytest.raises(TableError, match="0 rows"):
        read_batches(iter([]))


# -- files ------------------------------------------------------------------------------------


def write_parts(folder: Path, *parts: pa.Table) -> Any:
    for number, part in enumerate(parts):
        pq.write_table(part, folder / f"part{number}.parquet")
    return ds.dataset(folder)


def test_files_are_read_in_order_and_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    frame, shown = example(), []
    dataset = write_parts(tmp_path / "data", frame.slice(0, 123), frame.slice(123))
    table = read_batches(dataset, lambda *state: shown.append(state))
    assert_same(table, read_table(frame))
    assert os.listdir(tmp_path / "temporary") == []  # the files have no names
    title, done, state = shown[-1]
    assert (title, done) == ("reading", 1.0)
    assert state.startswith("500 rows, ")
    assert state.endswith(" M rows/s, 0 s left")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.5]}, "part1.parquet has no column 'b', which other files have"),
        ({"a": [1.5], "b": ["x"]}, "'b' of .*part1.parquet is string, but int64 in other files"),
        ({"a": [1.5], "b": [1], "c": [1]}, "part1.parquet has a column 'c', which other files do"),
    ],
)
def test_files_must_have_the_same_columns(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    dataset = write_parts(tmp_path, pa.table({"a": [0.5], "b": [1]}), pa.table(columns))
    with pytest.raises(TableError, match=message):
        read_batches(dataset)


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    dataset = write_parts(tmp_path, example(), example())

    def append(*_: object) -> None:
        with (tmp_path / "part0.parquet").open("ab") as file:
            file.write(b"more")

    with pytest.raises(TableError, match=r"part0.parquet changed while it was read; train again"):
        read_batches(dataset, append)


def test_a_broken_file_is_reported(tmp_path: Path) -> None:
    dataset = write_parts(tmp_path, example(), example())
    whole = (tmp_path / "part1.parquet").read_bytes()
    (tmp_path / "part1.parquet").write_bytes(whole[:8] + b"\0" * 400 + whole[408:])
    with pytest.raises(TableError, match="the table cannot be read"):
        read_batches(dataset)


def test_a_full_disk_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"x": np.arange(100_000.0)})
    full = Path("/dev/full")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full.open("w+b", buffering=0))
    with pytest.raises(DiskSpaceError, match="is full, which holds the temporary files"):
        read_batches(iter([frame]))


def test_disk_space_is_checked_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(DiskSpaceError, match=r"needs about 1000000000.0 GB .* set TMPDIR"):
        Files().check_space(10**18)


def test_large_arrays_are_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SMALL", 8)
    array = Files().make_array(lambda: "twos", (3, 5), lambda cells: cells.fill(2.0))
    assert array.base is not None  # a mapped file
    assert array.sum() == 30.0


@given(st.lists(st.sampled_from([None, 1, "1", True, 2.5, "a"]), min_size=1))
def test_codes_stand_for_the_categories(cells: list[Any]) -> None:
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    found = coded(RawColumn("category", values))
    assert found.values.tolist() == cells
    assert coded(found) is found
    assert sum(found.counts().values()) == sum(cell is not None for cell in cells)


def test_a_table_of_many_columns_raises_the_limit_of_open_files() -> None:
    """Where the system does not allow that, the error says what to do."""
    program = """
import resource, sys
import numpy as np, pandas as pd
from dln.data.batches import read_batches
from dln.errors import TableError
most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (200, most))
frame = pd.DataFrame(np.ones((3, 300)), columns=[f"x{n}" for n in range(300)])
try:
    print(read_batches(iter([frame, frame])).n_rows)
except TableError as error:
    print(error)
"""
    run = [sys.executable, "-c", program]
    assert subprocess.check_output([*run, "600"], text=True) == "6\n"
    assert "may have 300; raise the limit" in subprocess.check_output([*run, "300"], text=True)
