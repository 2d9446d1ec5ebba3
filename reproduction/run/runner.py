"""Run the cells that have no result yet, several in parallel, until done or out of time."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic, perf_counter, process_time

from dln import DlnError
from reproduction.datasets import Dataset, load
from reproduction.datasets.folder import check_tables
from reproduction.models.outcome import Budget
from reproduction.models.registry import find_model
from reproduction.protocol import Task
from reproduction.run.cells import Cell
from reproduction.run.provenance import count_cores
from reproduction.run.queue import Queue
from reproduction.run.results import (
    Result,
    make_result,
    missing,
    read_results,
    store_of,
    write_result,
)
from reproduction.run.time_left import TimeLeft
from reproduction.run.workers import run_items


@dataclass(frozen=True)
class Plan:
    """The cells to run, and how.

    Attributes
    ----------
    cells
        Cells in the order in which they start.
    folder
        Folder of the results.
    budget
        Budget of each cell's search; `threads` is per cell.
    jobs
        Number of cells that run in parallel.
    seconds
        Time limit after which no cell starts; None for no limit.
    """

    cells: Sequence[Cell]
    folder: Path
    budget: Budget
    jobs: int = 1
    seconds: float | None = None


@dataclass(frozen=True)
class Finished:
    """A cell that has ended, with a result or an error."""

    cell: Cell
    result: Result | None
    error: str = ""


@dataclass(frozen=True)
class Summary:
    """How a run ended."""

    n_done: int
    n_failed: int
    n_left: int


def run(plan: Plan, say: Callable[[str], None]) -> Summary:
    """Run the missing cells; a cell that fails is reported and does not stop the others."""
    estimate = TimeLeft(read_results(plan.folder, plan.budget))
    left = missing(plan.cells, plan.folder)
    check_tables(cell.dataset for cell in left)
    n_all = len(plan.cells)
    say(f"{n_all - len(left)} of {n_all} cells have a result; {estimate.show(left, plan.jobs)}")
    n_done = n_failed = 0
    for finished in _finish(plan, left):
        # Look again: a cell may also write the results of other models.
        left = [cell for cell in missing(left, plan.folder) if cell != finished.cell]
        if finished.result is None:
            n_failed += 1
            say(f"{finished.cell}: {finished.error}")
            continue
        n_done += 1
        estimate.add(finished.result)
        say(
            f"[{n_all - len(left) - n_failed}/{n_all}] "
            f"{finished.cell}: {finished.result.accuracy:.1f} % "
            f"in {finished.result.seconds:.1f} s; {estimate.show(left, plan.jobs)}"
        )
    return Summary(n_done, n_failed, len(left))


def _finish(plan: Plan, cells: Sequence[Cell]) -> Iterator[Finished]:
    """Yield the cells as they end; start no further cell when the time is up."""
    end = None if plan.seconds is None else monotonic() + plan.seconds
    queue = Queue(cells, plan.folder)

    def next_beside(running: Collection[Cell]) -> Cell | None:
        return None if end is not None and monotonic() >= end else queue.take(running)

    threads = plan.budget.threads if plan.jobs == 1 else max(1, count_cores() // plan.jobs)
    budget = replace(plan.budget, threads=threads)
    calls = run_items(
        next_beside, lambda cell: partial(run_cell, cell, plan.folder, budget), plan.jobs
    )
    for cell, ended in calls:
        yield ended.value or Finished(cell, None, ended.error)


def run_cell(cell: Cell, folder: Path, budget: Budget) -> Finished:
    """Run one cell and write its result."""
    try:
        task = Task(_load(cell.dataset), cell.seed)
        model = find_model(cell.model).load()
        start, begun = perf_counter(), process_time()
        outcome = model(task, budget)
        # Processor time of this process: more reliable than seconds on a busy machine.
        outcome = replace(outcome, seconds={**outcome.seconds, "cpu": process_time() - begun})
        result = make_result(cell, outcome, budget, perf_counter() - start)
    except DlnError as error:
        return Finished(cell, None, str(error))
    except Exception:
        return Finished(cell, None, traceback.format_exc())
    for name, sibling in outcome.siblings.items():
        # Replace a loose result, so that all results of a search belong together.
        if not store_of(name, folder).has_kept((cell.dataset, cell.seed)):
            other = replace(cell, model=name)
            write_result(make_result(other, sibling, budget, result.seconds), folder)
    write_result(result, folder)
    return Finished(cell, result)


@lru_cache(maxsize=2)
def _load(name: str) -> Dataset:
    return load(name)
