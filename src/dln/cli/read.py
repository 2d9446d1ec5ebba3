"""Read table files: CSV, TSV and other text, Parquet, either in gzip, "-" for standard input.

A file becomes a `Source`: the names of its columns, and its rows in chunks. Promise: at most a few
chunks are in memory at a time, unless the whole table is asked for.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import IO, Any

import numpy as np

from dln.circuit import Circuit
from dln.cli.arrow import Frame, csv, pa, parquet
from dln.cli.files import STANDARD, open_input, shown
from dln.cli.kinds import quoted, read_cells, reading_kind, used_features
from dln.cli.layout import Layout, find_header, not_decoded
from dln.cli.lend import Loan
from dln.cli.quotes import WatchedQuotes
from dln.cli.talk import unknown
from dln.errors import MissingColumnError, TableError
from dln.literals import ColumnKind
from dln.table import RawColumn, Table, read_table
from dln.wording import some

_PARQUET_MAGIC = b"PAR1"
_BLOCK_BYTES = 1 << 20
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Source:
    """An open table.

    Attributes
    ----------
    name
        What messages call it.
    names
        Its columns.
    is_text
        Whether cells come as text; otherwise they have the types of the file.
    chunks
        Gives the rows, with the columns asked for only. It can be called once.
    """

    name: str
    names: tuple[str, ...]
    is_text: bool
    chunks: Callable[[Sequence[str]], Iterator[Frame]]

    def check_column(self, name: str) -> None:
        """Refuse a column that the table has not."""
        if name not in self.names:
            raise MissingColumnError(f"{self.name}: {unknown(name, self.names)}")

    def whole(self, names: Sequence[str]) -> Frame:
        """Read all rows of some columns."""
        chunks = list(self.chunks(names))
        if not sum(len(chunk) for chunk in chunks):
            raise TableError(f"{self.name} has a header but no rows")
        return pa.concat_tables(chunks)


@dataclass(frozen=True)
class Part:
    """Some rows of a table, one after another.

    Attributes
    ----------
    first_row
        The number of the first of them, counted from 1.
    written
        The rows as the file has them.
    typed
        The rows with the kinds that the circuit knows.
    table
        The same, to predict from.
    """

    first_row: int
    written: Frame
    typed: Frame
    table: Table


def typed(frame: Frame, kinds: Mapping[str, ColumnKind], *, first_row: int | None = None) -> Frame:
    """Read the columns of text as the kinds that they are known to have, and make categories text.

    All else comes from Parquet, which knows its types. Errors name the row of a cell where the
    number of the first one is given.
    """
    for name, kind in kinds.items():
        place = frame.schema.get_field_index(name)
        cells = frame.column(place)
        if pa.types.is_string(cells.type):
            cells = read_cells(cells, kind, name, first_row=first_row)
            frame = frame.set_column(place, name, cells)
        elif kind == "category" and pa.types.is_primitive(cells.type):
            frame = frame.set_column(place, name, cells.cast(pa.string()))
    return frame


def kinds_for(circuit: Circuit, source: Source) -> dict[str, ColumnKind]:
    """Say how to read the columns that a circuit reads; raises where one is missing."""
    kinds = {feature.name: reading_kind(feature) for feature in used_features(circuit)}
    missing = [name for name in kinds if name not in source.names]
    if missing:
        raise MissingColumnError(
            f"the model reads {some([repr(name) for name in missing])}, but {source.name} has only "
            f"{some(source.names)}; rename the columns or train on this table"
        )
    return kinds


def read_for(circuit: Circuit, source: Source, also: Sequence[str] = ()) -> Iterator[Part]:
    """Give the rows part by part, with the columns that the circuit reads.

    Columns in `also` are among those as written. Raises where a column is missing.
    """
    kinds = kinds_for(circuit, source)
    for name in also:
        source.check_column(name)
    # A table without columns would have no rows either.
    wanted = list(dict.fromkeys((*kinds, *also))) or list(source.names[:1])
    return _parts(source.chunks(wanted), kinds)


def _parts(chunks: Iterator[Frame], kinds: Mapping[str, ColumnKind]) -> Iterator[Part]:
    first_row = 1
    for chunk in chunks:
        frame = typed(chunk, kinds, first_row=first_row)
        yield Part(first_row, chunk, frame, _table(frame))
        first_row += len(chunk)


def _table(frame: Frame) -> Table:
    """Read a frame as `dln.table` does, but text by its few different values, which is faster."""
    table = read_table(frame)

    @cache
    def read(index: int) -> RawColumn:
        cells = frame.column(index)
        if not pa.types.is_string(cells.type) or cells.null_count == len(cells):
            return table.read(index)
        packed = cells.combine_chunks().dictionary_encode()
        values = np.array([*packed.dictionary.to_pylist(), None], dtype=object)
        places = packed.indices.fill_null(len(values) - 1).to_numpy()
        return RawColumn("category", values[places])

    return replace(table, read=read)


@contextmanager
def open_table(path: str, layout: Layout) -> Iterator[Source]:
    """Open a table; its format is known by its content, not by its name."""
    with open_input(path) as (head, stream), Loan() as loan:
        name = shown(path)
        try:
            if head.startswith(_PARQUET_MAGIC):
                # Parquet is read from its end, which standard input and gzip cannot jump to.
                jumps = path != STANDARD and _begins_with(path, _PARQUET_MAGIC)
                yield _open_parquet(path if jumps else pa.BufferReader(stream.read()), name)
            else:
                yield _open_text(head, stream, loan, layout, name)
        except (EOFError, zlib.error) as error:
            raise TableError(f"{name} is not a whole gzip file: {error}") from error
        except pa.ArrowInvalid as error:
            raise _explained(error, name, layout) from error
        except UnicodeDecodeError as error:
            raise not_decoded(name, layout.encoding, error) from error


# -- text -------------------------------------------------------------------------------------


def _open_text(head: bytes, stream: IO[bytes], loan: Loan, layout: Layout, name: str) -> Source:
    header = find_header(head, layout, name)
    if codecs.lookup(layout.encoding).name != "utf-8":
        stream = pa.transcoding_input_stream(pa.PythonFile(stream), layout.encoding, "utf-8")
    watched = WatchedQuotes(stream, header.separator, name)
    if header.is_all:  # perhaps of a quote in the header
        watched.read_rest()

    def chunks(wanted: Sequence[str]) -> Iterator[Frame]:
        types = dict.fromkeys(wanted, pa.string())
        yield pa.schema(types).empty_table()
        if header.is_all:
            return
        with _blaming_quotes(watched):
            batches = loan.read_csv(
                watched,
                csv.ReadOptions(
                    skip_rows=header.n_blank,
                    column_names=header.names,
                    skip_rows_after_names=1,
                    block_size=_BLOCK_BYTES,
                ),
                csv.ParseOptions(delimiter=header.separator, newlines_in_values=True),
                csv.ConvertOptions(
                    include_columns=wanted,
                    # As text: whole columns or the circuit decide on kinds, not pyarrow.
                    column_types=types,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            for batch in batches:
                yield pa.Table.from_batches([batch])

    return Source(name, header.names, True, chunks)


@contextmanager
def _blaming_quotes(watched: WatchedQuotes) -> Iterator[None]:
    """Prefer to blame a quote that is never closed over the strange row that it makes."""
    try:
        yield
    except pa.ArrowInvalid:
        watched.read_rest()
        raise


def _explained(error: Exception, name: str, layout: Layout) -> TableError:
    """Put what pyarrow says in the user's words."""
    text = str(error)
    if "invalid UTF8" in text:
        return not_decoded(name, layout.encoding)
    if found := re.search(r"Expected (\d+) columns, got (\d+): (.*)", text, re.DOTALL):
        expected, got, row = found.groups()
        return TableError(
            f"{name} has {expected} columns, but a row of {got}: {quoted(row.strip())}; "
            "put cells that hold the separator in double quotes, or say --separator"
        )
    if "straddl" in text:
        return TableError(
            f"{name} has a row of more than {_BLOCK_BYTES >> 20} MB; "
            "look for a double quote that is closed much too late"
        )
    return TableError(f"{name} cannot be read: {text}")


# -- Parquet ----------------------------------------------------------------------------------


def _begins_with(path: str, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _open_parquet(place: Any, name: str) -> Source:
    """Open a path or an Arrow buffer."""
    file = parquet.ParquetFile(place)
    names = tuple(file.schema_arrow.names)
    twice = sorted({column for column in names if names.count(column) > 1})
    if twice:
        raise TableError(f"{name} has more than one column named {', '.join(map(repr, twice))}")

    def chunks(wanted: Sequence[str]) -> Iterator[Frame]:
        yield _plain(file.schema_arrow.empty_table().select(list(wanted)))
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(wanted)):
            yield _plain(pa.Table.from_batches([batch]))

    return Source(name, names, False, chunks)


def _plain(frame: Frame) -> Frame:
    """Unpack dictionaries and long text to text; drop what pandas wrote beside the table."""
    for place, field in enumerate(frame.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            kind = pa.string()
        if kind != field.type:
            frame = frame.set_column(place, field.name, frame.column(place).cast(kind))
    return frame.replace_schema_metadata(None)
