"""Run the searches of a path side by side: on all rows and on the rows of each fold.

Also the sizes that every search keeps to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from threadpoolctl import threadpool_limits

from dln.paths.budget import Budget
from dln.paths.path import PathPoint
from dln.train.jobs import OnInterrupt

Part = TypeVar("Part")
Found = TypeVar("Found")
Stop = Callable[[], bool]

MOST_LITERALS = 60
"""The path ends here, whatever the budget allows."""
MOST_LITERALS_PER_RULE = 4
"""Literals of a rule, if the budget does not say otherwise."""
SEARCH_ROWS = 5_000
"""Maximum number of rows that a search uses."""


@dataclass(frozen=True)
class Searched(Generic[Found]):
    """What the searches found, in the order of their parts, and whether Ctrl-C ended them."""

    found: list[Found]
    interrupted: bool


def one_core_each() -> threadpool_limits:
    """Return a context in which a matrix product of NumPy uses one thread.

    By default it uses as many as there are cores. Such threads wait for each other by spinning. If
    several threads multiply small matrices, that takes several times as long as the products do.
    """
    return threadpool_limits(1, user_api="blas")


def run_searches(
    search: Callable[[Part, Stop], Found],
    parts: Sequence[Part],
    n_threads: int,
    on_progress: Callable[[int, int], None] | None,
    on_interrupt: OnInterrupt,
) -> Searched[Found]:
    """Search all parts of a table on several threads, each of which uses one core.

    `on_progress` takes the number of searches that are complete and their total. With
    on_interrupt="keep", Ctrl-C ends the searches, and they return what they have found so far.
    """
    stop = threading.Event()
    with one_core_each(), ThreadPoolExecutor(n_threads) as pool:
        waiting = [pool.submit(search, part, stop.is_set) for part in parts]
        try:
            for number, future in enumerate(waiting):
                future.result()
                if on_progress is not None:
                    on_progress(number + 1, len(waiting))
        except KeyboardInterrupt:
            stop.set()
            if on_interrupt == "raise":
                raise
        return Searched([future.result() for future in waiting], stop.is_set())


def increasing(points: list[PathPoint]) -> list[PathPoint]:
    """Leave out circuits that rounding made as small as an earlier one, and empty ones."""
    kept: list[PathPoint] = []
    for point in points:
        if not kept or point.size.n_literals > kept[-1].size.n_literals:
            kept.append(point)
    return kept[1:] if len(kept) > 1 and kept[0].size.n_rules == 0 else kept


def longest(budget: Budget) -> int:
    """Return the maximum number of literals of a rule."""
    own = budget.max_literals_per_rule or MOST_LITERALS_PER_RULE
    return min(own, budget.max_literals or own, MOST_LITERALS)


def most_literals(budget: Budget) -> int:
    """Return the number of literals at which the path ends."""
    by_rules = MOST_LITERALS if budget.max_rules is None else budget.max_rules * longest(budget)
    return min(MOST_LITERALS, by_rules, budget.max_literals or MOST_LITERALS)


def n_repeats(n_rows: int, n_outputs: int) -> int:
    """Return how often the folds are drawn anew: the fewer rows, the noisier is one accuracy.

    `n_outputs` is the number of votes of a rule. Each makes the search slower.
    """
    cells = n_rows * n_outputs
    return 3 if cells < 1_500 else 2 if cells < 3_000 else 1


def n_folds(n_rows: int) -> int:
    """Return the number of folds: fewer for large tables."""
    return 5 if n_rows < 5_000 else 3
