"""What every engine takes and gives: jobs in, trained networks out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dln.errors import TrainingError
from dln.train.network import Network
from dln.train.options import TrainOptions
from dln.train.trace import Trace


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
    at), gates that some vote depends on. `trace` is there where the options ask for it.
    """

    network: Network
    history: NDArray[np.float32]
    best_epoch: int
    interrupted: bool = False
    trace: Trace | None = None


Histories = list[NDArray[np.float32]]
Progress = Callable[[Histories], None]
"""Called now and then with the histories of all jobs so far."""

OnInterrupt = OneOf["raise", "keep"]


class Engine(Protocol):
    """Trains every job's network in place, however many there are.

    Ctrl-C stops within a batch. The networks keep what they learned so far, and KeyboardInterrupt
    is raised unless on_interrupt="keep".
    """

    def __call__(
        self,
        jobs: Sequence[Job],
        *,
        n_threads: int = 1,
        on_progress: Progress | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> list[Trained]:
        """Train the jobs, on so many threads."""


def check_trained(network: Network, history: NDArray[np.float32]) -> None:
    """Refuse a run whose numbers have run away: what it learned is worth nothing."""
    bad = np.flatnonzero(~np.isfinite(history[:, 0]))
    if len(bad):
        found = f"the loss is {history[bad[0], 0]} in epoch {bad[0] + 1}"
    elif any(np.isnan(part).any() for part in network.parameters()):
        found = "some of the network's parameters are NaN"
    else:
        return
    raise TrainingError(f"{found}; lower learning_rate or grad_factor, or raise tau")
