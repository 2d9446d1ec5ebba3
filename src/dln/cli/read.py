"""Read table files: CSV, TSV and other text, Parquet, either in gzip, "-" for standard input.

A file becomes a `Source`: the names of its columns, and its rows in chunks. Only a few chunks are
in memory at a time, unless the whole table is requested.
"""

from __future__ import annotations

import codecs
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import list_names
from dln.cli.arrow import Frame, csv, pa, parquet
from dln.cli.blocks import BLOCK_BYTES, RowCutter
from dln.cli.files import STANDARD, input_name, open_input
from dln.cli.kinds import (
    Reading,
    is_number,
    quoted,
    quoted_if_unclear,
    read_cells,
    reading_for,
    used_features,
    without_words,
)
from dln.cli.layout import Header, Layout, check_names, find_header, not_decoded, utf8_pieces
from dln.cli.missing import DEFAULT_WORDS, MissingWords, remembered_words
from dln.cli.output import no_such_column
from dln.cli.read_ahead import read_ahead
from dln.core.circuit import Circuit
from dln.data.arrow import read_arrow
from dln.data.table import Table
from dln.errors import MissingColumnError, TableError

_PARQUET_MAGIC = b"PAR1"
_BATCH_ROWS = 1 << 16
_NO_READINGS: Mapping[str, Reading] = MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """An open table.

    Attributes
    ----------
    name
        Its name in messages.
    names
        The names of its columns.
    is_text
        Whether values come as text; otherwise they have the types of the file.
    chunks
        Returns the rows of the given columns. It can be called once. With the readings of some
        columns, it may convert these already: categories to dictionaries, and text to numbers.
    missing
        The words given by `--missing`; None if it was not used.
    notes
        Notes on the layout for the user.
    """

    name: str
    names: tuple[str, ...]
    is_text: bool
    chunks: Callable[..., Iterator[Frame]]
    missing: MissingWords | None = None
    notes: tuple[str, ...] = ()

    def ahead(self) -> Source:
        """Read the next chunk while one is used."""
        return replace(self, chunks=lambda *columns: read_ahead(self.chunks(*columns)))

    def check_column(self, name: str) -> None:
        """Raise an error if the table lacks a column."""
        if name not in self.names:
            raise MissingColumnError(f"{self.name}: {no_such_column(name, self.names)}")

    def read_all(self, names: Sequence[str]) -> Frame:
        """Read all rows of some columns."""
        chunks = list(self.chunks(names))
        if not sum(len(chunk) for chunk in chunks):
            raise TableError(f"{self.name} has a header but no rows")
        return pa.concat_tables(chunks)

    def words_to_train(self) -> MissingWords:
        """Return the words that are read as missing in training."""
        return self.missing or DEFAULT_WORDS

    def words_for(self, circuit: Circuit) -> MissingWords:
        """Return the words that are read as missing: given now, or used in training."""
        return self.missing or remembered_words(circuit.origin)


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a table.

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

    def take(self, rows: NDArray[np.bool_]) -> Part:
        """Select some rows."""
        if rows.all():
            return self
        chosen = pa.array(rows)
        frame = self.typed.filter(chosen)
        return Part(self.first_row, self.written.filter(chosen), frame, read_arrow(frame))


def typed(frame: Frame, readings: Mapping[str, Reading], *, first_row: int | None = None) -> Frame:
    """Convert columns of text by their readings, and convert categories to text.

    Other columns of Parquet files keep their types. Errors name the row of a value if `first_row`
    is given.
    """
    # All columns at once: `set_column` copies the list of columns every time.
    columns = dict(zip(frame.column_names, frame.columns, strict=True))
    for name, reading in readings.items():
        cells = columns[name]
        if pa.types.is_string(cells.type):
            columns[name] = read_cells(cells, reading, name, first_row=first_row)
        elif pa.types.is_dictionary(cells.type):
            columns[name] = without_words(cells, reading.missing)
        elif reading.kind == "category" and pa.types.is_primitive(cells.type):
            columns[name] = cells.cast(pa.string())
    return pa.table(columns) if readings else frame


def kinds_for(circuit: Circuit, source: Source) -> dict[str, Reading]:
    """Return how to read the columns that a circuit reads; raises if one is missing."""
    words = source.words_for(circuit)
    readings = {
        feature.name: reading_for(feature, words, is_text=source.is_text)
        for feature in used_features(circuit)
    }
    present = set(source.names)
    missing = [name for name in readings if name not in present]
    if missing:
        raise MissingColumnError(
            f"the model reads {list_names(map(repr, missing))}, but {source.name} has only "
            f"{list_names(map(quoted_if_unclear, source.names))}; "
            "rename the columns or train on this table"
        )
    return readings


def read_for(circuit: Circuit, source: Source, also: Sequence[str] = ()) -> Iterator[Part]:
    """Read the rows part by part, with the columns that the circuit reads.

    `written` also has the columns in `also`. Raises if a column is missing.
    """
    readings = kinds_for(circuit, source)
    for name in also:
        source.check_column(name)
    # A table without columns would have no rows either.
    wanted = list(dict.fromkeys((*readings, *also))) or list(source.names[:1])
    own = {name: reading for name, reading in readings.items() if name not in also}
    return _parts(source.chunks(wanted, own), readings)


def _parts(chunks: Iterator[Frame], readings: Mapping[str, Reading]) -> Iterator[Part]:
    first_row = 1
    for chunk in chunks:
        frame = typed(chunk, readings, first_row=first_row)
        yield Part(first_row, chunk, frame, read_arrow(frame))
        first_row += len(chunk)


@contextmanager
def open_table(path: str, layout: Layout) -> Iterator[Source]:
    """Open a table; its format is recognised by its content, not by its name."""
    with open_input(path) as (head, stream):
        name = input_name(path)
        try:
            if head.startswith(_PARQUET_MAGIC):
                # Parquet is read from its end, and gzip and standard input cannot seek.
                can_seek = path != STANDARD and _begins_with(path, _PARQUET_MAGIC)
                source = _open_parquet(path if can_seek else pa.BufferReader(stream.read()), name)
            else:
                source = _open_text(head, stream, layout, name)
            # A thread that waits for a pipe could not be interrupted.
            yield source.ahead() if os.path.isfile(path) else source
        except (EOFError, zlib.error) as error:
            raise TableError(f"{name} is not a whole gzip file: {error}") from error
        except pa.ArrowInvalid as error:
            raise TableError(f"{name} cannot be read: {error}") from error
        except OSError as error:
            if error.errno is not None:  # from the system, not from Arrow or gzip
                raise
            raise TableError(f"{name} cannot be read: {error}") from error


# -- text -------------------------------------------------------------------------------------


def _open_text(head: bytes, stream: IO[bytes], layout: Layout, name: str) -> Source:
    header = find_header(head, layout, name)
    pieces = utf8_pieces(iter(lambda: stream.read(BLOCK_BYTES), b""), layout, name)
    blocks = _blocks_of_values(pieces, header, layout, name)
    # An unclosed quote in the header is reported before any name is looked up.
    first = next(blocks, b"")

    def chunks(
        wanted: Sequence[str], readings: Mapping[str, Reading] = _NO_READINGS
    ) -> Iterator[Frame]:
        types = dict.fromkeys(wanted, pa.string())
        categories = [name for name, how in readings.items() if how.kind == "category"]
        types |= dict.fromkeys(categories, pa.dictionary(pa.int32(), pa.string()))
        numbers = {name: pa.float64() for name, how in readings.items() if how.is_plain_number}
        yield pa.schema(types).empty_table()
        n_rows = 0
        for block in chain([first], blocks):
            try:
                chunk = _read_block(block, header, layout, types | numbers)
            except pa.ArrowInvalid:
                with _explaining(name, layout, n_rows):  # only a single thread counts rows
                    chunk = _read_block(block, header, layout, types, use_threads=False)
                # The others have words for missing values, or wrong ones.
                numbers = {name: kind for name, kind in numbers.items() if is_number(chunk[name])}
            n_rows += len(chunk)
            yield chunk

    notes = () if not header.looks_like_values else (_NO_HEADER,)
    return Source(name, header.names, True, chunks, layout.missing, notes)


_NO_HEADER = "The names of all columns are numbers. If the first line is a row, add --no-header."


def _blocks_of_values(
    pieces: Iterable[bytes], header: Header, layout: Layout, name: str
) -> Iterator[bytes]:
    """Cut text into blocks of whole rows, without the header and the empty lines before it."""
    cutter = RowCutter(header.separator, layout.quote, name)
    blocks = cutter.blocks(pieces)
    if layout.has_header:
        for block in blocks:
            block = block.lstrip(b"\r\n")
            if block:
                yield block[cutter.end_of_first_row(block) :]
                break
    yield from blocks


def _read_block(
    block: bytes,
    header: Header,
    layout: Layout,
    types: Mapping[str, object],
    *,
    use_threads: bool = True,
) -> Frame:
    if block.startswith(codecs.BOM_UTF8):
        block = codecs.BOM_UTF8 + block  # Arrow drops one; here it is part of a value
    memory = pa.allocate_buffer(len(block))
    np.frombuffer(memory, dtype=np.uint8)[:] = np.frombuffer(block, dtype=np.uint8)
    if not len(block):
        return pa.schema(types).empty_table()
    return csv.read_csv(
        pa.BufferReader(memory),
        csv.ReadOptions(
            use_threads=use_threads, column_names=header.names, block_size=len(block) + 1
        ),
        csv.ParseOptions(
            delimiter=header.separator,
            quote_char=layout.quote,
            newlines_in_values=True,
            # In a table of one column an empty line is a row with a missing value.
            ignore_empty_lines=len(header.names) > 1,
        ),
        csv.ConvertOptions(
            include_columns=list(types),
            # As text: kinds are inferred from whole columns or taken from the circuit.
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


@contextmanager
def _explaining(name: str, layout: Layout, n_rows: int) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        raise _explained(error, name, layout, n_rows) from error


def _explained(error: Exception, name: str, layout: Layout, n_rows: int) -> TableError:
    """Translate an error of pyarrow into a message for users."""
    text = str(error)
    if "invalid UTF8" in text:
        return not_decoded(name, layout.encoding)
    if found := re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", text, re.S):
        number, expected, got, row = found.groups()
        where = f" (row {n_rows + int(number):,})" if number else ""
        return TableError(
            f"{name} has {expected} columns, but a row with {got}{where}: {quoted(row.strip())}; "
            "put values that contain the separator in quotes, or change --separator or --quote"
        )
    return TableError(f"{name} cannot be read: {text}")


# -- Parquet ----------------------------------------------------------------------------------


def _begins_with(path: str, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _open_parquet(place: Any, name: str) -> Source:
    """Open a path or an Arrow buffer."""
    file = _parquet_file(place)
    names = tuple(file.schema_arrow.names)
    check_names(names, name)

    def chunks(
        wanted: Sequence[str], readings: Mapping[str, Reading] = _NO_READINGS
    ) -> Iterator[Frame]:
        coded = [name for name, how in readings.items() if how.kind == "category"]
        rows = _parquet_file(place, read_dictionary=coded) if coded else file
        yield _plain(rows.schema_arrow.empty_table().select(list(wanted)), coded)
        for batch in rows.iter_batches(batch_size=_BATCH_ROWS, columns=list(wanted)):
            yield _plain(pa.Table.from_batches([batch]), coded)

    return Source(name, names, False, chunks)


def _parquet_file(place: Any, **options: Any) -> Any:
    # By default, pyarrow keeps every part of the file that it has read, until the end.
    return parquet.ParquetFile(place, pre_buffer=False, **options)


def _plain(frame: Frame, coded: Collection[str]) -> Frame:
    """Convert dictionaries and other types of text to text; drop the metadata of pandas.

    Dictionaries of text stay dictionaries in the columns `coded`.
    """
    columns = {}
    for field, cells in zip(frame.schema, frame.columns, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if kind != field.type and field.name in coded and pa.types.is_string(kind):
            kind = field.type
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            kind = pa.string()
        columns[field.name] = cells if kind == field.type else cells.cast(kind)
    return pa.table(columns)
