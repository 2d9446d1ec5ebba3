"""Worker processes; each runs one call at a time.

If a worker is killed, for example because memory runs out, only its own call is lost. On Ctrl-C,
the parent ends all workers at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Given = TypeVar("Given")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Ended(Generic[Given]):
    """A call that has ended, with its return value or an error message."""

    value: Given | None
    error: str = ""


@dataclass(frozen=True)
class _Worker:
    process: BaseProcess
    connection: Connection


class Workers(Generic[Given]):
    """Runs calls in other processes; leaving the `with` block ends them."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}

    def __enter__(self) -> Workers[Given]:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._busy.values():
            worker.process.terminate()
        for worker in (*self._busy.values(), *self._idle):
            worker.connection.close()  # an idle worker ends by itself
            worker.process.join()

    def begin(self, call: Callable[[], Given]) -> Connection:
        """Start a picklable call; return the key under which `wait` reports it."""
        worker = self._idle.pop() if self._idle else _start()
        self._busy[worker.connection] = worker
        with suppress(OSError):  # killed while idle: `wait` reports it
            worker.connection.send(call)
        return worker.connection

    def wait(self) -> dict[Connection, Ended[Given]]:
        """Wait until at least one call has ended."""
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


def run_items(
    take: Callable[[Collection[Item]], Item | None],
    call_of: Callable[[Item], Callable[[], Given]],
    jobs: int,
) -> Iterator[tuple[Item, Ended[Given]]]:
    """Run items until `take` returns None; yield each with what its call returned.

    `take` gets the items that are running and returns the next one. With one job, the calls run in
    this process; otherwise they must be picklable.
    """
    if jobs == 1:
        while (item := take(())) is not None:
            yield item, Ended(call_of(item)())
        return
    with Workers[Given]() as workers:
        running: dict[Connection, Item] = {}
        while True:
            while len(running) < jobs and (item := take(running.values())) is not None:
                running[workers.begin(call_of(item))] = item
            if not running:
                return
            for call, ended in workers.wait().items():
                yield running.pop(call), ended


def _start() -> _Worker:
    # Spawned, not forked: OpenMP threads and CUDA contexts do not survive a fork.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,))
    process.start()
    theirs.close()  # so that the connection closes when the process ends
    return _Worker(process, ours)


def _work(connection: Connection) -> None:
    """Run calls until the parent sends no more or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            connection.send(connection.recv()())


def _fate(status: int) -> str:
    """Describe how a process ended.

    >>> _fate(-9)
    'its process was killed (SIGKILL), often because memory runs out; run it again with ...'
    """
    if status >= 0:
        return f"its process ended with status {status}; run it again"
    return (
        f"its process was killed ({signal.Signals(-status).name}), often because memory "
        "runs out; run it again with fewer jobs"
    )
