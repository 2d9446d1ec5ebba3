"""Tables that are read in batches: Arrow datasets, DuckDB relations, Polars lazy frames, iterators.

They are read once, into temporary files (`dln.data.store`), and may be larger than the memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dln._util.messages import type_name
from dln._util.progress import Show
from dln._util.storage import Storage
from dln.data.arrow import read_arrow
from dln.data.store import ColumnStore, Files, stored_table
from dln.data.table import Table, read_table
from dln.errors import ColumnTypeError, ExtraMissingError, TableError

BATCH_ROWS = 1 << 17
"""Rows that are read at once, where this can be chosen."""

_ENCODED_BYTES = 4
"""Space of an encoded value in temporary files."""

Stamp = list[int]
"""The size of a file and the time of its last change, as JSON has them."""

_LIBRARIES = {
    "LazyFrame": "polars",
    "DuckDBPyRelation": "duckdb",
    "RecordBatchReader": "pyarrow",
    "FileSystemDataset": "pyarrow",
    "InMemoryDataset": "pyarrow",
    "UnionDataset": "pyarrow",
}


def is_batched(X: Any) -> bool:
    """Check whether a table is read in batches, without importing its library."""
    library = _LIBRARIES.get(type(X).__name__)
    return isinstance(X, Iterator) or type(X).__module__.split(".")[0] == library


def read_batches(
    X: Any,
    show: Show | None = None,
    columns: Sequence[str] | None = None,
    storage: Storage | None = None,
) -> Table:
    """Read all batches of a table once; the columns are in temporary files then.

    Of an Arrow dataset, only some columns may be read. With a storage, the columns are in its
    folder, and are not read again if an earlier process has read all of them.

    Raises `TableError` if batches or files do not fit together, or if a file changes while it is
    read, and `DiskSpaceError` if the disk is too small.
    """
    n_rows = None
    stamps: dict[str, Stamp] = {}
    if hasattr(X, "count_rows"):  # an Arrow dataset
        stamps = _stamps(X)
        with _explaining_arrow():
            n_rows = X.count_rows()
            _check_schemas(X)
    if storage is not None:
        known = storage.setting("table", "files") or stamps
        other = next((path for path, stamp in stamps.items() if known.get(path) != stamp), None)
        if other is not None:
            raise TableError(
                f"{other} is not the file that storage {str(storage.folder)!r} was made from; use "
                "another folder, or the same files"
            )
        storage.check("table", {"columns": _column_names(X, columns), "files": stamps})
        found = stored_table(storage)
        if found is not None:
            return found
    if n_rows is not None:
        Files(storage).check_space(n_rows * _row_bytes(X, columns))
    with ColumnStore(storage) as store:
        started = time.monotonic()
        try:
            for batch in _batches(X, columns):
                store.append(batch)
                if show is not None:
                    show("reading", *_progress(store.n_rows, n_rows, time.monotonic() - started))
        except TableError as error:
            _check_unchanged(stamps, error)
            raise
        _check_unchanged(stamps)
        if store.n_rows == 0:
            raise TableError("the table has 0 rows (0 sample(s)); a minimum of 1 is required")
        return store.table()


def _check_unchanged(stamps: Mapping[str, Stamp], cause: Exception | None = None) -> None:
    """Raise `TableError` if a file has changed, which may also be the cause of another error."""
    changed = next((path for path, stamp in stamps.items() if _stamp(path) != stamp), None)
    if changed is not None:
        raise TableError(
            f"{changed} changed while it was read; train again when it is complete"
        ) from cause


def _column_names(X: Any, columns: Sequence[str] | None) -> list[str] | None:
    """Return the columns to read, as far as they are known before."""
    if columns is not None:
        return list(columns)
    if hasattr(X, "collect_schema"):  # a lazy frame, whose `columns` warns of the work
        return list(X.collect_schema().names())
    if hasattr(X, "schema"):
        return list(X.schema.names)
    return list(X.columns) if hasattr(X, "columns") else None


def _row_bytes(dataset: Any, columns: Sequence[str] | None) -> int:
    """Return the space of a row in temporary files: of its values, and of the encoded ones."""
    chosen = dataset.schema.names if columns is None else columns
    kinds = [dataset.schema.field(name).type for name in chosen]
    return sum(_value_bytes(kind) + _ENCODED_BYTES for kind in kinds)


def _value_bytes(kind: Any) -> int:
    """Return the bytes of a value: numbers keep their type, text becomes codes."""
    from pyarrow import types  # type: ignore[import-untyped]

    if types.is_boolean(kind) or types.is_integer(kind):
        return 8  # with missing values, they become float64
    if types.is_floating(kind):
        return int(kind.bit_width // 8)
    return 4 if types.is_dictionary(kind) or types.is_string(kind) else 8


def _progress(done: int, n_rows: int | None, seconds: float) -> tuple[float, str]:
    """Return the fraction that is read, and the speed."""
    speed = done / max(seconds, 1e-9)
    state = f"{done:,} rows, {speed / 1e6:.2f} M rows/s"
    if n_rows is None:
        return 0.0, state
    return done / max(1, n_rows), f"{state}, {(n_rows - done) / speed:.0f} s left"


def _batches(X: Any, columns: Sequence[str] | None) -> Iterator[Table]:
    """Yield the batches as tables."""
    if hasattr(X, "collect_batches"):
        for frame in X.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield read_arrow(frame.to_arrow())
    elif hasattr(X, "count_rows"):
        # Few batches are read ahead, because each of them is held in memory.
        ahead = {"batch_readahead": 2, "fragment_readahead": 1}
        found = X.to_batches(columns=columns, batch_size=BATCH_ROWS, **ahead)
        yield from _arrow_batches(found)
    elif hasattr(X, "__arrow_c_stream__"):
        yield from _arrow_batches(iter(_reader(X)))
    elif isinstance(X, Iterator):
        for frame in X:
            yield frame if isinstance(frame, Table) else _read_frame(frame)
    else:
        raise ExtraMissingError(
            f"the table is {type_name(X)} of a version that cannot be read in batches; "
            "upgrade polars to 1.34 or duckdb to 1.2, or collect the table first"
        )


def _read_frame(frame: Any) -> Table:
    """Read one batch of an iterator."""
    if type(frame).__module__.split(".")[0] == "pyarrow":
        return next(_arrow_batches(iter([frame])))
    try:
        return read_table(frame)
    except ColumnTypeError as error:
        raise ColumnTypeError(f"a batch cannot be read: {error}") from error


def _reader(X: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(X)


def _arrow_batches(batches: Iterator[Any]) -> Iterator[Table]:
    import pyarrow as pa

    while True:
        with _explaining_arrow():
            batch = next(batches, None)
            if batch is None:
                pa.default_memory_pool().release_unused()
                return
            frame = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
            table = read_arrow(frame)
        yield table


@contextmanager
def _explaining_arrow() -> Iterator[None]:
    """Turn errors of pyarrow, such as a broken file, into a message for users."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        text = " ".join(str(error).split())
        raise TableError(f"the table cannot be read: {text}") from error


def _check_schemas(dataset: Any) -> None:
    """Compare the columns of all files. Arrow would fill a missing column with missing values."""
    expected = {field.name: field.type for field in dataset.schema}
    partitioned = set(_partition_names(dataset))
    for fragment in dataset.get_fragments():
        path = getattr(fragment, "path", "a part of the table")
        found = {field.name: field.type for field in fragment.physical_schema}
        for name, kind in expected.items():
            if name in partitioned:
                continue
            if name not in found:
                raise TableError(
                    f"{path} has no column {name!r}, which other files have; give files with the "
                    "same columns"
                )
            if found[name] != kind:
                raise ColumnTypeError(
                    f"column {name!r} of {path} is {found[name]}, but {kind} in other files; "
                    "convert the files to one type"
                )
        more = next((name for name in found if name not in expected), None)
        if more is not None:
            raise TableError(
                f"{path} has a column {more!r}, which other files do not have; give files with the "
                "same columns"
            )


def _partition_names(dataset: Any) -> list[str]:
    """Return the columns that are in the names of folders, not in the files."""
    partitioning = getattr(dataset, "partitioning", None)
    return [] if partitioning is None else list(partitioning.schema.names)


def _stamps(dataset: Any) -> dict[str, Stamp]:
    """Return the size and time of the last change of all files on this machine."""
    return {path: _stamp(path) for path in getattr(dataset, "files", ()) if os.path.isfile(path)}


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return [-1, -1]
    return [found.st_size, found.st_mtime_ns]
