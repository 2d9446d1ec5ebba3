"""Batches of rows -> a table whose columns are in temporary files, mapped into memory.

Promise: the columns have the kinds and values that the same rows have as one table in memory. The
files have no names, so the system frees them when they are no longer used, even if the process is
killed. `TMPDIR` names the folder.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dln._util.blocks import row_blocks
from dln._util.messages import list_names
from dln.core.literals import Category, ColumnKind
from dln.data.coded import CodedColumn, coded, is_missing_in
from dln.data.table import RawColumn, Table
from dln.errors import ColumnTypeError, DiskSpaceError, TableError

SMALL = 1 << 26
"""Arrays of fewer bytes stay in memory."""


class ColumnStore:
    """Collects batches of the same columns, inside a `with` block. `table` ends the collection."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._names: tuple[str, ...] | None = None
        self._columns: list[_Column] = []

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
            self._columns = [_Column(name) for name in names]
        elif set(names) != set(self._names):
            raise TableError(
                f"the batch after row {self.n_rows:,} has the columns {list_names(names)}; "
                f"expected {list_names(self._names)}, as before"
            )
        place = {name: index for index, name in enumerate(names)}
        with explaining_full_disk():
            for column in self._columns:
                column.append(batch.read(place[column.name]), self.n_rows)
        self.n_rows += batch.n_rows

    def table(self) -> Table:
        """Return the collected rows."""
        assert self._names is not None
        with explaining_full_disk():
            columns = [column.finish(self.n_rows) for column in self._columns]
        return Table(
            self.n_rows, len(columns), self._names, columns.__getitem__, new_array=new_array
        )


class _Column:
    """One column that grows: numbers in the type that holds all of them, or category codes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._file: IO[bytes] = _temporary_file()
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
        self._file.close()

    def _restart(self, dtype: np.dtype[Any], values: NDArray[Any]) -> None:
        self.close()
        self._file, self._dtype = _temporary_file(), dtype
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
        if self._kind == "category":
            return CodedColumn(values, tuple(self._codes))
        return RawColumn(self._kind or self._empty_kind, values)


def new_array(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Make an array to be written: in a temporary file, or in memory if it is small."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size < SMALL:
        return np.empty(shape, dtype)
    file = _temporary_file()
    with explaining_full_disk(), file:
        # A mapped file without its space on the disk would end the process when it is written.
        if size and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return _mapped(file, np.dtype(dtype), shape, "r+")


def check_disk_space(n_bytes: int) -> None:
    """Raise `DiskSpaceError` if the folder of temporary files has less space."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise DiskSpaceError(
            f"the table needs about {n_bytes / 1e9:.1f} GB of temporary files, but {folder} has "
            f"{free / 1e9:.1f} GB free; {_ADVICE}"
        )


_ADVICE = "free some space, or set TMPDIR to a folder with more"


@contextmanager
def explaining_full_disk() -> Iterator[None]:
    """Turn the system's error for a full disk into a message for users."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise DiskSpaceError(
            f"the disk of {tempfile.gettempdir()} is full, which holds the temporary files of a "
            f"large table; {_ADVICE}"
        ) from error


def _temporary_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="dln-")


def _mapped(
    file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], mode: Literal["r", "r+"]
) -> NDArray[Any]:
    """Map a file into memory and close it: the mapping keeps it until it is no longer used."""
    with file:
        file.flush()
        if not np.prod(shape):
            return np.empty(shape, dtype=dtype)
        return np.asarray(np.memmap(file, dtype=dtype, mode=mode, shape=shape))
