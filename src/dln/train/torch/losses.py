"""The losses in PyTorch: the readable definition of the structs in `headers/head.h`."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.functional import cross_entropy

from dln.train.losses import CROSS_ENTROPY

RowLosses = Callable[[Tensor, Tensor, float], Tensor]
"""From points (rows, outputs), targets (rows,) and tau to the loss of each row (rows,)."""


def softmax_losses(points: Tensor, target: Tensor, tau: float) -> Tensor:
    """Return the cross-entropy of the softmax of points / tau; targets are class numbers.

    In float64: in float32 the gradient p - 1 would be only rounding error if p is close to 1.
    """
    return cross_entropy(points.double() / tau, target, reduction="none").to(points.dtype)


ROW_LOSSES: dict[str, RowLosses] = {CROSS_ENTROPY.name: softmax_losses}
"""The definition of each loss of `dln.train.losses`, by name."""
