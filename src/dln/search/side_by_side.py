"""Run tasks that are complete fits, some of them at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from dln.paths.searches import one_core_each
from dln.search.tasks import Outcome

AnyFit = TypeVar("AnyFit")


def run_side_by_side(
    tasks: Sequence[AnyFit],
    run: Callable[[AnyFit, int], Outcome],
    n_threads: int,
    n_together: int,
    on_done: Callable[[float], None] | None,
) -> list[Outcome]:
    """Run some tasks at the same time; `run` gets a task and its number of threads.

    `on_done` takes the fraction that is done.
    """
    each = max(1, n_threads // max(1, min(n_together, len(tasks))))
    with one_core_each(), ThreadPoolExecutor(n_together) as pool:
        pending = [pool.submit(run, task, each) for task in tasks]
        try:
            for done, future in enumerate(as_completed(pending), start=1):
                future.result()  # raises the error of a task at once
                if on_done is not None:
                    on_done(done / len(pending))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in pending]
