"""Write a table in chunks: CSV, TSV or Parquet by the name of the file; .gz packs it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, cast

from dln.cli.arrow import pa, parquet
from dln.cli.files import open_output

Write = Callable[[Mapping[str, Any]], None]
"""Writes rows, given column by column: lists, or columns of pyarrow."""


@contextmanager
def open_writer(path: str) -> Iterator[Write]:
    """Give a function that writes rows; the first call decides the columns."""
    with open_output(path) as stream:
        if path.endswith(".parquet"):
            yield from _parquet_writer(stream)
        else:
            plain = path.removesuffix(".gz")
            yield from _text_writer(stream, "\t" if plain.endswith((".tsv", ".tab")) else ",")


def _text_writer(stream: IO[bytes], separator: str) -> Iterator[Write]:
    # Half a surrogate pair, which a label may hold, must not end a long run.
    text = io.TextIOWrapper(
        cast("Any", stream), encoding="utf-8", errors="backslashreplace", newline=""
    )
    rows = csv.writer(text, delimiter=separator, lineterminator="\n")
    header_is_written = False

    def write(columns: Mapping[str, Any]) -> None:
        nonlocal header_is_written
        if not header_is_written:
            rows.writerow(columns)
            header_is_written = True
        rows.writerows(zip(*map(_cells, columns.values()), strict=True))

    try:
        yield write
        text.flush()
    finally:
        text.detach()  # the stream is not ours to close


def _cells(column: Any) -> list[Any]:
    cells: list[Any] = column if isinstance(column, list) else column.to_pylist()
    return cells


def _parquet_writer(stream: IO[bytes]) -> Iterator[Write]:
    latest, file = pa.table({}), None

    def write(columns: Mapping[str, Any]) -> None:
        nonlocal latest, file
        latest = pa.table(dict(columns), schema=None if file is None else file.schema)
        if len(latest):  # otherwise there is no cell to tell the types by
            file = file or parquet.ParquetWriter(stream, latest.schema)
            file.write_table(latest)

    try:
        yield write
        file = file or parquet.ParquetWriter(stream, latest.schema)  # a table without rows
    finally:
        if file is not None:
            file.close()
