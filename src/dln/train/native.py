"""The native engine: many networks side by side on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.errors import ExtraMissingError
from dln.train.network import Network
from dln.train.options import TrainOptions

_SCHEDULES = {"unified": 0, "epochs": 1, "batches": 2}


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows to learn from: cells (n, columns), class numbers and weights (n,)."""

    cells: NDArray[np.float32]
    target: NDArray[np.int32]
    weight: NDArray[np.float32]


@dataclass(frozen=True)
class Job:
    """One network to train in place, on some rows of a table."""

    network: Network
    data: TrainingRows
    rows: NDArray[np.int64]
    options: TrainOptions
    valid_rows: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Trained:
    """What is known of a training run.

    `history` is (epochs, 4): loss, training and validation balanced accuracy (NaN where not looked
    at), gates that some vote depends on.
    """

    network: Network
    history: NDArray[np.float32]
    best_epoch: int
    interrupted: bool = False


Progress = Callable[[list[NDArray[np.float32]]], None]
"""Called about ten times a second with the histories of all jobs so far."""


def train_population(
    jobs: Sequence[Job],
    *,
    n_threads: int = 1,
    on_progress: Progress | None = None,
    on_interrupt: OneOf["raise", "keep"] = "raise",
    level: str = "",
) -> list[Trained]:
    """Train every job's network in place; the result is the same for any number of threads.

    Ctrl-C stops within a batch. The networks keep what they learned so far, and KeyboardInterrupt
    is raised unless on_interrupt="keep".
    """
    native = _engine()
    bound = [_bind(native, job) for job in jobs]
    callback = None
    if on_progress is not None:
        report = on_progress

        def callback() -> None:
            report([job.history() for job in bound])

    interrupted = False
    try:
        native.train(bound, n_threads, callback, level)
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        interrupted = True
    return [
        Trained(job.network, run.history(), run.best_epoch, interrupted)
        for job, run in zip(jobs, bound, strict=True)
    ]


def _engine() -> ModuleType:
    """Find the compiled extension; circuits predict without it, but nothing trains."""
    try:
        from dln import _native
    except ImportError as error:
        raise ExtraMissingError(
            "training needs dln's compiled extension, which is not part of this installation; "
            "install a wheel of dln, or build it with a C++ compiler"
        ) from error
    return _native


def _bind(native: ModuleType, job: Job) -> Any:
    options = native.Options()
    for field in fields(job.options):
        if field.name == "phases":
            options.schedule = _SCHEDULES[job.options.phases]
        else:
            setattr(options, field.name, getattr(job.options, field.name))
    network = job.network
    return native.Job(
        cells=job.data.cells,
        target=job.data.target,
        weight=job.data.weight,
        rows=job.rows,
        valid_rows=np.empty(0, dtype=np.int64) if job.valid_rows is None else job.valid_rows,
        literal_kind=network.literal_kind,
        literal_column=network.literal_column,
        literal_value=network.cutoffs,
        slope=network.slopes,
        link_wire=network.link_wires,
        link_logit=network.link_logits,
        gate_choice=network.gate_choices,
        gate_logit=network.gate_logits,
        rule_wire=network.rule_wires,
        vote_logit=network.vote_logits,
        options=options,
    )
