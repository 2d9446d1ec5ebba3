"""Train the tasks of a search, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal as OneOf
from typing import Protocol

from dln.encode.encoder import EncodeOptions
from dln.search.budget_tasks import BudgetTask, run_budget_task
from dln.search.folds import Fold
from dln.search.number_tasks import NumberTask, run_number_task
from dln.search.side_by_side import run_side_by_side
from dln.search.tasks import FoldRows, Outcome, RowsOf, Task, encode_fold, run_tasks
from dln.train.engines import EngineName, find_engine
from dln.train.jobs import Histories
from dln.train.problem import NumberProblem, Problem

AnyTask = Task | NumberTask | BudgetTask

BackendName = OneOf["local", "ray"]

OnDone = Callable[[float], None]
"""Called from time to time with the fraction of a population that is done, from 0 to 1."""


@dataclass(frozen=True, eq=False)
class TaskContext:
    """The data, folds and engine that all tasks of a search share."""

    problem: Problem | NumberProblem
    folds: tuple[Fold, ...]
    engine: EngineName
    device: str
    n_threads: int


class Backend(Protocol):
    """Trains tasks. All backends give the same outcomes."""

    def run(self, tasks: Sequence[AnyTask], on_done: OnDone | None = None) -> list[Outcome]:
        """Train the tasks in parallel and return their outcomes in the same order."""

    def close(self) -> None:
        """Release resources."""


class LocalBackend:
    """Trains on the cores of this machine, all tasks as one population."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._engine = find_engine(context.engine, context.device)
        self._rows_of = cache(lambda: keep_rows(context))

    def run(self, tasks: Sequence[AnyTask], on_done: OnDone | None = None) -> list[Outcome]:
        """Train networks of classes as one population, and complete fits side by side."""
        networks = [task for task in tasks if isinstance(task, Task)]
        if networks:
            return self._run_networks(networks, on_done)
        context = self._context
        # Other engines are fastest if they train one population at a time.
        several = context.engine == "native" or isinstance(tasks[0], BudgetTask)
        n_together = context.n_threads if several else 1
        return run_side_by_side(tasks, self._fit, context.n_threads, n_together, on_done)

    def _fit(self, task: AnyTask, n_threads: int) -> Outcome:
        context = self._context
        fold = context.folds[task.fold]
        if isinstance(task, BudgetTask):
            return run_budget_task(context.problem, fold, task)
        assert isinstance(task, NumberTask)
        assert isinstance(context.problem, NumberProblem)
        return run_number_task(context.problem, fold, task, self._engine, n_threads)

    def _run_networks(self, tasks: Sequence[Task], on_done: OnDone | None) -> list[Outcome]:
        total = sum(task.recipe.options.epochs * len(task.seeds) for task in tasks)

        def report(histories: Histories) -> None:
            assert on_done is not None
            on_done(histories.epochs / max(1, total))

        return run_tasks(
            tasks,
            self._rows_of(),
            self._engine,
            n_threads=self._context.n_threads,
            on_progress=report if on_done is not None else None,
        )

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


def keep_rows(context: TaskContext) -> RowsOf:
    """Return a function that encodes each fold once per encoding, on first use."""
    problem = context.problem
    assert isinstance(problem, Problem)

    @cache
    def rows_of(fold: int, encode: EncodeOptions) -> FoldRows:
        return encode_fold(problem, context.folds[fold], encode)

    return rows_of


def open_backend(name: BackendName, context: TaskContext) -> Backend:
    """Open a backend by its name."""
    if name == "ray":
        from dln.search.on_ray import RayBackend

        return RayBackend(context)
    return LocalBackend(context)
