"""Gradients by PyTorch's autograd, for the tests of the engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from dln.train.jobs import Job
from dln.train.network import Network
from dln.train.schedule import make_schedule
from dln.train.torch import LogicNetwork, Mode, Phase, freeze, set_mode
from dln.train.torch.losses import ROW_LOSSES

_NATIVE = {
    "cutoffs": "cutoff",
    "slopes": "slope",
    "gate_logits": "gate_logit",
    "link_logits": "link_logit",
    "vote_logits": "vote_logit",
    "weights": "weight",
}
"""The names of a network's parameters in the native engine."""

PARAMETERS = tuple(_NATIVE)


def native_gradients(found: dict[str, Any], network: Network) -> dict[str, NDArray[np.float32]]:
    """The gradients of the native engine, in the network's names and shapes."""
    return {
        name: np.asarray(found[native], dtype=np.float32).reshape(getattr(network, name).shape)
        for name, native in _NATIVE.items()
    }


def assert_same_gradients(
    found: dict[str, NDArray[np.float32]], expected: dict[str, NDArray[np.float32]]
) -> None:
    """Gradients are equal up to a small part of the largest."""
    for name, values in expected.items():
        scale = max(float(np.abs(values).max(initial=0.0)), 1e-2)
        assert_allclose(found[name], values, atol=1e-4 * scale, err_msg=name)


def torch_points(job: Job) -> NDArray[np.float32]:
    """The votes (rows, classes) or scores (rows, 1) of the hard network, for the job's rows."""
    model = LogicNetwork(job.network).eval()
    with torch.no_grad():
        return np.asarray(
            _add_offset(job, model(torch.as_tensor(job.data.cells[job.rows]))).numpy()
        )


def _add_offset(job: Job, points: torch.Tensor) -> torch.Tensor:
    offset = job.data.offset
    return points if offset is None else points + torch.as_tensor(offset[job.rows])


def torch_target(job: Job) -> torch.Tensor:
    """The targets of the job's rows, as losses expect them."""
    target = torch.as_tensor(job.data.target[job.rows])
    return target if job.loss.readout == "score" else target.long()


def torch_gradients(job: Job, phase: Phase) -> tuple[float, dict[str, NDArray[np.float32]]]:
    """The loss and its gradient by autograd, in the network's shapes."""
    options, network = job.options, job.network.copy()
    model = LogicNetwork(network)
    schedule = make_schedule(options, network)
    temperature = float(schedule.temperatures[0])
    set_mode(
        model,
        Mode(
            phase,
            options.relaxation,
            options.gate_gradient,
            temperature,
            options.grad_factor,
            vote_gradient=options.vote_gradient,
        ),
    )
    epochs = [*schedule.layer_freeze.tolist(), schedule.vote_freeze]
    for layers, epoch in zip(model.stages(), epochs, strict=True):
        for layer in layers:
            if epoch == 0:
                freeze(layer)
    data = job.data
    points = _add_offset(job, model(torch.as_tensor(data.cells[job.rows])))
    weight = torch.as_tensor(data.weight[job.rows])
    losses = ROW_LOSSES[job.loss.name](points, torch_target(job), job)
    loss = (losses * weight).sum() / weight.sum()
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.zeros(()) if parameter.grad is None else parameter.grad)
    for part in network.parameters():
        part[...] = 0.0
    model.write_to(network)
    return float(loss.detach()), {name: getattr(network, name) for name in PARAMETERS}
