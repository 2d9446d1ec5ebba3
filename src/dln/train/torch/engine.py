"""Train networks with PyTorch, one after the other, on any device.

Rows, batches and phases have the same order as in the native engine. So from the same start both
engines compute the same, until rounding errors grow. On a GPU the order of sums is not fixed, and
it depends on the number of CPU threads, so runs can differ in their last bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from dln.errors import DeviceMemoryError, OptionError
from dln.train.jobs import (
    Histories,
    Job,
    OnInterrupt,
    OnProgress,
    Trained,
    check_job,
    check_trained,
)
from dln.train.live import count_live_gates
from dln.train.network import Network
from dln.train.options import Phases, TrainOptions, count_batches
from dln.train.prune import prune_gates
from dln.train.schedule import make_schedule
from dln.train.settings import Alternating
from dln.train.shuffle import shuffles
from dln.train.torch.mode import Phase, freeze
from dln.train.torch.trainer import Trainer
from dln.train.trace import make_trace

REPORT_SECONDS = 0.1
LARGE = 2**18
"""Gates times rows of a batch from which several CPU threads are faster."""


def train_population(
    jobs: Sequence[Job],
    *,
    device: str = "cpu",
    n_threads: int = 1,
    on_progress: OnProgress | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> list[Trained]:
    """Train the network of each job in place, one after the other.

    Parameters
    ----------
    device
        PyTorch's name of the device: "cpu", "cuda", "cuda:1".
    """
    where = find_device(device)
    for job in jobs:
        check_job(job)
    runs = [_Run(job) for job in jobs]
    interrupted = False
    reported = 0.0
    try:
        for run in runs:
            with _threads(n_threads if run.is_large else 1):
                for _ in run.epochs(where):
                    if on_progress and time.monotonic() - reported > REPORT_SECONDS:
                        reported = time.monotonic()
                        on_progress(Histories([other.history_array() for other in runs]))
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        interrupted = True
    if on_progress and not interrupted:
        on_progress(Histories([run.history_array() for run in runs]))
    return [run.result(interrupted) for run in runs]


def find_device(name: str) -> torch.device:
    """Return a device, or raise an error that lists the available ones."""
    try:
        device = torch.device(name)
        float(torch.zeros(1, device=device))
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        gpus = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        raise OptionError(
            f"device is {name!r}, but PyTorch {torch.__version__} finds only "
            f"{', '.join(['cpu', *gpus])} here; use one of these"
        ) from None
    return device


class _Run:
    """The training of one job: the loop over epochs and batches, and its records."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.schedule = make_schedule(job.options, job.network)
        self.history: list[tuple[float, float, float, float]] = []
        self.records: list[NDArray[np.float32]] = []
        self.record_epochs: list[int] = []
        self.best_epoch = -1
        self.best_score = -math.inf
        self.best_network: Network | None = None

    @property
    def is_large(self) -> bool:
        """Whether more than one thread is faster."""
        return self.job.network.n_gates * self.job.options.batch_size >= LARGE

    def epochs(self, device: torch.device) -> Iterator[int]:
        """Train, and yield each epoch when it is done. The network is up to date then."""
        job, options = self.job, self.job.options
        try:
            yield from self._train(Trainer(job, device))
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            raise DeviceMemoryError(
                f"{device} does not have enough memory for {job.network.n_gates} gates and a batch "
                f"of {options.batch_size} rows; lower batch_size, layers or n_links"
            ) from None

    def _train(self, trainer: Trainer) -> Iterator[int]:
        options, network = self.job.options, self.job.network
        pruned = np.zeros(network.n_gates, dtype=bool)
        orders = shuffles(self.job.rows, options.seed)
        if options.trace_every:
            self._record(0)
        order = next(orders)
        try:
            for epoch in range(options.epochs):
                self._begin_epoch(trainer, epoch, pruned)
                self._train_epoch(trainer, epoch, order)
                order = next(orders)  # computed on the CPU while the device still works
                trainer.model.write_to(network)
                self._end_epoch(trainer, epoch)
                yield epoch
                if self._is_stale(epoch):
                    break
        finally:
            trainer.model.write_to(network)
            if self.best_network is not None:
                _copy_parameters(self.best_network, network)

    def _begin_epoch(self, trainer: Trainer, epoch: int, pruned: NDArray[np.bool_]) -> None:
        trainer.temperature = float(self.schedule.temperatures[epoch])
        *stages, head = trainer.model.stages()
        for layers, due in zip(stages, self.schedule.layer_freeze, strict=True):
            for layer in layers:
                if due <= epoch:
                    freeze(layer)
        if self.schedule.vote_freeze <= epoch:
            freeze(head[0])
        if self.schedule.prune_first <= epoch <= self.schedule.prune_last:
            prune_gates(self.job.network, pruned, self.schedule, epoch)
            trainer.model.read_from(self.job.network)
            trainer.mask_rules(self._find_pruned_rules(pruned))

    def _find_pruned_rules(self, pruned: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rules are pruned gates (rules,)."""
        network = self.job.network
        return np.append(np.zeros(network.n_literals, dtype=bool), pruned)[network.rule_wires]

    def _train_epoch(self, trainer: Trainer, epoch: int, order: NDArray[np.int64]) -> None:
        options, n_rows = self.job.options, len(order)
        starts = batch_starts(options, n_rows)
        n_batches = len(starts) - 1
        places = torch.as_tensor(order).to(trainer.device)
        for batch, (start, end) in enumerate(pairwise(starts)):
            step = epoch * n_batches + batch
            rate = rate_of(options, step, options.epochs * n_batches)
            trainer.step(places[start:end], phase_of(options.phases, epoch, step), rate)

    def _end_epoch(self, trainer: Trainer, epoch: int) -> None:
        """Record the results of the epoch. The network is up to date."""
        options = self.job.options
        loss, score = trainer.collect()
        valid = self._look(trainer, epoch) if self._is_due(options.eval_every, epoch) else math.nan
        is_last = options.trace_every > 0 and self._is_stale(epoch)
        if self._is_due(options.trace_every, epoch) or is_last:
            self._record(epoch + 1)
        n_live = count_live_gates(self.job.network)
        self.history.append((loss, score, valid, n_live))

    def _look(self, trainer: Trainer, epoch: int) -> float:
        """Evaluate on the validation rows, if there are any."""
        rows = self.job.valid_rows
        if rows is None or len(rows) == 0:
            return math.nan
        on_valid = trainer.evaluate(rows)
        score = on_valid
        if self.job.options.validation_score == "both":
            score += trainer.evaluate(self.job.rows)
        if score >= self.best_score:  # the latest of tied epochs wins: it was trained longer
            self.best_score, self.best_epoch = score, epoch
            self.best_network = self.job.network.copy() if self.job.options.keep_best else None
        return on_valid

    def _is_due(self, every: int, epoch: int) -> bool:
        return every > 0 and ((epoch + 1) % every == 0 or epoch + 1 == self.job.options.epochs)

    def _is_stale(self, epoch: int) -> bool:
        """Return whether there was no improvement for `patience` epochs."""
        patience = self.job.options.patience
        return patience > 0 and 0 <= self.best_epoch <= epoch - patience

    def _record(self, epochs_done: int) -> None:
        parts = [part.ravel() for part in self.job.network.parameters()]
        self.records.append(np.concatenate(parts))
        self.record_epochs.append(epochs_done)

    def history_array(self) -> NDArray[np.float32]:
        return np.array(self.history, dtype=np.float32).reshape(-1, 4)

    def result(self, interrupted: bool) -> Trained:
        history = self.history_array()
        job = self.job
        check_trained(job.network, history)
        records = np.array(self.records, dtype=np.float32)
        trace = make_trace(
            job.network, self.record_epochs, records, history, self.schedule.temperatures
        )
        return Trained(job.network, history, self.best_epoch, interrupted, trace)


def batch_starts(options: TrainOptions, n_rows: int) -> list[int]:
    """Return where the batches of an epoch start, and where the last one ends.

    >>> batch_starts(TrainOptions(batch_size=4), 9)
    [0, 3, 6, 9]
    >>> batch_starts(TrainOptions(batch_size=4, last_batch="drop"), 9)
    [0, 4, 8]
    """
    n_batches = count_batches(options, n_rows)
    if options.last_batch == "drop":
        return [min(n_rows, batch * options.batch_size) for batch in range(n_batches + 1)]
    return [n_rows * batch // n_batches for batch in range(n_batches + 1)]


def rate_of(options: TrainOptions, step: int, n_steps: int) -> float:
    """Return the learning rate of a step: cosine decay from the initial to the final rate."""
    decay = 0.5 * (1 + math.cos(math.pi * step / n_steps))
    return options.learning_rate * (options.final_rate + (1 - options.final_rate) * decay)


def phase_of(phases: Phases, epoch: int, step: int) -> Phase:
    """Return the phase of an epoch and step, both counted from 0.

    >>> [phase_of(Alternating(2), epoch, 0).value for epoch in range(5)]
    ['gates', 'gates', 'links', 'links', 'gates']
    """
    if phases == "unified":
        return Phase.BOTH
    length = phases.epochs if isinstance(phases, Alternating) else 1
    turn = step if phases == "batches" else epoch // length
    return Phase.GATES if turn % 2 == 0 else Phase.LINKS


def _copy_parameters(source: Network, target: Network) -> None:
    for part, into in zip(source.parameters(), target.parameters(), strict=True):
        into[...] = part


def _is_out_of_memory(error: RuntimeError) -> bool:
    words = ("can't allocate memory", "ALLOC_FAILED")
    return isinstance(error, torch.OutOfMemoryError) or any(word in str(error) for word in words)


@contextmanager
def _threads(n_threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
