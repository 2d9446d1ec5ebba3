"""The native engine: trains many networks in parallel on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.storage import Storage
from dln.errors import ExtraMissingError
from dln.train.compiled import check_engine, pack_options
from dln.train.jobs import Histories, Job, OnInterrupt, OnProgress, Trained, check_trained
from dln.train.run_states import RunStates
from dln.train.schedule import Schedule, make_schedule
from dln.train.trace import make_trace


def train_population(
    jobs: Sequence[Job],
    *,
    n_threads: int = 1,
    on_progress: OnProgress | None = None,
    on_interrupt: OnInterrupt = "raise",
    level: str = "",
    storage: Storage | None = None,
) -> list[Trained]:
    """Train the network of each job in place. The number of threads does not change the result.

    With a storage, runs continue where an earlier process has saved them.
    """
    native = _extension()
    schedules = [make_schedule(job.options, job.network) for job in jobs]
    bound = [bind(native, job, schedule) for job, schedule in zip(jobs, schedules, strict=True)]
    states = None if storage is None else RunStates(storage, jobs, schedules, bound)
    interrupted = False
    try:
        native.train(bound, n_threads, _reporter(bound, on_progress, states), level)
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        interrupted = True
    results = []
    for job, run, schedule in zip(jobs, bound, schedules, strict=True):
        history: NDArray[np.float32] = run.history()
        check_trained(job.network, history)
        trace = make_trace(
            job.network, run.trace_epochs, run.trace(), history, schedule.temperatures
        )
        results.append(Trained(job.network, history, run.best_epoch, interrupted, trace))
    return results


def _reporter(
    bound: Sequence[Any], on_progress: OnProgress | None, states: RunStates | None
) -> Callable[[], None] | None:
    """Return the function that the extension calls from time to time and at the end, if any."""
    if on_progress is None and states is None:
        return None

    def report() -> None:
        if states is not None:
            states.save()
        if on_progress is None:
            return
        visited = sum(job.epochs_visited for job in bound)
        on_progress(Histories([job.history() for job in bound], visited))

    return report


def _extension() -> ModuleType:
    """Import the compiled extension, which only training requires."""
    try:
        from dln import _native
    except ImportError as error:
        raise ExtraMissingError(
            "the native engine requires dln's compiled extension, which is not part of this "
            'installation; train with engine="torch", or install dln where there is a C++ compiler'
        ) from error
    return _native


def bind(native: ModuleType, job: Job, schedule: Schedule) -> Any:
    """Pass a job to the extension, which checks it."""
    check_engine(job.options, "native")
    network, data = job.network, job.data
    is_number = data.target.dtype == np.float32
    return native.Job(
        cells=data.cells,
        classes=None if is_number else data.target,
        numbers=data.target if is_number else None,
        offset=data.offset,
        row_weight=data.weight,
        rows=job.rows,
        valid_rows=np.empty(0, dtype=np.int64) if job.valid_rows is None else job.valid_rows,
        layer_start=np.cumsum((0, *network.layers), dtype=np.int32),
        literal_kind=network.literal_kind,
        literal_column=network.literal_column,
        literal_layer=network.literal_layer,
        literal_value=network.cutoffs,
        slope=network.slopes,
        link_wire=network.link_wires,
        link_logit=network.link_logits,
        gate_choice=network.gate_choices,
        gate_logit=network.gate_logits,
        rule_wire=network.rule_wires,
        vote_logit=network.vote_logits,
        weight=network.weights,
        weight_limit=network.weight_limits,
        options=pack_options(job),
        schedule=_bind_schedule(native, schedule),
    )


def _bind_schedule(native: ModuleType, schedule: Schedule) -> Any:
    bound = native.Schedule()
    bound.temperature = schedule.temperatures.tolist()
    bound.layer_freeze = schedule.layer_freeze.tolist()
    bound.vote_freeze = schedule.vote_freeze
    bound.prune_first = schedule.prune_first
    bound.prune_last = schedule.prune_last
    bound.layer_prune = schedule.layer_prune.tolist()
    bound.convergence = schedule.convergence
    return bound
