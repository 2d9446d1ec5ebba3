"""Train a population on a GPU: one block of threads trains one network, all in parallel.

The result of a network depends only on the network, its rows and its options. It does not depend on
the other networks, on how the GPU is shared, or on when a launch ends.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.train.cuda.gpu import compile_kernel, find_gpu, import_cupy, limits_of
from dln.train.cuda.layout import Sizes, Variant, choose_variant, shared_part
from dln.train.cuda.memory import GpuMemory, explain_full_memory, memory_of_any
from dln.train.cuda.pack import Population, pack, record_epochs
from dln.train.jobs import Histories, Job, OnInterrupt, OnProgress, Trained, check_trained
from dln.train.trace import make_trace

LAUNCH_SECONDS = 0.1
"""Seconds after which a launch stops and saves its networks; Ctrl-C may have to wait this long.

The launch ends after up to four further batches of each network, or after the current batch if it
has more rows than fit into one pass.
"""

_ONE_AT_A_TIME = threading.Lock()
"""A compiled kernel holds pointers to the memory of one population at a time."""

REPORT_PART = 0.05
"""Maximum fraction of the time that is spent on fetching histories for progress reports."""


def train_population(
    jobs: Sequence[Job],
    *,
    device: str = "cuda",
    n_threads: int = 1,
    on_progress: OnProgress | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> list[Trained]:
    """Train the networks of all jobs in place and in parallel.

    Parameters
    ----------
    device
        The GPU: "cuda" or "cuda:1".
    n_threads
        Not used, because the GPU does the work.
    """
    number = find_gpu(device)
    population = pack(jobs)
    if not jobs:
        return []
    cupy = import_cupy()
    interrupted = False
    with _ONE_AT_A_TIME, cupy.cuda.Device(number):
        memory = GpuMemory(cupy, population)
        run = Run(cupy, number, population, memory)
        try:
            run.train(on_progress)
        except KeyboardInterrupt:
            if on_interrupt == "raise":
                raise
            interrupted = True
        finally:
            cupy.cuda.Device(number).synchronize()
            states = memory.states()
            all_numbers = memory.write_parameters(states)
        histories = memory.histories(states)
        for job, history in zip(jobs, histories, strict=True):
            if not (all_numbers and np.isfinite(history[:, 0]).all()):
                check_trained(job.network, history)
        return [
            _result(population, memory, network, states[network], history, interrupted)
            for network, history in enumerate(histories)
        ]


def _result(
    population: Population,
    memory: GpuMemory,
    network: int,
    state: Any,
    history: NDArray[np.float32],
    interrupted: bool,
) -> Trained:
    job = population.jobs[network]
    trace = None
    if job.options.trace_every:
        n_records = int(state["n_records"])
        epochs = record_epochs(job.options.trace_every, len(history), n_records)
        records = memory.records(network, n_records)
        temperatures = population.schedules[network].temperatures
        trace = make_trace(job.network, epochs, records, history, temperatures)
    return Trained(job.network, history, int(state["best_epoch"]), interrupted, trace)


@dataclass(frozen=True)
class _Group:
    """Networks that one variant of the kernel trains, longest training first."""

    variant: Variant
    kernel: Any
    stream: Any
    networks: NDArray[np.int32]
    shared_bytes: int
    far: Any
    far_bytes: int


@dataclass(frozen=True)
class _Launch:
    """A running launch: the event of its end, and the objects that it needs until then."""

    end: Any
    needs: tuple[Any, ...] = ()


class Run:
    """The launches that train a population."""

    def __init__(self, cupy: Any, number: int, population: Population, memory: GpuMemory) -> None:
        self._cupy = cupy
        self._memory = memory
        self._population = population
        self._limits = limits_of(cupy, number)
        sizes, which = population.distinct_sizes()
        crowd = len(population.jobs) // self._limits.n_multiprocessors
        places = defaultdict(list)
        for place, some in enumerate(sizes):
            places[choose_variant(some, crowd, self._limits)].append(place)
        with explain_full_memory(cupy, population):
            self._groups = [
                self._group(number, variant, [sizes[place] for place in own], np.isin(which, own))
                for variant, own in places.items()
            ]

    def _group(
        self, number: int, variant: Variant, sizes: list[Sizes], is_member: NDArray[np.bool_]
    ) -> _Group:
        cupy = self._cupy
        networks = np.flatnonzero(is_member).astype(np.int32)
        shared, far = memory_of_any(sizes, variant)
        module = compile_kernel(variant, "train.cu", number)
        self._memory.pass_addresses(module)
        kernel = module.get_function("train")
        kernel.max_dynamic_shared_size_bytes = shared
        kernel.preferred_shared_memory_carveout = shared_part(variant, shared, self._limits)
        n_blocks = min(len(networks), variant.blocks * self._limits.n_multiprocessors)
        return _Group(
            variant=variant,
            kernel=kernel,
            stream=cupy.cuda.Stream(non_blocking=True),
            networks=networks,
            shared_bytes=shared,
            far=cupy.empty(max(1, n_blocks * far), dtype=cupy.uint8),
            far_bytes=far,
        )

    def train(self, on_progress: OnProgress | None) -> None:
        """Launch until all networks are done."""
        cupy, memory = self._cupy, self._memory
        per_epoch = self._population.work()
        epochs = self._population.plans["epochs"]
        states = self._population.states
        next_report = time.monotonic()
        # Groups have separate streams, which do not wait for uploads by themselves.
        cupy.cuda.Device().synchronize()
        while True:
            to_go = per_epoch * np.maximum(1, epochs - states["epoch"])
            left = np.where(states["done"], -1.0, to_go)
            if np.all(left < 0):
                break
            launches = [self._launch(group, left) for group in self._groups]
            for launch in launches:
                launch.end.synchronize()
            states = memory.states()
            now = time.monotonic()
            if on_progress and now >= next_report:
                on_progress(Histories(memory.histories(states)))
                next_report = now + (time.monotonic() - now) / REPORT_PART
        if on_progress:
            on_progress(Histories(memory.histories(states)))

    def _launch(self, group: _Group, left: NDArray[np.float64]) -> _Launch:
        """Start a launch; None if all networks of the group are done."""
        cupy = self._cupy
        # Waiting blocks instead of spinning, so other searches can use the core.
        end = cupy.cuda.Event(block=True, disable_timing=True)
        networks = group.networks[left[group.networks] >= 0]
        if len(networks) == 0:
            return _Launch(end)
        # The longest first, so that short ones fill the end.
        networks = networks[np.argsort(-left[networks], kind="stable")]
        n_blocks = min(len(networks), group.variant.blocks * self._limits.n_multiprocessors)
        with group.stream:
            queue = cupy.asarray(networks)
            taken = cupy.zeros(1, dtype=cupy.int32)
            group.kernel(
                (n_blocks,),
                (group.variant.threads,),
                (
                    queue,
                    np.int32(len(networks)),
                    taken,
                    np.uint64(LAUNCH_SECONDS * 1e9),
                    group.far,
                    np.int64(group.far_bytes),
                ),
                shared_mem=group.shared_bytes,
            )
            end.record()
        return _Launch(end, (queue, taken))
