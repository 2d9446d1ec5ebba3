"""Processes that run calls side by side, each one call at a time.

A process that is killed, such as for want of memory, loses its own call alone. Ctrl-C is for the
parent: it ends the processes, whatever they are at.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Given = TypeVar("Given")


@dataclass(frozen=True)
class Ended(Generic[Given]):
    """A call that has ended: with what it gave, or with what became of its process."""

    value: Given | None
    error: str = ""


@dataclass(frozen=True)
class _Worker:
    process: BaseProcess
    connection: Connection


class Workers(Generic[Given]):
    """Runs calls in other processes; `with` ends those that are left."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}

    def __enter__(self) -> Workers[Given]:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._busy.values():
            worker.process.terminate()
        for worker in (*self._busy.values(), *self._idle):
            worker.connection.close()  # an idle one ends by itself
            worker.process.join()

    def begin(self, call: Callable[[], Given]) -> Connection:
        """Begin a call that can be pickled; gives what `wait` will name it by."""
        worker = self._idle.pop() if self._idle else _start()
        self._busy[worker.connection] = worker
        with suppress(OSError):  # it was killed while idle: `wait` will say so
            worker.connection.send(call)
        return worker.connection

    def wait(self) -> dict[Connection, Ended[Given]]:
        """Wait until calls have ended, one at least."""
        ready = [found for found in wait(list(self._busy)) if isinstance(found, Connection)]
        return {connection: self._end(self._busy.pop(connection)) for connection in ready}

    def _end(self, worker: _Worker) -> Ended[Given]:
        try:
            value: Given = worker.connection.recv()
        except (EOFError, OSError):
            worker.connection.close()
            worker.process.join()
            return Ended(None, _fate(worker.process.exitcode or 0))
        self._idle.append(worker)
        return Ended(value)


def _start() -> _Worker:
    # Spawned, not forked: threads of OpenMP and contexts of a card do not survive a fork.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,))
    process.start()
    theirs.close()  # so that the end of the process is the end of the connection
    return _Worker(process, ours)


def _work(connection: Connection) -> None:
    """Run calls until the parent has no more, or is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            connection.send(connection.recv()())


def _fate(status: int) -> str:
    """Say how a process has ended.

    >>> _fate(-9)
    'its process was killed (SIGKILL), which happens where memory runs out; run it again, ...'
    """
    if status >= 0:
        return f"its process ended with status {status}; run it again"
    return (
        f"its process was killed ({signal.Signals(-status).name}), which happens where memory "
        "runs out; run it again, with fewer jobs"
    )
