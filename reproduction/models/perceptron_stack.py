"""Perceptrons of one depth that train in parallel, as one stack of matrices (PyTorch).

Widths may differ: narrower networks are padded with units whose weights stay zero. On a GPU, the
steps of an epoch are recorded once and replayed (a CUDA graph), because launching them one by one
takes far longer than running them.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

_DECAYS, _TINY = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class Member:
    """One network: hidden layers, Adam's learning rate, weight decay and training rows."""

    hidden: tuple[int, ...]
    rate: float
    decay: float
    rows: NDArray[np.intp]


class Stack:
    """Networks in training on one table; each network has its own rows."""

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
        # Incomplete last batches are dropped, as in the program: fold sizes differ by a row.
        fewest = min(len(member.rows) for member in members)
        self._batch = min(batch_size, fewest)
        self._rows = self._put(np.stack([m.rows[:fewest] for m in members]).astype(np.int64))
        self._sizes = [(cells.shape[1], *member.hidden, n_classes) for member in members]
        self._class_weights = torch.stack([self._weights_of(m.rows, n_classes) for m in members])
        self._rate = self._put(np.array([[m.rate] for m in members], dtype=np.float32))
        self._decay = self._put(np.array([[m.decay] for m in members], dtype=np.float32))
        # One flat tensor (members, parameters): updating all layers at once is much faster.
        self._shapes, self._flat = self._draw()
        self._mean, self._square = torch.zeros_like(self._flat), torch.zeros_like(self._flat)
        # Adam's decay rates to the power of the number of steps so far.
        self._decays = torch.tensor(_DECAYS, device=self._device)
        self._decayed = torch.ones_like(self._decays)
        self._epoch: _Epoch | None = None

    def _put(self, values: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(values).to(self._device)

    def _weights_of(self, rows: NDArray[np.intp], n_classes: int) -> torch.Tensor:
        counts = torch.bincount(self._target[self._put(rows)], minlength=n_classes)
        return len(rows) / (n_classes * (counts + 0.1))

    def _draw(self) -> tuple[list[tuple[int, int]], torch.Tensor]:
        """Draw weights and biases of each layer; yield them as (from, to), zero where padded."""
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
        """Return the weights and biases of each layer, as views."""
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
        """Return an epoch's values, one-hot classes times row weights, and row weights."""
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
        """Take one step; `wanted` is the one-hot classes times the row weights."""
        values = [cells]
        for matrix, offsets in layers[:-1]:
            values.append(torch.baddbmm(offsets, values[-1], matrix).relu_())
        matrix, offsets = layers[-1]
        odds = torch.softmax(torch.baddbmm(offsets, values[-1], matrix), dim=2)
        # Gradient of the weighted cross-entropy, by hand: autograd takes twice as long.
        slope = odds.mul_(weights).sub_(wanted)
        gradients: list[torch.Tensor] = []
        for place in reversed(range(len(layers))):
            gradients += [slope.sum(dim=1), (values[place].transpose(1, 2) @ slope).flatten(1)]
            if place:
                slope = (slope @ layers[place][0].transpose(1, 2)).mul_(values[place] > 0)
        self._update(torch.cat(gradients[::-1], dim=1))

    def _update(self, gradient: torch.Tensor) -> None:
        """Take one Adam step with each network's own learning rate."""
        first, second = _DECAYS
        self._decayed.mul_(self._decays)
        gradient.addcmul_(self._flat, self._decay)
        self._mean.lerp_(gradient, 1 - first)
        self._square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        known_mean, known_square = (1 - self._decayed).unbind()
        spread = self._square.sqrt().div_(known_square.sqrt()).add_(_TINY)
        self._flat.addcmul_(self._rate / known_mean, self._mean / spread, value=-1)

    def predict(self, cells: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the predicted class of each row by each network: (members, rows)."""
        values = self._put(cells.astype(np.float32)).expand(len(self._rows), -1, -1)
        layers = self._layers()
        for weights, offsets in layers[:-1]:
            values = torch.baddbmm(offsets, values, weights).relu_()
        weights, offsets = layers[-1]
        odds = torch.baddbmm(offsets, values, weights)
        classes: NDArray[np.intp] = odds.argmax(dim=2).numpy(force=True)
        return classes

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Keep only the networks that still train."""
        if which.all():
            return
        self._epoch = None  # a recording refers to the tensors that it was made with
        chosen = self._put(np.flatnonzero(which))
        self._sizes = [self._sizes[place] for place in chosen.tolist()]
        self._rows, self._rate, self._decay, self._class_weights = (
            part[chosen] for part in (self._rows, self._rate, self._decay, self._class_weights)
        )
        self._flat, self._mean, self._square = (
            part[chosen] for part in (self._flat, self._mean, self._square)
        )

    def copy(self) -> Stack:
        """Copy everything that training changes."""
        twin = copy.copy(self)
        twin._flat = self._flat.clone()
        return twin

    def weights(self, member: int) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Return the weights (from, to) and biases (to,) of one network, without padding."""
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
    """Run the steps of an epoch; on a GPU, first one by one, then from a CUDA graph.

    It holds no reference to the stack: a reference cycle would be freed at some later time, and
    freeing memory during a recording breaks the recording.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_card = device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[torch.Tensor, ...] = ()

    def run(self, steps: Callable[..., None], *inputs: torch.Tensor) -> None:
        """Run all steps; they are the same in every epoch."""
        if self._graph is not None:
            for place, value in zip(self._inputs, inputs, strict=True):
                place.copy_(value)
            self._graph.replay()
            return
        steps(*inputs)
        if self._on_card:
            self._inputs, self._graph = inputs, torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # records the steps without running them
                steps(*inputs)
