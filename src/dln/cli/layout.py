"""How a text table is written: its separator, quote character, encoding and header."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from dln._util.messages import list_names
from dln.cli.files import HEAD_BYTES
from dln.cli.missing import MissingWords
from dln.errors import OptionError, TableError

_SEPARATORS = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_SAMPLE_ROWS = 100
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Layout:
    """How a text table is written.

    Attributes
    ----------
    separator
        One character, or a word for it; None to detect it.
    quote
        The character around cells that contain separators or line breaks.
    has_header
        Whether the first line names the columns; otherwise they are x0, x1, and so on.
    missing
        The words that are read as missing; None for those that the model was trained with.
    """

    encoding: str = "utf-8"
    separator: str | None = None
    quote: str = '"'
    has_header: bool = True
    missing: MissingWords | None = None

    def __post_init__(self) -> None:
        if not _is_text_encoding(self.encoding):
            raise OptionError(
                f"there is no text encoding {self.encoding!r}; "
                "common ones are utf-8, latin-1, cp1252 and utf-16"
            )
        separator = self.separator
        if separator is not None and not _is_character(_WORDS.get(separator, separator)):
            raise OptionError(
                f"the separator is {separator!r}; expected one ASCII character, or tab"
            )
        if not _is_character(self.quote):
            raise OptionError(f"the quote is {self.quote!r}; expected one ASCII character")
        if separator is not None and _WORDS.get(separator, separator) == self.quote:
            raise OptionError(f"{self.quote!r} cannot be both the separator and the quote")


def _is_text_encoding(name: str) -> bool:
    try:
        codecs.getincrementaldecoder(name)
        "a".encode(name)  # refused by codecs between bytes and bytes, or text and text
    except (LookupError, UnicodeError, ValueError):
        return False
    return True


def _is_character(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n\0"


DETECT = Layout()
"""The layout without any options."""


@dataclass(frozen=True)
class Header:
    """The separator and the column names of a text table.

    `looks_like_values` is true if the first line, read as names, may be a row.
    """

    separator: str
    names: tuple[str, ...]
    looks_like_values: bool = False


def find_header(head: bytes, layout: Layout, name: str) -> Header:
    r"""Find the separator and the names of the columns; `head` is the beginning of the table.

    >>> find_header(b"age;city\n5,5;Bern\n", DETECT, "table.csv")
    Header(separator=';', names=('age', 'city'), looks_like_values=False)
    >>> find_header(b"1,2\n3,4\n", Layout(has_header=False), "table.csv").names
    ('x0', 'x1')
    """
    text = _decode(head, layout, name).lstrip("\r\n")
    if not text.strip():
        expected = "a header line and rows" if layout.has_header else "rows"
        raise TableError(f"{name} is empty; expected {expected}")
    given = layout.separator or _detect_separator(text, layout.quote)
    separator = _WORDS.get(given, given)
    try:
        first = next(_rows(text, separator, layout.quote))
    except csv.Error as error:
        raise TableError(f"{name} has no header line that can be read: {error}") from error
    if not layout.has_header:
        return Header(separator, tuple(f"x{place}" for place in range(len(first))))
    check_names(first, name)
    return Header(separator, tuple(first), all(map(_is_number, first)))


def check_names(names: Iterable[str], name: str) -> None:
    """Refuse a table with two columns of one name."""
    twice = sorted(column for column, count in Counter(names).items() if count > 1)
    if twice:
        is_row = any(map(_is_number, twice))
        raise TableError(
            f"{name} has more than one column named {list_names(map(repr, twice))}; "
            f"rename them{', or add --no-header if the first line is a row' if is_row else ''}"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decode(head: bytes, layout: Layout, name: str) -> str:
    encoding = layout.encoding
    if codecs.lookup(encoding).name == "utf-8":
        if head.startswith(_UTF_16_MARKS):
            raise TableError(f"{name} is written in UTF-16; add --encoding utf-16")
        encoding = "utf-8-sig"
    if b"\x00" in head and "16" not in encoding and "32" not in encoding:
        raise TableError(f"{name} is not text; expected CSV, TSV or Parquet, also packed with gzip")
    try:
        # The sample may end within a character, which is not an error in the file.
        return codecs.getincrementaldecoder(encoding)().decode(head, len(head) < HEAD_BYTES)
    except UnicodeError as error:
        raise not_decoded(name, layout.encoding, error) from error


def not_decoded(name: str, encoding: str, error: Exception | None = None) -> TableError:
    """Return the error for a table in another encoding."""
    where = (
        f" (byte 0x{error.object[error.start]:02x} at {error.start})"
        if isinstance(error, UnicodeDecodeError)
        else ""
    )
    return TableError(
        f"{name} is not written in {encoding}{where}; "
        "name its encoding, for example --encoding latin-1"
    )


def utf8_pieces(pieces: Iterable[bytes], layout: Layout, name: str) -> Iterator[bytes]:
    """Convert text that comes in pieces to UTF-8, without a byte order mark."""
    if codecs.lookup(layout.encoding).name == "utf-8":
        yield from _without_mark(pieces)
        return
    decoder = codecs.getincrementaldecoder(layout.encoding)()
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode("utf-8", "surrogatepass")
        yield decoder.decode(b"", True).encode("utf-8", "surrogatepass")
    except UnicodeError as error:
        raise not_decoded(name, layout.encoding) from error


def _without_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    pieces = iter(pieces)
    yield next(pieces, b"").removeprefix(codecs.BOM_UTF8)
    yield from pieces


def _detect_separator(text: str, quote: str) -> str:
    """Choose the separator that cuts all rows into the same number of cells, and into the most.

    If there is none, choose the one that cuts the first row into the most cells.
    """

    def score(separator: str) -> tuple[int, int]:
        try:
            rows = list(islice(_rows(text, separator, quote), _SAMPLE_ROWS))
        except csv.Error:
            return (0, 0)
        # The last row of the sample may be cut.
        widths = {len(row) for row in (rows[:-1] if len(rows) > 1 else rows) if row}
        first = len(rows[0]) if rows else 0
        return (first if len(widths) == 1 else 0, first)

    candidates = [separator for separator in _SEPARATORS if separator != quote]
    scores = {separator: score(separator) for separator in candidates}
    best = max(scores, key=scores.__getitem__)
    # A header is never read as one cell if it can be cut. Rows of different lengths then get
    # a clear message.
    if scores[best][0] == 1:
        return max(scores, key=lambda separator: scores[separator][1])
    return best


def _rows(text: str, separator: str, quote: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote)
