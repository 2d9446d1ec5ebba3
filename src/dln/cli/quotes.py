"""Text of a table -> the same text, refused where it ends within a cell in double quotes.

A quote that is never closed makes one cell of all that follows, which pyarrow accepts. Promise:
only a block is in memory at a time, and a block without quotes costs next to nothing.
"""

from __future__ import annotations

import io
import re
from threading import Lock
from typing import IO

from dln.errors import TableError

_CELL_REST = rb'[^"]*+(?:""[^"]*+)*+"'
"""What follows the quote that opens a cell, up to the one that closes it."""
_MARK = rb"\xef\xbb\xbf"


class WatchedQuotes(io.RawIOBase):
    """A stream of UTF-8 that passes on what it reads, and raises `TableError` at an open end.

    As pyarrow has it, only a quote at the beginning of a cell opens one; 5'10" is text.
    """

    def __init__(self, stream: IO[bytes], separator: str, name: str) -> None:
        before = b"[" + re.escape(separator.encode()) + rb"\r\n]"
        inner = rb'(?<!%b)(?<!%b)"' % (before, _MARK)
        self._closed_cells = re.compile(rb'(?:[^"]++|%b|"%b)*+' % (inner, _CELL_REST))
        self._cell_rest = re.compile(_CELL_REST)
        self._stream, self._name = stream, name
        self._last = b"\n"
        self._held = b""
        self._n_lines = 0
        self._open_line: int | None = None
        # pyarrow reads ahead in a thread of its own, perhaps while `read_rest` does.
        self._lock = Lock()

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Read a block and look for quotes in it."""
        with self._lock:
            block = self._stream.read(len(buffer))
            text = self._held + block
            # The next block may begin with a quote, and two of them within a cell close nothing.
            ready = text.rstrip(b'"') if block else text
            self._held = text[len(ready) :]
            self._look(ready)
            if not block and self._open_line is not None:
                raise TableError(
                    f"{self._name} ends within a cell in double quotes that begins in line "
                    f"{self._open_line}; close that quote"
                )
        buffer[: len(block)] = block
        return len(block)

    def read_rest(self) -> None:
        """Read to the end, only to see whether that is within a cell."""
        while self.read(io.DEFAULT_BUFFER_SIZE):
            pass

    def _look(self, text: bytes) -> None:
        """Keep the line where a cell begins that does not end in this text."""
        if not text:
            return
        text = self._last + text
        start: int | None = 1
        if self._open_line is not None:
            rest = self._cell_rest.match(text, 1)
            start = rest.end() if rest else None
        if start is not None:
            end = self._end_of_closed(text, start)
            lines = self._n_lines + text.count(b"\n", 1, end)
            self._open_line = lines + 1 if end < len(text) else None
        self._n_lines += text.count(b"\n", 1)
        self._last = text[-1:]

    def _end_of_closed(self, text: bytes, start: int) -> int:
        """Find the quote that opens a cell and is not closed, or the end of the text."""
        if text.find(b'"', start) < 0:
            return len(text)
        found = self._closed_cells.match(text, start)
        assert found is not None  # it matches nothing at least
        return found.end()
