"""Write a table in chunks, in the format given by the file name; .gz compresses text."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from dln._util.extras import import_extra
from dln.cli.arrow import Frame, pa, parquet, pc
from dln.cli.files import STANDARD, open_output
from dln.cli.output import escape_controls
from dln.errors import OptionError, TableError


@dataclass(frozen=True)
class CodedValues:
    """A column of any Python values: the distinct ones, and the number of each row's value."""

    distinct: list[Any]
    codes: NDArray[np.integer[Any]]

    def to_pylist(self) -> list[Any]:
        """Return the value of each row."""
        return [self.distinct[code] for code in self.codes.tolist()]

    def to_arrow(self) -> Any:
        """Return a pyarrow array, of text as a dictionary; all values must be of one type."""
        distinct = pa.array(self.distinct)
        if not pa.types.is_string(distinct.type):
            return distinct.take(pa.array(self.codes))
        return pa.DictionaryArray.from_arrays(pa.array(self.codes, pa.int32()), distinct)


Write = Callable[[Mapping[str, Any]], None]
"""Writes rows, given as columns: lists, `CodedValues` or pyarrow columns."""

_Writer = Callable[[IO[bytes]], Iterator[Write]]

_SURROGATES = "backslashreplace"
"""A label may hold an unpaired surrogate, which UTF-8 cannot encode."""
_EXCEL_ROWS = 1 << 20
_EXCEL_EXACT = 10**15
"""Excel keeps 15 digits of a number; longer integers are written as text."""


def check_format(path: str) -> None:
    """Refuse a file name without a supported format; called before the work."""
    if _writer_for(path) is _excel_writer:
        _openpyxl()


def one_type(path: str, values: list[Any]) -> list[Any]:
    """Return values of one type: as text if Parquet has no type for all of them.

    >>> one_type("p.parquet", [1, "a"]), one_type("p.jsonl", [1, "a"])
    (['1', 'a'], [1, 'a'])
    """
    if _writer_for(path) is not _parquet_writer:
        return values
    try:
        is_exact = pa.array(values).to_pylist() == values
    except (pa.ArrowException, OverflowError, UnicodeError):
        is_exact = False
    return values if is_exact else [_unicode(str(value)) for value in values]


def _unicode(text: str) -> str:
    """Write an unpaired surrogate, which a label may hold, as an escape."""
    return text.encode("utf-8", _SURROGATES).decode()


@contextmanager
def open_writer(path: str) -> Iterator[Write]:
    """Return a function that writes rows; the first call decides the columns."""
    writer = _writer_for(path)
    with open_output(path) as stream:
        yield from writer(stream)


def _writer_for(path: str) -> _Writer:
    name = os.path.basename(path).lower()
    ending = os.path.splitext(name.removesuffix(".gz"))[1]
    if path == STANDARD or not ending or (os.path.exists(path) and not os.path.isfile(path)):
        return _csv_writer  # standard output, a pipe, or a name without an ending
    found = (_TEXT_WRITERS if name.endswith(".gz") else _WRITERS).get(ending)
    if found is None:
        hint = "; for JSON Lines, name it .jsonl" if ending == ".json" else ""
        raise OptionError(
            f"the output {path} ends in {name[name.index(ending) :]!r}; supported are "
            f"{', '.join(_WRITERS)}, and {', '.join(f'{text}.gz' for text in _TEXT_WRITERS)}{hint}"
        )
    return found


def _rows(columns: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*map(_values, columns.values()), strict=True)


def _values(column: Any) -> list[Any]:
    values: list[Any] = column if isinstance(column, list) else column.to_pylist()
    return values


# -- text -------------------------------------------------------------------------------------


def _csv_writer(stream: IO[bytes], separator: str = ",") -> Iterator[Write]:
    header_is_written = False

    def write(columns: Mapping[str, Any]) -> None:
        nonlocal header_is_written
        if not header_is_written:
            stream.writelines(_csv_lines([columns], separator))
            header_is_written = True
        coded = [_coded(column) for column in columns.values()]
        if len(coded[0].codes):
            stream.write(_csv_text(coded, separator))

    yield write


def _csv_text(columns: list[CodedValues], separator: str) -> Any:
    """Return the rows as one pyarrow buffer; every distinct value is formatted once."""
    cells = []
    for place, column in enumerate(columns, start=1):
        if len(columns) == 1:  # the only value of a line is quoted if it is empty
            texts = _csv_lines(zip(column.distinct), separator)
        else:
            end = b"\n" if place == len(columns) else separator.encode()
            lines = _csv_lines(((value, None) for value in column.distinct), separator)
            texts = [line[: -len(separator) - 1] + end for line in lines]
        cells.append(pa.array(texts, pa.large_binary()).take(pa.array(column.codes)))
    nothing = pa.scalar(b"", pa.large_binary())  # between the cells
    rows = cells[0] if len(cells) == 1 else pc.binary_join_element_wise(*cells, nothing)
    _, offsets, text = rows.buffers()
    first, last = np.frombuffer(offsets, dtype=np.int64)[[rows.offset, rows.offset + len(rows)]]
    return text[first:last]


def _csv_lines(rows: Iterable[Iterable[Any]], separator: str) -> list[bytes]:
    lines: list[str] = []
    file: Any = SimpleNamespace(write=lines.append)
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)
    return [line.encode("utf-8", _SURROGATES) for line in lines]


def _coded(column: Any) -> CodedValues:
    """Find the distinct values of a column, if pyarrow can; otherwise each row is one."""
    if isinstance(column, CodedValues):
        return column
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    try:
        packed = column.dictionary_encode(null_encoding="encode")
    except (AttributeError, pa.ArrowNotImplementedError):  # a list, or nested values
        values = _values(column)
        return CodedValues(values, np.arange(len(values)))
    return CodedValues(packed.dictionary.to_pylist(), packed.indices.to_numpy())


def _json_lines_writer(stream: IO[bytes]) -> Iterator[Write]:
    with _text(stream) as text:

        def write(columns: Mapping[str, Any]) -> None:
            for row in _rows(columns):
                named = {name: _finite(cell) for name, cell in zip(columns, row, strict=True)}
                text.write(json.dumps(named, ensure_ascii=False, default=str) + "\n")

        yield write


def _finite(cell: Any) -> Any:
    """Replace numbers that JSON lacks: NaN by null, infinity by text."""
    if not isinstance(cell, float) or math.isfinite(cell):
        return cell
    return None if math.isnan(cell) else str(cell)


@contextmanager
def _text(stream: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(cast("Any", stream), encoding="utf-8", errors=_SURROGATES, newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()  # the caller closes the stream


# -- Parquet ----------------------------------------------------------------------------------


def _parquet_writer(stream: IO[bytes]) -> Iterator[Write]:
    latest, file = pa.table({}), None

    def write(columns: Mapping[str, Any]) -> None:
        nonlocal latest, file
        named = {
            _unicode(name): column.to_arrow() if isinstance(column, CodedValues) else column
            for name, column in columns.items()
        }
        latest = pa.table(named, schema=None if file is None else file.schema)
        if len(latest):  # the types of a table without rows are not known
            if file is None:
                file, latest = _open_parquet(stream, latest)
            file.write_table(latest)

    try:
        yield write
        if file is None:  # a table without rows
            file, _ = _open_parquet(stream, latest)
    finally:
        if file is not None:
            file.close()


def _open_parquet(stream: IO[bytes], first: Frame) -> tuple[Any, Frame]:
    """Open a file for tables like the first, which is returned with the file's schema.

    Dictionaries are written as they are, which is faster, but readers get the texts as text.
    """
    plain = pa.schema(
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in first.schema
    )
    # pyarrow restores the types of a table from this entry.
    own = {"ARROW:schema": base64.b64encode(plain.serialize())}
    first = first.replace_schema_metadata({**(first.schema.metadata or {}), **own})
    return parquet.ParquetWriter(stream, first.schema, store_schema=False), first


# -- Excel ------------------------------------------------------------------------------------


def _openpyxl() -> Any:
    return import_extra("openpyxl", "writing .xlsx")


def _excel_writer(stream: IO[bytes]) -> Iterator[Write]:
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)  # rows go to a temporary file, not to memory
    sheet = book.create_sheet("predictions")
    n_rows = 0

    def append(row: Any) -> None:
        nonlocal n_rows
        n_rows += 1
        if n_rows > _EXCEL_ROWS:
            raise TableError(
                f"an Excel sheet holds {_EXCEL_ROWS:,} rows, and there are more; "
                "write .csv or .parquet"
            )
        sheet.append([_excel_cell(openpyxl, sheet, value) for value in row])

    def write(columns: Mapping[str, Any]) -> None:
        if not n_rows:
            append(columns)
        for row in _rows(columns):
            append(row)

    try:
        yield write
        book.save(stream)
    finally:
        if not sheet.closed:
            sheet.close()


def _excel_cell(openpyxl: Any, sheet: Any, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, int) and abs(value) >= _EXCEL_EXACT:
        return str(value)
    if not isinstance(value, str):
        return value
    cell = openpyxl.cell.WriteOnlyCell(sheet, value=escape_controls(value))
    cell.data_type = "s"  # text that begins with = is not a formula
    return cell


_TEXT_WRITERS: dict[str, _Writer] = {
    ".csv": _csv_writer,
    ".tsv": partial(_csv_writer, separator="\t"),
    ".tab": partial(_csv_writer, separator="\t"),
    ".jsonl": _json_lines_writer,
    ".ndjson": _json_lines_writer,
}
_WRITERS: dict[str, _Writer] = {
    **_TEXT_WRITERS,
    ".parquet": _parquet_writer,
    ".xlsx": _excel_writer,
}
