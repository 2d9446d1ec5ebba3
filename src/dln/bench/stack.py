"""Perceptrons of one depth that train side by side, as one stack of matrices (PyTorch).

Widths may differ: narrower networks are padded with units whose weights are and stay zero. On a
card the steps of an epoch are recorded once and played back (a CUDA graph): one by one, starting
them would take far longer than they do.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.errors import ExtraMissingError

try:
    import torch
except ImportError as error:
    raise ExtraMissingError.for_packages("training perceptrons", "torch") from error

_DECAYS, _TINY = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class Member:
    """One network: its hidden layers, Adam's rate, the weight decay and its training rows."""

    hidden: tuple[int, ...]
    rate: float
    decay: float
    rows: NDArray[np.intp]


class Stack:
    """Networks under training on rows of one table, each on rows of its own."""

    def __init__(
        self,
        members: Sequence[Member],
        cells: NDArray[np.float64],
        target: NDArray[np.intp],
        *,
        n_classes: int,
        batch_size: int,
        seed: int,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        torch.set_num_threads(threads)
        self._rng = torch.Generator().manual_seed(seed)
        self._device = torch.device(device)
        self._cells = self._put(cells.astype(np.float32))
        self._target = self._put(target.astype(np.int64))
        # Folds differ by a row: incomplete last batches are dropped, as in the paper.
        fewest = min(len(member.rows) for member in members)
        self._batch = min(batch_size, fewest)
        self._rows = self._put(np.stack([m.rows[:fewest] for m in members]).astype(np.int64))
        self._sizes = [(cells.shape[1], *member.hidden, n_classes) for member in members]
        self._class_weights = torch.stack([self._weights_of(m.rows, n_classes) for m in members])
        self._rate = self._put(np.array([[m.rate] for m in members], dtype=np.float32))
        self._decay = self._put(np.array([[m.decay] for m in members], dtype=np.float32))
        # One flat tensor (members, parameters): an update of all layers at once is much faster.
        self._shapes, self._flat = self._draw()
        self._mean, self._square = torch.zeros_like(self._flat), torch.zeros_like(self._flat)
        # Adam's decays to the power of the steps so far.
        self._decays = torch.tensor(_DECAYS, device=self._device)
        self._decayed = torch.ones_like(self._decays)
        self._epoch: _Epoch | None = None

    def _put(self, values: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(values).to(self._device)

    def _weights_of(self, rows: NDArray[np.intp], n_classes: int) -> torch.Tensor:
        counts = torch.bincount(self._target[self._put(rows)], minlength=n_classes)
        return len(rows) / (n_classes * (counts + 0.1))

    def _draw(self) -> tuple[list[tuple[int, int]], torch.Tensor]:
        """Draw weights and offsets in turn; gives their shapes (from, to), zero where padded."""
        shapes, parts = [], []
        by_layer = list(zip(*self._sizes, strict=True))
        for below, above in itertools.pairwise(by_layer):
            matrix = torch.zeros((len(self._sizes), max(below), max(above)))
            for place, (n_below, n_above) in enumerate(zip(below, above, strict=True)):
                drawn = torch.randn((n_below, n_above), generator=self._rng)
                matrix[place, :n_below, :n_above] = drawn * (2.0 / n_below) ** 0.5
            shapes += [(max(below), max(above)), (1, max(above))]
            parts += [matrix.flatten(1), torch.zeros((len(self._sizes), max(above)))]
        return shapes, torch.cat(parts, dim=1).to(self._device)

    def _layers(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Give weights and offsets of each layer, as views."""
        parts, start = [], 0
        for below, above in self._shapes:
            end = start + below * above
            parts.append(self._flat[:, start:end].view(-1, below, above))
            start = end
        return list(zip(parts[::2], parts[1::2], strict=True))

    def train(self, epochs: int) -> None:
        """Train for some epochs."""
        if self._epoch is None:
            self._epoch = _Epoch(self._device)
        for _ in range(epochs):
            self._epoch.run(self._train_steps, *self._next_rows())

    def _next_rows(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Give an epoch's cells, classes as one-hot columns times weights, and weights of rows."""
        n_steps = self._rows.shape[1] // self._batch
        order = torch.randperm(self._rows.shape[1], generator=self._rng).to(self._device)
        rows = self._rows[:, order[: n_steps * self._batch]]
        target = self._target[rows]
        weights = torch.gather(self._class_weights, 1, target)
        by_step = weights.view(len(rows), n_steps, self._batch)
        weights = (by_step / by_step.sum(dim=2, keepdim=True)).view(*rows.shape, 1)
        wanted = torch.nn.functional.one_hot(target, self._class_weights.shape[1]) * weights
        return self._cells[rows], wanted, weights

    def _train_steps(
        self, cells: torch.Tensor, wanted: torch.Tensor, weights: torch.Tensor
    ) -> None:
        layers = self._layers()
        for start in range(0, cells.shape[1], self._batch):
            batch = slice(start, start + self._batch)
            self._train_batch(layers, cells[:, batch], wanted[:, batch], weights[:, batch])

    def _train_batch(
        self,
        layers: list[tuple[torch.Tensor, torch.Tensor]],
        cells: torch.Tensor,
        wanted: torch.Tensor,
        weights: torch.Tensor,
    ) -> None:
        """Take a step; `wanted` are the classes as one-hot columns times the rows' weights."""
        values = [cells]
        for matrix, offsets in layers[:-1]:
            values.append(torch.baddbmm(offsets, values[-1], matrix).relu_())
        matrix, offsets = layers[-1]
        odds = torch.softmax(torch.baddbmm(offsets, values[-1], matrix), dim=2)
        # The gradient of the weighted cross-entropy, by hand: autograd would take twice as long.
        slope = odds.mul_(weights).sub_(wanted)
        gradients: list[torch.Tensor] = []
        for place in reversed(range(len(layers))):
            gradients += [slope.sum(dim=1), (values[place].transpose(1, 2) @ slope).flatten(1)]
            if place:
                slope = (slope @ layers[place][0].transpose(1, 2)).mul_(values[place] > 0)
        self._update(torch.cat(gradients[::-1], dim=1))

    def _update(self, gradient: torch.Tensor) -> None:
        """Take a step of Adam, with every network's own rate."""
        first, second = _DECAYS
        self._decayed.mul_(self._decays)
        gradient.addcmul_(self._flat, self._decay)
        self._mean.lerp_(gradient, 1 - first)
        self._square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        known_mean, known_square = (1 - self._decayed).unbind()
        spread = self._square.sqrt().div_(known_square.sqrt()).add_(_TINY)
        self._flat.addcmul_(self._rate / known_mean, self._mean / spread, value=-1)

    def predict(self, cells: NDArray[np.float64]) -> NDArray[np.intp]:
        """Give the classes of rows by every network: (members, rows)."""
        values = self._put(cells.astype(np.float32)).expand(len(self._rows), -1, -1)
        layers = self._layers()
        for weights, offsets in layers[:-1]:
            values = torch.baddbmm(offsets, values, weights).relu_()
        weights, offsets = layers[-1]
        odds = torch.baddbmm(offsets, values, weights)
        classes: NDArray[np.intp] = odds.argmax(dim=2).numpy(force=True)
        return classes

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Leave out the networks that need no further training."""
        if which.all():
            return
        self._epoch = None  # a recording holds the tensors that it was made with
        chosen = self._put(np.flatnonzero(which))
        self._sizes = [self._sizes[place] for place in chosen.tolist()]
        self._rows, self._rate, self._decay, self._class_weights = (
            part[chosen] for part in (self._rows, self._rate, self._decay, self._class_weights)
        )
        self._flat, self._mean, self._square = (
            part[chosen] for part in (self._flat, self._mean, self._square)
        )

    def copy(self) -> Stack:
        """Copy what training changes."""
        twin = copy.copy(self)
        twin._flat = self._flat.clone()
        return twin

    def weights(self, member: int) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Give matrices (from, to) and offsets (to,) of one network, without padding."""
        sizes = self._sizes[member]
        return [
            (
                matrix[member, :below, :above].numpy(force=True).copy(),
                offsets[member, 0, :above].numpy(force=True).copy(),
            )
            for (matrix, offsets), below, above in zip(
                self._layers(), sizes[:-1], sizes[1:], strict=True
            )
        ]


class _Epoch:
    """Runs the steps of an epoch; on a card the first time one by one, then from a recording.

    It does not hold the stack whose steps it runs: in a circle, both would be freed some time
    later, and what is freed during a recording spoils it.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_card = device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[torch.Tensor, ...] = ()

    def run(self, steps: Callable[..., None], *inputs: torch.Tensor) -> None:
        """Take all steps, always the same ones."""
        if self._graph is not None:
            for place, value in zip(self._inputs, inputs, strict=True):
                place.copy_(value)
            self._graph.replay()
            return
        steps(*inputs)
        if self._on_card:
            self._inputs, self._graph = inputs, torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # records, and runs nothing
                steps(*inputs)
