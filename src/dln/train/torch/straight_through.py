"""Straight-through estimators: hard values forward, the gradients of the mixtures backward.

`straight_through` is the definition. The two functions below compute the same for gates and links,
but without the mixture itself, of which only the gradient is needed, and with little memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hard: Tensor, soft: Tensor) -> Tensor:
        return hard.view_as(hard)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, gradients[0]


straight_through: Callable[[Tensor, Tensor], Tensor] = _StraightThrough.apply
"""Return the hard value, with the gradient of the soft one.

The paper writes detach(f - g) + g. That is the same except for rounding; here the value is exact.
"""


def bilinear(coefficients: Tensor, inputs: Tensor) -> Tensor:
    """Evaluate gates with coefficients (gates, 4) on their inputs (gates, 2, rows)."""
    a, b = inputs.unbind(1)
    c0, c1, c2, c3 = coefficients[:, :, None].unbind(1)
    return torch.addcmul(torch.addcmul(c0, c2, b), a, torch.addcmul(c1, c3, b))


class _HardGates(torch.autograd.Function):
    """bilinear(hard, inputs), with the gradient of bilinear(straight_through(hard, soft), inputs).

    The gradient of the coefficients is four sums for each gate, computed as a matrix product.
    """

    @staticmethod
    def forward(ctx: Any, hard: Tensor, soft: Tensor, inputs: Tensor) -> Tensor:
        ctx.save_for_backward(hard, inputs)
        return bilinear(hard, inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hard, inputs = ctx.saved_tensors
        (gradient,) = gradients
        _, needs_soft, needs_inputs = ctx.needs_input_grad
        a, b = inputs.unbind(1)
        to_soft = to_inputs = None
        if needs_soft:
            pulls = torch.stack((gradient, gradient * a), dim=1)
            sums = torch.bmm(pulls, inputs.mT)  # (gates, 2, 2): ga gb / gaa gab
            total = gradient.sum(dim=1)
            to_soft = torch.stack((total, sums[:, 0, 0], sums[:, 0, 1], sums[:, 1, 1]), dim=1)
        if needs_inputs:
            _, c1, c2, c3 = hard[:, :, None].unbind(1)
            to_inputs = torch.empty_like(inputs)
            torch.mul(torch.addcmul(c1, c3, b), gradient, out=to_inputs[:, 0])
            torch.mul(torch.addcmul(c2, c3, a), gradient, out=to_inputs[:, 1])
        return None, to_soft, to_inputs


hard_gates: Callable[[Tensor, Tensor, Tensor], Tensor] = _HardGates.apply


class Readers:
    """For each wire, the inputs that may read it: the inverse of the candidate lists.

    Parameters
    ----------
    candidates, is_open
        The wires that each input may read, and which of them are not masked (inputs, candidates).
    n_wires
        Number of wires.
    """

    def __init__(self, candidates: Tensor, is_open: Tensor, n_wires: int) -> None:
        slots = is_open.flatten().nonzero()[:, 0]
        wires = candidates.flatten()[slots]
        self.slots = slots[torch.argsort(wires, stable=True)]
        self.inputs = self.slots // candidates.shape[1]
        counts = torch.bincount(wires, minlength=n_wires)
        self.starts = torch.cumsum(counts, dim=0) - counts

    def collect(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Add up the gradients (inputs, rows) of the readers of each wire."""
        shares = weights.flatten()[self.slots]
        return embedding_bag(
            self.inputs, gradient, self.starts, per_sample_weights=shares, mode="sum"
        )


class _HardLinks(torch.autograd.Function):
    """wires[source], with the gradient of the sum of candidates weighted by `weights`."""

    @staticmethod
    def forward(
        ctx: Any, wires: Tensor, weights: Tensor, candidates: Tensor, source: Tensor, readers: Any
    ) -> Tensor:
        ctx.save_for_backward(wires, weights, candidates)
        ctx.readers = readers
        return wires[source]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        wires, weights, candidates = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        needs_wires, needs_weights = ctx.needs_input_grad[:2]
        to_wires = ctx.readers.collect(weights, gradient) if needs_wires else None
        to_weights = _dot_candidates(gradient, wires, candidates) if needs_weights else None
        return to_wires, to_weights, None, None, None


hard_links: Callable[[Tensor, Tensor, Tensor, Tensor, Readers], Tensor] = _HardLinks.apply


def _dot_candidates(gradient: Tensor, wires: Tensor, candidates: Tensor) -> Tensor:
    """Multiply each input's gradient with the rows of all its candidates (inputs, candidates)."""
    n_inputs, n_candidates = candidates.shape
    bags = torch.arange(n_inputs, device=candidates.device)
    # The function that autograd uses for embedding bags; it does not copy the rows of candidates.
    backward = torch.ops.aten._embedding_bag_per_sample_weights_backward
    dots: Tensor = backward(
        gradient,
        wires,
        candidates.flatten(),
        bags * n_candidates,
        bags.repeat_interleave(n_candidates),
        0,
    )
    return dots.view(n_inputs, n_candidates)
