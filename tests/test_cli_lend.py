"""Streams that are lent to Arrow come back before the loan is over."""

from __future__ import annotations

import io
import weakref

import pytest

from dln.cli.arrow import pa
from dln.cli.lend import Loan

ROWS = b"a,b\n" + b"1,2\n" * 1_500_000  # several of Arrow's blocks


class Reading:
    """What Arrow calls: a weak reference may watch it."""

    def __init__(self, content: bytes) -> None:
        self._stream = io.BytesIO(content)

    def __call__(self, size: int = -1, /) -> bytes:
        return self._stream.read(size)


class Stream:
    """A stream that knows whether its `read` is still held by somebody."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.lent: weakref.ref[Reading] | None = None

    @property
    def read(self) -> Reading:
        reading = Reading(self._content)
        self.lent = weakref.ref(reading)
        return reading

    def is_back(self) -> bool:
        return self.lent is not None and self.lent() is None


@pytest.mark.parametrize("n_batches", [1, 10**9])
def test_no_thread_of_arrows_holds_the_stream_when_the_loan_is_over(n_batches: int) -> None:
    stream = Stream(ROWS)
    with Loan() as loan:
        batches = loan.read_csv(stream)
        for _ in zip(range(n_batches), batches, strict=False):
            assert not stream.is_back()
    assert stream.is_back()
    assert next(batches, None) is None


def read_all(stream: Stream) -> None:
    with Loan() as loan:
        for _ in loan.read_csv(stream):
            pass


@pytest.mark.parametrize("n_rows", [1, 1_500_000])  # the first block is read as it is opened
def test_a_read_that_fails_gives_the_stream_back_too(n_rows: int) -> None:
    stream = Stream(ROWS[: 4 * n_rows + 4] + b"1,2,3\n")
    with pytest.raises(pa.ArrowInvalid, match="Expected 2 columns"):
        read_all(stream)
    assert stream.is_back()
