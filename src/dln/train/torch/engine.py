"""Train networks with PyTorch, one after the other, on any device.

Rows come in the same order, in the same batches and phases as in the native engine, so that a run
from the same start stays together with it until rounding drives the two apart. On a GPU sums run
in no fixed order, and on several threads of a CPU in another one: runs differ in their last bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from dln.errors import DeviceMemoryError, OptionError
from dln.train.jobs import Job, OnInterrupt, Progress, Trained, check_job, check_trained
from dln.train.live import count_live_gates
from dln.train.network import Network
from dln.train.options import Alternating, Phases
from dln.train.prune import prune_gates
from dln.train.schedule import make_schedule
from dln.train.shuffle import shuffles
from dln.train.torch.layers import MIN_SLOPE, ThresholdLayer
from dln.train.torch.mode import Mode, Phase, freeze, set_mode
from dln.train.torch.network import LogicNetwork
from dln.train.trace import make_trace

REPORT_SECONDS = 0.1
LARGE = 2**18
"""Gates times rows of a batch from which on several threads of a CPU pay."""


def train_population(
    jobs: Sequence[Job],
    *,
    device: str = "cpu",
    n_threads: int = 1,
    on_progress: Progress | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> list[Trained]:
    """Train every job's network in place, one after the other.

    Parameters
    ----------
    device
        Where to train, as PyTorch names it: "cpu", "cuda", "cuda:1".
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
                        on_progress([other.history_array() for other in runs])
    except KeyboardInterrupt:
        if on_interrupt == "raise":
            raise
        interrupted = True
    if on_progress and not interrupted:
        on_progress([run.history_array() for run in runs])
    return [run.result(interrupted) for run in runs]


def find_device(name: str) -> torch.device:
    """Find a device, or say which there are."""
    try:
        device = torch.device(name)
        float(torch.zeros(1, device=device))
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        cards = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
        raise OptionError(
            f"device is {name!r}, but PyTorch {torch.__version__} finds only "
            f"{', '.join(['cpu', *cards])} here; use one of these"
        ) from None
    return device


class _Run:
    """One job: the loop over epochs and batches, and what it leaves behind."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.schedule = make_schedule(job.options, job.network)
        self.history: list[tuple[float, float, float, float]] = []
        self.records: list[NDArray[np.float32]] = []
        self.record_epochs: list[int] = []
        self.best_epoch = -1

    @property
    def is_large(self) -> bool:
        """Whether more than one thread is worth its overhead."""
        return self.job.network.n_gates * self.job.options.batch_size >= LARGE

    def epochs(self, device: torch.device) -> Iterator[int]:
        """Train, giving each epoch when it is done; the network has what was learned so far."""
        job, options = self.job, self.job.options
        try:
            trainer = _Trainer(job, device)
            yield from self._train(trainer)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            raise DeviceMemoryError(
                f"{device} has not the memory for {job.network.n_gates} gates and a batch of "
                f"{options.batch_size} rows; lower batch_size, layers or n_links"
            ) from None

    def _train(self, trainer: _Trainer) -> Iterator[int]:
        job, options, network = self.job, self.job.options, self.job.network
        pruned = np.zeros(network.n_gates, dtype=bool)
        orders = shuffles(job.rows, options.seed)
        n_rows = len(job.rows)
        n_batches = -(-n_rows // options.batch_size)
        best, best_network = -1.0, None
        if options.trace_every:
            self._record(0)
        order = next(orders)
        try:
            for epoch in range(options.epochs):
                self._begin_epoch(trainer, epoch, pruned)
                places = torch.as_tensor(order).to(trainer.device)
                for batch in range(n_batches):
                    step = epoch * n_batches + batch
                    decay = 0.5 * (1 + math.cos(math.pi * step / (options.epochs * n_batches)))
                    factor = options.final_rate + (1 - options.final_rate) * decay
                    rows = places[n_rows * batch // n_batches : n_rows * (batch + 1) // n_batches]
                    phase = phase_of(options.phases, epoch, step)
                    trainer.step(rows, phase, options.rate * factor)
                order = next(orders)  # while the device is busy
                trainer.model.write_to(network)
                loss, accuracy = trainer.collect()
                valid = math.nan
                if self._is_due(options.eval_every, epoch) and self._valid_rows is not None:
                    valid = trainer.evaluate(self._valid_rows)
                    if valid >= best:  # a later look wins a tie: it was trained longer
                        best, self.best_epoch = valid, epoch
                        best_network = network.copy() if options.keep_best else None
                is_stale = options.patience and 0 <= self.best_epoch <= epoch - options.patience
                if self._is_due(options.trace_every, epoch) or (options.trace_every and is_stale):
                    self._record(epoch + 1)
                n_live = count_live_gates(network, options.vote_threshold)
                self.history.append((loss, accuracy, valid, n_live))
                yield epoch
                if is_stale:
                    break
        finally:
            trainer.model.write_to(network)
            if best_network is not None:
                _copy_parameters(best_network, network)

    @property
    def _valid_rows(self) -> NDArray[np.int64] | None:
        rows = self.job.valid_rows
        return None if rows is None or len(rows) == 0 else rows

    def _is_due(self, every: int, epoch: int) -> bool:
        return every > 0 and ((epoch + 1) % every == 0 or epoch + 1 == self.job.options.epochs)

    def _begin_epoch(self, trainer: _Trainer, epoch: int, pruned: NDArray[np.bool_]) -> None:
        trainer.temperature = float(self.schedule.temperatures[epoch])
        *stages, votes = trainer.model.stages()
        for layers, due in zip(stages, self.schedule.layer_freeze, strict=True):
            for layer in layers:
                if due <= epoch:
                    freeze(layer)
        if self.schedule.vote_freeze <= epoch:
            freeze(votes[0])
        if self.schedule.prune_first <= epoch <= self.schedule.prune_last:
            threshold = self.job.options.vote_threshold
            prune_gates(self.job.network, pruned, self.schedule, epoch, threshold)
            trainer.model.read_from(self.job.network)

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


class _Trainer:
    """A model with its rows and Adam's moments on a device; a step does not wait for the device."""

    def __init__(self, job: Job, device: torch.device) -> None:
        self.device = device
        self.options = job.options
        self.model = LogicNetwork(job.network, job.options.vote_threshold).to(device)
        self.cells = torch.as_tensor(job.data.cells).to(device)
        self.target = torch.as_tensor(job.data.target.astype(np.int64)).to(device)
        self.weight = torch.as_tensor(job.data.weight).to(device)
        self.temperature = 1.0
        self.generator = torch.Generator(device).manual_seed(job.options.seed % 2**63)
        n_classes = len(job.network.vote_logits)
        self.loss = torch.zeros((), dtype=torch.float64, device=device)
        self.weight_total = torch.zeros((), dtype=torch.float64, device=device)
        self.right = torch.zeros(n_classes, device=device)
        self.total = torch.zeros(n_classes, device=device)
        # Only the parameters of the phase in progress are updated: the moments of the others,
        # and Adam's count of their steps, stand still.
        functions = [{"params": self.model.function_parameters(), "part": 1.0}]
        if job.options.threshold_rate > 0 and len(self.model.threshold_parameters()):
            part = job.options.threshold_rate
            functions.append({"params": self.model.threshold_parameters(), "part": part})
        else:
            for parameter in self.model.threshold_parameters():
                parameter.requires_grad_(False)
        is_card = device.type == "cuda"
        links = [{"params": self.model.link_parameters(), "part": 1.0}]
        self.optimizers = {
            Phase.GATES: torch.optim.Adam(functions, eps=1e-8, fused=is_card),
            Phase.LINKS: torch.optim.Adam(links, eps=1e-8, fused=is_card),
        }

    def step(self, rows: Tensor, phase: Phase, rate: float) -> None:
        """Train on some rows."""
        self.model.train()
        self._set_mode(phase)
        votes = self.model(self.cells[rows])
        target, weight = self.target[rows], self.weight[rows]
        losses = row_losses(votes, target, self.options.tau)
        total = weight.sum()
        loss = (losses * weight).sum() / total.clamp(min=1e-30)
        if loss.requires_grad:
            self.model.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            for trained, optimizer in self.optimizers.items():
                if phase.includes(trained):
                    for group in optimizer.param_groups:
                        group["lr"] = rate * group["part"]
                    optimizer.step()
            self._keep_slopes_positive()
        self._score(votes.detach(), target)
        self.loss += loss.detach() * total
        self.weight_total += total

    def _set_mode(self, phase: Phase) -> None:
        options = self.options
        mode = Mode(
            phase,
            options.relaxation,
            options.gate_gradient,
            self.temperature,
            options.grad_factor,
            self.generator,
        )
        set_mode(self.model, mode)

    @torch.no_grad()
    def _keep_slopes_positive(self) -> None:
        for layer in self.model.thresholds:
            assert isinstance(layer, ThresholdLayer)
            layer.slopes.clamp_(min=MIN_SLOPE)

    def _score(self, votes: Tensor, target: Tensor) -> None:
        """Count right answers by class; the first class wins a tie."""
        is_right = (votes.argmax(dim=1) == target).to(self.right.dtype)
        self.right.index_add_(0, target, is_right)
        self.total.index_add_(0, target, torch.ones_like(is_right))

    def collect(self) -> tuple[float, float]:
        """Give the loss and the balanced accuracy of the epoch, and start the next one."""
        loss = float(self.loss / self.weight_total.clamp(min=1e-30))
        accuracy = self._balanced_accuracy()
        self.loss.zero_()
        self.weight_total.zero_()
        return loss, accuracy

    def _balanced_accuracy(self) -> float:
        present = self.total > 0
        accuracy = (self.right[present].double() / self.total[present]).mean()
        self.right.zero_()
        self.total.zero_()
        return float(accuracy)

    @torch.no_grad()
    def evaluate(self, rows: NDArray[np.int64]) -> float:
        """Give the balanced accuracy of the hard network on some rows."""
        self.model.eval()
        places = torch.as_tensor(rows).to(self.device)
        size = max(self.options.batch_size, 256)
        for start in range(0, len(rows), size):
            part = places[start : start + size]
            self._score(self.model(self.cells[part]), self.target[part])
        return self._balanced_accuracy()


def row_losses(votes: Tensor, target: Tensor, tau: float) -> Tensor:
    """Give the cross-entropy of each row; votes are (rows, classes).

    In float64: in float32 the gradient p - 1 of a class that is nearly sure is rounding alone.
    """
    return cross_entropy(votes.double() / tau, target, reduction="none").to(votes.dtype)


def phase_of(phases: Phases, epoch: int, step: int) -> Phase:
    """Say what is trained in this epoch and step, both counted from 0.

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
