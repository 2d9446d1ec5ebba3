"""Signals that end a process -> an exception, so that the command removes its partial files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def orderly_stop() -> Iterator[None]:
    """Raise SystemExit(128 + number) on SIGTERM and SIGHUP while the block runs.

    This is for the command only. A library must leave signals to the program that uses it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python only lets the main thread handle signals
        return
    # A signal that is ignored stays ignored: nohup relies on it.
    caught = [number for number in _ENDINGS if signal.getsignal(number) == signal.SIG_DFL]
    for number in caught:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in caught:
            if signal.getsignal(number) is _stop:
                signal.signal(number, signal.SIG_DFL)


_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _stop(number: int, _frame: FrameType | None) -> None:
    for other in _ENDINGS:  # a second signal must not interrupt the cleanup
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)
