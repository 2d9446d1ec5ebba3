"""The interface of engines: jobs in, trained networks out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dln.errors import TrainingError
from dln.train.losses import CROSS_ENTROPY, Loss
from dln.train.network import Network
from dln.train.options import TrainOptions
from dln.train.problem import Problem
from dln.train.trace import Trace


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows to learn from: values (n, columns), targets and weights (n,).

    Targets are numbers of classes (int32) or numbers to predict (float32). An offset (n, outputs)
    is added to the points before the loss: to the votes of each class, or to the predicted number,
    on the scale of its link.
    """

    cells: NDArray[np.float32]
    target: NDArray[np.int32] | NDArray[np.float32]
    weight: NDArray[np.float32]
    offset: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, problem: Problem, cells: NDArray[np.float32], tau: float) -> TrainingRows:
        """Return the encoded rows of a problem, for networks whose votes are divided by tau."""
        offset = None
        if problem.given is not None:
            offset = np.ascontiguousarray(problem.given * tau, dtype=np.float32)
        return cls(cells, problem.target, problem.weight, offset)

    @property
    def classes(self) -> NDArray[np.int32]:
        """The targets, if they are numbers of classes."""
        assert self.target.dtype == np.int32
        return self.target.astype(np.int32, copy=False)


@dataclass(frozen=True)
class Job:
    """One network to train in place, on some rows of a table."""

    network: Network
    data: TrainingRows
    rows: NDArray[np.int64]
    options: TrainOptions
    valid_rows: NDArray[np.int64] | None = None
    loss: Loss = CROSS_ENTROPY


HISTORY = ("loss", "train_accuracy", "valid_accuracy", "gates")
"""What is recorded for each epoch of a network for classes, in this order.

Accuracies are balanced; on validation rows, NaN in epochs without an evaluation. Gates are those
that a vote depends on.
"""

NUMBER_HISTORY = ("loss", "train_score", "valid_score", "gates")
"""The same for a network that predicts a number. Scores are minus the weighted mean of the loss.

So larger scores are better in both tasks, and the best epoch is the one with the largest score on
validation rows.
"""


@dataclass(frozen=True)
class Trained:
    """The result of a training run.

    `history` is (epochs, 4), see `HISTORY` and `NUMBER_HISTORY`. `trace` is None unless the options
    request it.
    """

    network: Network
    history: NDArray[np.float32]
    best_epoch: int
    interrupted: bool = False
    trace: Trace | None = None

    @property
    def valid_score(self) -> NDArray[np.float32]:
        """Score on validation rows (epochs,); NaN in epochs without an evaluation."""
        return self.history[:, NUMBER_HISTORY.index("valid_score")]

    @property
    def evaluations(self) -> NDArray[np.float32]:
        """Score on validation rows, at each evaluation."""
        return self.valid_score[~np.isnan(self.valid_score)]


class Histories(list[NDArray[np.float32]]):
    """The histories of jobs so far.

    `epochs` is the number of all their epochs, with the parts of those that are under way.
    """

    def __init__(self, found: Sequence[NDArray[np.float32]], epochs: float | None = None) -> None:
        super().__init__(found)
        self.epochs: float = sum(map(len, found)) if epochs is None else epochs


OnProgress = Callable[[Histories], None]
"""Called from time to time with the histories of all jobs so far."""

OnInterrupt = OneOf["raise", "keep"]


class Engine(Protocol):
    """Trains the networks of any number of jobs in place.

    Ctrl-C stops within a batch. The networks keep what they have learned, and KeyboardInterrupt is
    raised unless on_interrupt="keep".
    """

    def __call__(
        self,
        jobs: Sequence[Job],
        *,
        n_threads: int = 1,
        on_progress: OnProgress | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> list[Trained]:
        """Train the jobs on a number of threads."""


def check_job(job: Job) -> None:
    """Check that the rows of a job are valid."""
    data, n_rows = job.data, len(job.data.target)
    if len(job.rows) == 0:
        raise ValueError("training needs at least one row")
    for rows in (job.rows, () if job.valid_rows is None else job.valid_rows):
        if np.any(np.asarray(rows) < 0) or np.any(np.asarray(rows) >= n_rows):
            raise ValueError(f"a row is out of the table, which has {n_rows}")
    _check_task(job)
    if not np.all(np.isfinite(data.weight)) or np.any(data.weight < 0):
        raise ValueError("a weight is negative or not finite")


def _check_task(job: Job) -> None:
    """Check that network, targets and loss are all for classes or all for numbers."""
    data, network, is_number = job.data, job.network, job.loss.readout == "score"
    if network.predicts_number != is_number:
        raise ValueError("the loss does not belong to the network")
    if (data.target.dtype == np.float32) != is_number:
        raise ValueError("the targets do not belong to the network")
    if data.offset is not None:
        if data.offset.shape != (len(data.target), 1 if is_number else len(network.vote_logits)):
            raise ValueError("the offset must be (rows, outputs)")
        if not np.all(np.isfinite(data.offset)):
            raise ValueError("an offset is not finite")
    if is_number:
        if not np.all(np.isfinite(data.target)):
            raise ValueError("a target is not finite")
        if not np.all(np.isfinite(network.weights)):
            raise ValueError("a weight of a rule is not finite")
        low, high = network.weight_limits
        if not np.all((low <= network.weights) & (network.weights <= high)):
            raise ValueError("a weight of a rule is beyond its limits")
        return
    if np.any(data.target < 0) or np.any(data.target >= len(network.vote_logits)):
        raise ValueError("a target is not a class")


def check_trained(network: Network, history: NDArray[np.float32]) -> None:
    """Raise `TrainingError` if a run has diverged."""
    bad = np.flatnonzero(~np.isfinite(history[:, 0]))
    if len(bad):
        found = f"the loss is {history[bad[0], 0]} in epoch {bad[0] + 1}"
    elif any(np.isnan(part).any() for part in network.parameters()):
        found = "some of the network's parameters are NaN"
    else:
        return
    advice = "standardise the targets" if network.predicts_number else "raise tau"
    raise TrainingError(f"{found}; lower learning_rate or grad_factor, or {advice}")
