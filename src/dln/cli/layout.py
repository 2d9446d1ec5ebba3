"""Find out how a text table is laid out: its separator, its encoding and its header."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from dln.cli.files import HEAD_BYTES
from dln.errors import OptionError, TableError

_SEPARATORS = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_SAMPLE_ROWS = 100
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Layout:
    """How a text table is written; a separator of None is to be found out."""

    encoding: str = "utf-8"
    separator: str | None = None

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise OptionError(
                f"there is no encoding {self.encoding!r}; common ones are utf-8, latin-1, utf-16"
            ) from None
        wish = self.separator
        if wish is not None and len(_WORDS.get(wish, wish)) != 1:
            raise OptionError(f"the separator is {wish!r}, expected one character, or tab")


@dataclass(frozen=True)
class Header:
    """What the beginning of a text table tells.

    `n_blank` counts the empty lines before the header; `is_all` says that nothing comes after it.
    """

    n_blank: int
    separator: str
    names: tuple[str, ...]
    is_all: bool


def find_header(head: bytes, layout: Layout, name: str) -> Header:
    r"""Find the separator and the names of the columns; `head` is the beginning of the table.

    >>> find_header(b"age;city\n5,5;Bern\n", Layout(), "table.csv")
    Header(n_blank=0, separator=';', names=('age', 'city'), is_all=False)
    """
    decoded = _decode(head, layout, name)
    text = decoded.lstrip("\r\n")
    n_blank = decoded[: len(decoded) - len(text)].count("\n")
    if not text.strip():
        raise TableError(f"{name} is empty; expected a header line and rows")
    wish = layout.separator
    separator = _guess_separator(text) if wish is None else _WORDS.get(wish, wish)
    try:
        rows = _rows(text, separator)
        names = next(rows)
        is_all = len(head) < HEAD_BYTES and not any(rows)
    except csv.Error as error:
        raise TableError(f"{name} has no header line that can be read: {error}") from error
    twice = sorted({column for column in names if names.count(column) > 1})
    if twice:
        raise TableError(
            f"{name} has more than one column named {', '.join(map(repr, twice))}; rename them"
        )
    return Header(n_blank, separator, tuple(names), is_all)


def _decode(head: bytes, layout: Layout, name: str) -> str:
    encoding = layout.encoding
    if codecs.lookup(encoding).name == "utf-8":
        if head.startswith(_UTF_16_MARKS):
            raise TableError(f"{name} is written in UTF-16; say --encoding utf-16")
        encoding = "utf-8-sig"
    if b"\x00" in head and "16" not in encoding and "32" not in encoding:
        raise TableError(f"{name} is no text; expected CSV, TSV, Parquet or one of these in gzip")
    try:
        # The sample may end within a letter; that is no mistake of the file.
        return codecs.getincrementaldecoder(encoding)().decode(head, len(head) < HEAD_BYTES)
    except UnicodeDecodeError as error:
        raise not_decoded(name, layout.encoding, error) from error


def not_decoded(name: str, encoding: str, error: Exception | None = None) -> TableError:
    """Say that a table is written in another encoding."""
    where = (
        f" (byte 0x{error.object[error.start]:02x} at {error.start})"
        if isinstance(error, UnicodeDecodeError)
        else ""
    )
    return TableError(
        f"{name} is not written in {encoding}{where}; say which encoding it has, "
        "such as --encoding latin-1"
    )


def _guess_separator(text: str) -> str:
    """Choose what cuts all rows alike, into the most cells; then what cuts the header most."""

    def score(separator: str) -> tuple[int, int]:
        try:
            rows = list(islice(_rows(text, separator), _SAMPLE_ROWS))
        except csv.Error:
            return (0, 0)
        # The last row of the sample may be cut.
        widths = {len(row) for row in (rows[:-1] if len(rows) > 1 else rows) if row}
        first = len(rows[0]) if rows else 0
        return (first if len(widths) == 1 else 0, first)

    scores = {separator: score(separator) for separator in _SEPARATORS}
    best = max(scores, key=scores.__getitem__)
    # A header is never cut into one cell if it can be cut: ragged rows deserve their own message.
    if scores[best][0] == 1:
        return max(scores, key=lambda separator: scores[separator][1])
    return best


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)
