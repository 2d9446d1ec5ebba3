"""Options that change during training -> a schedule by epoch, the same for all engines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.train.network import Network
from dln.train.options import TrainOptions
from dln.train.settings import Annealing, Freezing, Pruning

NEVER = 2**31 - 1


@dataclass(frozen=True)
class Schedule:
    """When layers freeze, gates are pruned and temperatures fall. Epochs count from 0.

    Attributes
    ----------
    temperatures
        Temperature of each epoch (epochs,); at least one entry.
    layer_freeze, vote_freeze
        The epoch at whose start each layer (layers,) and the votes freeze.
    prune_first, prune_last
        First and last epoch at whose start gates may be pruned.
    layer_prune
        Number of gates of each layer (layers,) that may be pruned in total.
    convergence
        Gates whose largest probability is below this may be pruned.
    """

    temperatures: NDArray[np.float32]
    layer_freeze: NDArray[np.int32]
    vote_freeze: int
    prune_first: int
    prune_last: int
    layer_prune: NDArray[np.int32]
    convergence: float

    def prune_quota(self, epoch: int) -> NDArray[np.int32]:
        """Return how many gates of each layer (layers,) may be pruned up to this epoch."""
        if not self.prune_first <= epoch <= self.prune_last:
            return np.zeros_like(self.layer_prune)
        done, all_epochs = epoch - self.prune_first + 1, self.prune_last - self.prune_first + 1
        return (self.layer_prune.astype(np.int64) * done // all_epochs).astype(np.int32)


def make_schedule(options: TrainOptions, network: Network) -> Schedule:
    """Compute the schedule of a network from its options."""
    freeze = _freeze_epochs(options.freezing, len(network.layers), options.epochs)
    pruning = options.pruning or Pruning(start=1.0, end=1.0)
    first = round(pruning.start * options.epochs)
    sizes = np.array(network.layers, dtype=np.int64)
    return Schedule(
        temperatures=_temperatures(options.temperature, options.epochs),
        layer_freeze=np.array(freeze[:-1], dtype=np.int32),
        vote_freeze=freeze[-1],
        prune_first=first if options.pruning else NEVER,
        prune_last=max(first, round(pruning.end * options.epochs) - 1),
        layer_prune=(sizes - np.ceil(pruning.least * sizes)).astype(np.int32),
        convergence=pruning.convergence,
    )


def _temperatures(temperature: float | Annealing, epochs: int) -> NDArray[np.float32]:
    if isinstance(temperature, Annealing):
        return np.geomspace(temperature.start, temperature.end, epochs).astype(np.float32)
    return np.full(epochs, temperature, dtype=np.float32)


def _freeze_epochs(freezing: Freezing | None, n_layers: int, epochs: int) -> list[int]:
    """Return the epochs in which the layers freeze, and then that of the votes.

    >>> _freeze_epochs(Freezing(start=0.5), n_layers=2, epochs=100)
    [50, 75, 2147483647]
    >>> _freeze_epochs(Freezing(start=0.5, direction="outputs-first"), n_layers=2, epochs=100)
    [2147483647, 75, 50]
    """
    if freezing is None:
        return [NEVER] * (n_layers + 1)
    start = freezing.start * epochs
    # Each layer is a group, and so are the votes. The last group never freezes.
    order = [round(start + (epochs - start) * place / n_layers) for place in range(n_layers)]
    order.append(NEVER)
    return order if freezing.direction == "inputs-first" else order[::-1]
