"""Measure many cells in parallel; each result is stored at once, so that a run can be resumed.

A cell is a table, a seed and a model. A result is a dictionary with these three keys and more, one
line of a JSON Lines file.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

Cell = tuple[str, int, str]
"""Table, seed, model."""

Result = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, output: Path) -> None:
    """Add the options of a run that can be resumed."""
    parser.add_argument("--jobs", type=int, default=1, help="number of fits at the same time")
    parser.add_argument(
        "--seconds-limit",
        type=float,
        default=float("inf"),
        help="start no fit later, and none that took longer on another split than is left",
    )
    parser.add_argument("--no-run", action="store_true", help="only print what is stored")
    parser.add_argument("--output", type=Path, default=output, help="JSON Lines")


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in the main thread of this process after some seconds.

    Native code that is running then is not stopped before it returns.
    """

    def stop(*_: object) -> None:
        raise TimeoutError(f"stopped after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def read_results(path: Path) -> list[Result]:
    """Read the stored results; none if there is no file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def run_missing(
    measure: Callable[[str, int, str], Result],
    cells: Iterable[Cell],
    arguments: argparse.Namespace,
    make_pool: Callable[[int], Executor] = ProcessPoolExecutor,
    shown: str = "accuracy",
) -> list[Result]:
    """Measure the cells that are not stored yet, in their order, and return all stored results.

    `arguments` are those of `add_options`. `shown` is the result to print. A fit that fails is
    printed and left out.
    """
    results = read_results(arguments.output)
    done = {_cell(result) for result in results}
    missing = [] if arguments.no_run else [cell for cell in cells if cell not in done]
    if not missing:
        return results
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    stop = time.monotonic() + arguments.seconds_limit
    running: dict[Future[Result], Cell] = {}
    with make_pool(arguments.jobs) as pool, arguments.output.open("a") as stream:
        while missing or running:
            while len(running) < arguments.jobs:
                cell = _next(missing, results, stop - time.monotonic())
                if cell is None:
                    break
                missing.remove(cell)
                running[pool.submit(partial(measure, *cell))] = cell
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                cell = running.pop(future)
                try:
                    result = future.result()
                except Exception as error:
                    print(*cell, repr(error), flush=True)
                    continue
                stream.write(json.dumps(result) + "\n")
                stream.flush()
                results.append(result)
                print(*cell, result[shown], flush=True)
    if missing:
        print(f"{len(missing)} fits are left; the same command continues")
    return results


def _next(missing: Sequence[Cell], results: Sequence[Result], seconds: float) -> Cell | None:
    """Return the first cell that can be measured in some seconds, as far as results tell."""
    if seconds <= 0:
        return None
    slow = {(one["table"], one["model"]) for one in results if one.get("seconds", 0.0) > seconds}
    return next((cell for cell in missing if (cell[0], cell[2]) not in slow), None)


def _cell(result: Result) -> Cell:
    return result["table"], result["seed"], result["model"]
