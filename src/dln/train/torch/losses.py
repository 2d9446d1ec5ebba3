"""The losses in PyTorch: the readable definition of the structs in `headers/head.h`."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.functional import cross_entropy, relu

from dln.train.jobs import Job
from dln.train.losses import ABSOLUTE, CROSS_ENTROPY, GAMMA, MEDIAN, POISSON, SQUARED

RowLosses = Callable[[Tensor, Tensor, Job], Tensor]
"""From points (rows, outputs), targets (rows,) and a job to the loss of each row (rows,).

The job has the settings of the loss.
"""


def softmax_losses(points: Tensor, target: Tensor, job: Job) -> Tensor:
    """Return the cross-entropy of the softmax of points / tau; targets are class numbers.

    In float64: in float32 the gradient p - 1 would be only rounding error if p is close to 1.
    """
    scaled = points.double() / job.options.tau
    return cross_entropy(scaled, target, reduction="none").to(points.dtype)


def squared_losses(points: Tensor, target: Tensor, job: Job) -> Tensor:
    """Return half the squared errors."""
    return (points[:, 0] - target) ** 2 / 2


def absolute_losses(points: Tensor, target: Tensor, job: Job) -> Tensor:
    """Return the absolute errors."""
    return (points[:, 0] - target).abs()


def quantile_losses(points: Tensor, target: Tensor, job: Job) -> Tensor:
    """Return the pinball losses: the best prediction is the quantile of the job's level."""
    error, level = points[:, 0] - target, job.loss.level
    return (1 - level) * relu(error) + level * relu(-error)


def poisson_losses(points: Tensor, target: Tensor, job: Job) -> Tensor:
    """Return half the Poisson deviance of the mean exp(points), without terms of the target."""
    return bounded_exp(points[:, 0]) - target * points[:, 0]


def gamma_losses(points: Tensor, target: Tensor, job: Job) -> Tensor:
    """Return half the gamma deviance of the mean exp(points), without terms of the target."""
    return target * bounded_exp(-points[:, 0]) + points[:, 0]


def bounded_exp(x: Tensor) -> Tensor:
    """Return exp(x), continued by its tangent above 30."""
    inside = x.clamp(max=30.0)
    return inside.exp() * (1 + x - inside)


ROW_LOSSES: dict[str, RowLosses] = {
    CROSS_ENTROPY.name: softmax_losses,
    SQUARED.name: squared_losses,
    ABSOLUTE.name: absolute_losses,
    MEDIAN.name: quantile_losses,
    POISSON.name: poisson_losses,
    GAMMA.name: gamma_losses,
}
"""The definition of each loss of `dln.train.losses`, by name."""
