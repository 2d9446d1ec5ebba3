"""Python streams for Arrow's CSV reader, whose threads hold them longer than the reader is there.

Promise: when the loan is over, no thread of Arrow's will want Python's lock. A process that ended
while one did would be aborted, with its result printed and all.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

from dln.cli.arrow import csv

_PATIENCE = 60.0
"""Seconds to wait for threads when all is read: they have next to nothing to do."""

_PATIENCE_AFTER_ERROR = 1.0
"""Seconds to wait otherwise: a thread may be reading ahead, from a terminal that says nothing."""


class Readable(Protocol):
    """All that Arrow needs of a stream."""

    def read(self, size: int = -1, /) -> bytes:
        """Give the next bytes, so many at most."""


class _Lent:
    """What Arrow sees of a stream."""

    closed = False

    def __init__(self, stream: Readable) -> None:
        self.read = stream.read

    def close(self) -> None:
        """Leave the stream open: it is only lent."""


class Loan:
    """While it lasts, an Arrow reader may have a stream."""

    def __init__(self) -> None:
        self._reader: Any = None
        self._returned = threading.Event()
        self._returned.set()

    def __enter__(self) -> Loan:
        return self

    def __exit__(self, kind: object, error: object, place: object) -> None:
        self._reader = None
        self._returned.wait(_PATIENCE if error is None else _PATIENCE_AFTER_ERROR)

    def read_csv(self, stream: Readable, *options: Any) -> Iterator[Any]:
        """Give the record batches of `pyarrow.csv.open_csv` with these options."""
        # No name for what is lent: an error of Arrow's would hold it, and with it the loan's end.
        self._reader = csv.open_csv(self._lend(stream), *options)
        return self._batches()

    def _lend(self, stream: Readable) -> _Lent:
        lent = _Lent(stream)
        self._returned.clear()
        weakref.finalize(lent, self._returned.set)
        return lent

    def _batches(self) -> Iterator[Any]:
        while self._reader is not None:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                return
            yield batch
