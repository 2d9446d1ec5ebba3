"""A stream of UTF-8 text -> blocks of whole rows; an unclosed quote is refused.

Arrow gets each block as a separate buffer and never calls back into Python. So no Arrow thread can
wait for Python's interpreter lock while the process exits.

Only a quote at the beginning of a cell opens a quoted cell, as in Arrow: 5'10" is text. At most
a block and one row are in memory at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from dln.errors import TableError

BLOCK_BYTES = 1 << 21
MAX_ROW_BYTES = 16 << 20


class RowCutter:
    """Finds where rows end, in text with a given separator and quote character."""

    def __init__(self, separator: str, quote: str, name: str) -> None:
        self._name = name
        self._quote = quote.encode()
        self._before_quote = np.zeros(256, dtype=bool)  # the bytes that may precede one
        self._before_quote[list(f"{separator}{quote}\r\n".encode())] = True
        q = re.escape(self._quote)
        inner = rb"(?!\A)(?<![%b\r\n])%b" % (re.escape(separator.encode()), q)
        closed = rb"%b[^%b]*+(?:%b%b[^%b]*+)*+%b" % (q, q, q, q, q, q)
        cells = rb"(?:[^%b\r\n]++|%b|%b)*+" % (q, inner, closed)
        self._row = re.compile(cells + rb"(?:\r\n|\n|\r)")
        self._rows = re.compile(rb"(?:%b(?:\r\n|\n|\r(?!\Z)))*+" % cells)
        self._cells = re.compile(rb"(?:[^%b]++|%b|%b)*+" % (q, inner, closed))

    def end_of_first_row(self, text: bytes) -> int:
        """Return where the first row of a block ends."""
        found = self._row.match(text)
        assert found is not None  # a block has at least one whole row
        return found.end()

    def blocks(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Cut a text that comes in pieces; every block ends at the end of a row."""
        rest, n_lines = b"", 0
        for piece in pieces:
            text = rest + piece
            end = self._end_of_rows(text)
            if end:
                block = text[:end]
                yield block
                n_lines += _count_lines(block)
            rest = text[end:]
            if len(rest) > MAX_ROW_BYTES:
                raise TableError(
                    f"{self._name} has a row of more than {MAX_ROW_BYTES >> 20} MB, "
                    f"which begins in line {n_lines + 1}; look for a quote that is not closed"
                )
        if rest:
            last = rest + b"\n"
            if self._end_of_rows(last) < len(last):
                raise TableError(
                    f"{self._name} ends within a quoted cell that begins in line "
                    f"{n_lines + self._open_line(rest)}; close that quote, or change --quote"
                )
            yield last

    def _end_of_rows(self, text: bytes) -> int:
        # The last \r may be half of \r\n.
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, len(text) - 1)) + 1
        if not end or self._all_closed(text, end) or self._cells_end(text, end) == end:
            return end
        found = self._rows.match(text)  # slower, for a last line that ends in a quoted cell
        assert found is not None  # it can match the empty string
        return found.end()

    def _all_closed(self, text: bytes, end: int) -> bool:
        """Return whether quotes clearly come in pairs around cells; if not, look closer.

        It is enough that every second quote begins a cell or follows its twin. A search for
        patterns takes longer than Arrow needs to read the cells.
        """
        codes = np.frombuffer(text, dtype=np.uint8, count=end)
        opening = np.flatnonzero(codes == self._quote[0])
        if len(opening) % 2:
            return False
        opening = opening[::2]
        first = int(len(opening) > 0 and opening[0] == 0)  # nothing precedes it
        return bool(self._before_quote[codes[opening[first:] - 1]].all())

    def _cells_end(self, text: bytes, end: int) -> int:
        """Return where the first unclosed cell begins; the end if all are closed."""
        found = self._cells.match(text, 0, end)
        assert found is not None  # it can match the empty string
        return found.end()

    def _open_line(self, text: bytes) -> int:
        """Return the line of the quote that is not closed, counted from 1."""
        return _count_lines(text[: self._cells_end(text, len(text))]) + 1


def _count_lines(text: bytes) -> int:
    codes = np.frombuffer(text, dtype=np.uint8)  # several times as fast as counting in bytes
    return int(np.count_nonzero(codes == ord("\n")) or np.count_nonzero(codes == ord("\r")))
