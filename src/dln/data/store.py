"""Batches of rows -> a table whose columns are in temporary files, mapped into memory.

Promise: the columns have the kinds and values that the same rows have as one table in memory. The
files have no names, so the system frees them when they are no longer used, even if the process is
killed. `TMPDIR` names the folder. With a `Storage`, the files are in its folder instead, and
another process can read them again.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks
from dln._util.messages import list_names
from dln._util.storage import Storage
from dln.core.literals import Category, ColumnKind
from dln.data.coded import CodedColumn, coded, is_missing_in
from dln.data.table import RawColumn, Table, array_in_memory
from dln.errors import ColumnTypeError, DiskSpaceError, TableError

Floats = NDArray[np.float32]

SMALL = 1 << 26
"""Arrays of fewer bytes stay in memory."""

_OTHER_FILES = 200
"""Files that a process has open besides those of columns."""


class Files:
    """Makes the files of one table: without names, or in the folder of a storage."""

    def __init__(self, storage: Storage | None = None) -> None:
        self.storage = storage

    @property
    def folder(self) -> str:
        """The folder of the files."""
        return tempfile.gettempdir() if self.storage is None else str(self.storage.folder)

    def open(self, name: str) -> IO[bytes]:
        """Open a new file; one of this name is replaced."""
        if self.storage is None:
            return tempfile.TemporaryFile(prefix="dln-")
        path = self.storage.draft(name)
        path.unlink(missing_ok=True)  # it may still be mapped
        return path.open("w+b")

    def make_array(
        self, name: Callable[[], str], shape: tuple[int, ...], fill: Callable[[Floats], None]
    ) -> Floats:
        """Make an array in a file, or in memory if it is small; a `MakeArray`."""
        size = int(np.prod(shape)) * 4
        if size < SMALL:
            return array_in_memory(name, shape, fill)
        dtype, own = np.dtype(np.float32), "" if self.storage is None else name()
        if self.storage is not None and self.storage.path(own).exists():
            return _mapped(self.storage.path(own).open("rb"), dtype, shape, "r")
        with explaining_full_disk(self.folder), self.open(own) as file:
            # A mapped file without its space on the disk would end the process when it is written.
            if size and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            array: Floats = _mapped(file, dtype, shape, "r+")
            fill(array)
            if self.storage is not None:
                self.storage.finish(own)
        return array

    def check_space(self, n_bytes: int) -> None:
        """Raise `DiskSpaceError` if the folder has less space."""
        free = shutil.disk_usage(self.folder).free
        if n_bytes > free:
            raise DiskSpaceError(
                f"the table needs about {n_bytes / 1e9:.1f} GB of temporary files, but "
                f"{self.folder} has {free / 1e9:.1f} GB free; {_advice(self.storage)}"
            )


def allow_files(n_columns: int) -> None:
    """Let the process keep a file open for each column.

    Raises `TableError` if the system does not allow so many.
    """
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    wanted = n_columns + _OTHER_FILES
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if usual == resource.RLIM_INFINITY or usual >= wanted:
        return
    if most != resource.RLIM_INFINITY and most < wanted:
        raise TableError(
            f"the table has {n_columns:,} columns, each of which needs an open file, but a process "
            f"may have {most:,}; raise the limit (ulimit -Hn {wanted}), or choose fewer columns"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


class ColumnStore:
    """Collects batches of the same columns, inside a `with` block. `table` ends the collection."""

    def __init__(self, storage: Storage | None = None) -> None:
        self.n_rows = 0
        self._names: tuple[str, ...] | None = None
        self._columns: list[_Column] = []
        self._files = Files(storage)

    def __enter__(self) -> ColumnStore:
        return self

    def __exit__(self, *error: object) -> None:
        for column in self._columns:
            column.close()

    def append(self, batch: Table) -> None:
        """Add rows; their columns must be those of the first batch, in any order."""
        names = batch.column_names()
        if self._names is None:
            self._names = names
            allow_files(len(names))
            self._columns = [
                _Column(name, f"column{index}", self._files) for index, name in enumerate(names)
            ]
        elif set(names) != set(self._names):
            raise TableError(
                f"the batch after row {self.n_rows:,} has the columns {list_names(names)}; "
                f"expected {list_names(self._names)}, as before"
            )
        place = {name: index for index, name in enumerate(names)}
        with explaining_full_disk(self._files.folder):
            for column in self._columns:
                column.append(batch.read(place[column.name]), self.n_rows)
        self.n_rows += batch.n_rows

    def table(self) -> Table:
        """Return the collected rows."""
        with explaining_full_disk(self._files.folder):
            columns = [column.finish(self.n_rows) for column in self._columns]
            if self._files.storage is not None:
                described = [
                    describe(name, own)
                    for name, own in zip(self._names or (), columns, strict=True)
                ]
                content = json.dumps({"n_rows": self.n_rows, "columns": described})
                self._files.storage.write(_COLUMNS, content.encode())
        return _table(self.n_rows, self._names or (), columns, self._files)


_COLUMNS = "columns"
"""The file of a storage that describes its columns; it is written when all of them are complete."""


def stored_table(storage: Storage) -> Table | None:
    """Return the table that an earlier process has collected; None if it was not complete."""
    content = storage.read(_COLUMNS)
    if content is None:
        return None
    found = json.loads(content)
    n_rows = found["n_rows"]
    allow_files(len(found["columns"]))
    columns: list[RawColumn] = []
    for index, own in enumerate(found["columns"]):
        file = storage.path(f"column{index}").open("rb")
        values = _mapped(file, np.dtype(own["dtype"]), (n_rows,), "r")
        if own["kind"] == "category":
            columns.append(CodedColumn(values, tuple(own["categories"])))
        else:
            columns.append(RawColumn(own["kind"], values))
    names = tuple(own["name"] for own in found["columns"])
    return _table(n_rows, names, columns, Files(storage))


def describe(name: str, column: RawColumn) -> dict[str, Any]:
    """Return what the file of a column does not say."""
    own = {"name": name, "kind": column.kind}
    if isinstance(column, CodedColumn):
        return {**own, "dtype": column.codes.dtype.str, "categories": column.distinct}
    return {**own, "dtype": column.values.dtype.str}


def _table(n_rows: int, names: tuple[str, ...], columns: list[RawColumn], files: Files) -> Table:
    read = columns.__getitem__
    return Table(n_rows, len(columns), names, read, make_array=files.make_array)


class _Column:
    """One column that grows: numbers in the type that holds all of them, or category codes."""

    def __init__(self, name: str, file_name: str, files: Files) -> None:
        self.name = name
        self._file_name, self._files = file_name, files
        self._file: IO[bytes] = files.open(file_name)
        self._kind: ColumnKind | None = None  # None until a value is known
        self._empty_kind: ColumnKind = "number"  # the kind if there is no value at all
        self._dtype: np.dtype[Any] = np.dtype(np.bool_)
        self._codes: dict[Category, int] = {}

    def append(self, raw: RawColumn, n_before: int) -> None:
        if self._kind is None or raw.kind != self._kind:
            raw = self._agree(raw, n_before)
        if raw.kind == "category":
            own = coded(raw)
            numbers = [self._codes.setdefault(cell, len(self._codes)) for cell in own.distinct]
            self._file.write(np.array([*numbers, -1], dtype=np.int32)[own.codes].data)
        else:
            self._change_type(np.result_type(self._dtype, raw.values.dtype), n_before)
            self._file.write(np.ascontiguousarray(raw.values, dtype=self._dtype).data)

    def _agree(self, raw: RawColumn, n_before: int) -> RawColumn:
        """Find a common kind of the earlier rows and these."""
        known, found = self._kind, raw.kind
        if is_missing_in(raw).all():  # without values, the kind says nothing
            if known is None:
                self._empty_kind = found
            if known == "category":
                return CodedColumn(np.full(len(raw), -1, dtype=np.int32), ())
            return RawColumn(known or found, np.full(len(raw), np.nan))
        if known is None:
            self._kind = found
            if found == "category":  # so far there are only missing values
                self._restart(np.dtype(np.int32), np.full(n_before, -1, dtype=np.int32))
        elif {known, found} == {"integer", "number"}:
            self._kind = "number"
        else:
            raise ColumnTypeError(
                f"column {self.name!r} holds values of the kind {found} after row {n_before:,}, "
                f"but {known} before; convert the column to one type"
            )
        return raw

    def close(self) -> None:
        # If the disk is full, closing fails again, because it writes what is left.
        with suppress(OSError):
            self._file.close()

    def _restart(self, dtype: np.dtype[Any], values: NDArray[Any]) -> None:
        self.close()
        self._file, self._dtype = self._files.open(self._file_name), dtype
        self._file.write(values.data)

    def _change_type(self, dtype: np.dtype[Any], n_rows: int) -> None:
        """Convert the earlier rows."""
        if dtype == self._dtype:
            return
        old = _mapped(self._file, self._dtype, (n_rows,), "r")
        self._restart(dtype, np.empty(0, dtype=dtype))
        for rows in row_blocks(n_rows):
            self._file.write(old[rows].astype(dtype).data)

    def finish(self, n_rows: int) -> RawColumn:
        values = _mapped(self._file, self._dtype, (n_rows,), "r")
        if self._files.storage is not None:
            self._files.storage.finish(self._file_name)
        if self._kind == "category":
            return CodedColumn(values, tuple(self._codes))
        return RawColumn(self._kind or self._empty_kind, values)


def _advice(storage: Storage | None) -> str:
    where = "set TMPDIR to" if storage is None else "name as storage"
    return f"free some space, or {where} a folder with more"


@contextmanager
def explaining_full_disk(folder: str) -> Iterator[None]:
    """Turn the system's error for a full disk into a message for users."""
    try:
        yield
    except OSError as error:
        if isinstance(error, DiskSpaceError) or error.errno not in _FULL:
            raise
        raise DiskSpaceError(
            f"the disk of {folder} is full, which holds the temporary files of a large table; free "
            "some space, or use a folder with more: set TMPDIR, or name another storage"
        ) from error


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _mapped(
    file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], mode: Literal["r", "r+"]
) -> NDArray[Any]:
    """Map a file into memory and close it: the mapping keeps it until it is no longer used."""
    with file:
        if mode == "r+" or file.writable():
            file.flush()
        if not np.prod(shape):
            return np.empty(shape, dtype=dtype)
        return np.asarray(np.memmap(file, dtype=dtype, mode=mode, shape=shape))
