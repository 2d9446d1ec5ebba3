"""Train the tasks of a search on a Ray cluster.

The data is put into Ray's object store once. A node fetches it, and each encoded fold, when one of
its tasks first needs it; all tasks of the node then read the same memory. Tasks of a lost node run
again on another node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dln._util.extras import import_extra
from dln.data.coded import CodedColumn, coded
from dln.data.table import RawColumn, Table
from dln.encode.encoder import EncodeOptions
from dln.search.backend import AnyTask, OnDone, TaskContext
from dln.search.budget_tasks import BudgetTask, run_budget_task
from dln.search.folds import Fold
from dln.search.number_tasks import NumberTask, run_number_task
from dln.search.tasks import FoldRows, Outcome, Task, encode_fold, run_tasks
from dln.train.engines import EngineName, find_engine
from dln.train.problem import NumberProblem

_RETRIES = 20
"""How often a task is started again after its node or process was lost."""

_POLL_SECONDS = 0.5


class RayBackend:
    """Trains on the connected Ray cluster, or the one of RAY_ADDRESS, or a new local one."""

    def __init__(self, context: TaskContext) -> None:
        self._ray = ray = _import_ray()
        self._started = not ray.is_initialized()
        if self._started:
            ray.init(include_dashboard=False, log_to_driver=False)
        self._encode = ray.remote(encode_fold).options(max_retries=_RETRIES, num_cpus=1)
        self._run = ray.remote(_run_one).options(max_retries=_RETRIES, **resources_of(context))
        self._fit = ray.remote(_fit_number).options(max_retries=_RETRIES, **resources_of(context))
        self._search = ray.remote(run_budget_task).options(max_retries=_RETRIES, num_cpus=1)
        self._context = context
        problem = context.problem
        self._problem = ray.put(replace(problem, table=shared_table(problem.table)))
        self._rows: dict[tuple[int, EncodeOptions], Any] = {}

    def run(self, tasks: Sequence[AnyTask], on_done: OnDone | None = None) -> list[Outcome]:
        """Train the tasks, one on each free core of the cluster."""
        ray = self._ray
        pending = [self._start(task) for task in tasks]
        try:
            waiting = pending
            while waiting:
                _, waiting = ray.wait(
                    waiting, num_returns=len(waiting), timeout=_POLL_SECONDS, fetch_local=False
                )
                if on_done is not None:
                    on_done(1.0 - len(waiting) / len(pending))
            return list(ray.get(pending))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except BaseException:
            for reference in pending:
                ray.cancel(reference, force=True)
            raise

    def close(self) -> None:
        """Release the data, and stop Ray if it was started here."""
        self._rows.clear()
        if self._started:
            self._ray.shutdown()

    def _start(self, task: AnyTask) -> Any:
        """Start a task and return Ray's reference to its outcome."""
        context = self._context
        if isinstance(task, Task):
            rows = self._rows_of(task)
            return self._run.remote(rows, task, context.engine, context.device)
        fold = context.folds[task.fold]
        if isinstance(task, BudgetTask):
            return self._search.remote(self._problem, fold, task)
        return self._fit.remote(self._problem, fold, task, context.engine, context.device)

    def _rows_of(self, task: Task) -> Any:
        """Return Ray's reference to an encoded fold; each is encoded once per encoding."""
        key = (task.fold, task.recipe.encode)
        if key not in self._rows:
            fold = self._context.folds[task.fold]
            self._rows[key] = self._encode.remote(self._problem, fold, task.recipe.encode)
        return self._rows[key]


def shared_table(table: Table) -> Table:
    """Return the rows of a table as arrays that all tasks of a node read in the same memory.

    Ray copies a view of a larger array, and Python objects, into each process. So a column becomes
    an array of its own, and text becomes numbers of its distinct values.
    """
    if table.sparse is not None:
        return table
    columns = [_shared_column(table.read(place)) for place in range(table.n_columns)]
    return replace(table, read=columns.__getitem__, matrix=None)


def _shared_column(raw: RawColumn) -> RawColumn:
    if raw.kind != "category":
        return RawColumn(raw.kind, np.ascontiguousarray(raw.values))
    is_text = isinstance(raw, CodedColumn) or all(
        cell is None or isinstance(cell, str) for cell in raw.values
    )
    return coded(raw) if is_text else raw


def resources_of(context: TaskContext) -> dict[str, int]:
    """Return what a training task reserves: a core, and a GPU if it trains on one.

    The engine "cuda" always trains on a GPU.
    """
    on_gpu = context.engine == "cuda" or context.device.startswith("cuda")
    return {"num_cpus": 1, "num_gpus": int(on_gpu)}


def _run_one(rows: FoldRows, task: Task, engine: EngineName, device: str) -> Outcome:
    """Train one task on one core. The number of cores does not change the result."""
    found = find_engine(engine, device)
    (outcome,) = run_tasks([task], lambda fold, encode: rows, found, n_threads=1)
    return outcome


def _fit_number(
    problem: NumberProblem, fold: Fold, task: NumberTask, engine: EngineName, device: str
) -> Outcome:
    """Run one task of a number on one core."""
    return run_number_task(problem, fold, task, find_engine(engine, device))


def _import_ray() -> Any:
    return import_extra("ray", "backend 'ray'")
