"""States of training runs in a folder, so that another process can continue them.

Promise: a run that is continued ends with the same network, bit by bit, as a run that was not
stopped. A file is found by what its job consists of, apart from the table: the network at the
start, the options and the numbers of the rows. The table is the storage's to check.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dln._util.storage import Storage
from dln.train.compiled import pack_options
from dln.train.jobs import Job
from dln.train.schedule import Schedule

SECONDS = 30.0
"""Seconds between two states of a run that are saved."""


class RunStates:
    """Saves the states of some runs, and finds those of an earlier process."""

    def __init__(
        self, storage: Storage, jobs: Sequence[Job], schedules: Sequence[Schedule], runs: list[Any]
    ) -> None:
        self._storage = storage
        self._names = [f"run-{_digest(*pair)}" for pair in zip(jobs, schedules, strict=True)]
        self._runs = runs
        self._wanted_at = time.monotonic() + SECONDS
        for name, run in zip(self._names, runs, strict=True):
            run.keep_state()
            state = storage.read(name)
            if state is not None:
                run.continue_from(state)

    def save(self) -> None:
        """Write states that are there, and ask for new ones from time to time."""
        for name, run in zip(self._names, self._runs, strict=True):
            state = run.take_state()
            if state is not None:
                self._storage.write(name, state)
        if time.monotonic() >= self._wanted_at:
            self._wanted_at = time.monotonic() + SECONDS
            for run in self._runs:
                run.want_state()


def _digest(job: Job, schedule: Schedule) -> str:
    """Return a text that differs for different jobs on the same table."""
    digest = hashlib.blake2b(pack_options(job), digest_size=12)
    network = job.network
    arrays: list[Any] = [
        *network.parameters(),
        *(network.literal_kind, network.literal_column, network.link_wires, network.rule_wires),
        *(network.gate_choices, network.weight_limits, network.layers),
        *(schedule.temperatures, schedule.layer_freeze, schedule.layer_prune),
        *(job.rows, [] if job.valid_rows is None else job.valid_rows),
    ]
    numbers = (schedule.vote_freeze, schedule.prune_first, schedule.prune_last)
    digest.update(repr((numbers, schedule.convergence)).encode())
    for array in arrays:
        values = np.ascontiguousarray(array)
        digest.update(repr((values.shape, values.dtype.str)).encode())
        digest.update(values.data)
    return digest.hexdigest()
