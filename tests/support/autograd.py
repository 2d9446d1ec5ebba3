"""Gradients by PyTorch's autograd, for the tests of the engines."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from dln.train.jobs import Job
from dln.train.schedule import make_schedule
from dln.train.torch import LogicNetwork, Mode, Phase, freeze, set_mode
from dln.train.torch.losses import ROW_LOSSES

PARAMETERS = ("cutoffs", "slopes", "gate_logits", "link_logits", "vote_logits")


def torch_votes(job: Job) -> NDArray[np.float32]:
    """The votes (rows, classes) of the hard network, for the job's rows."""
    model = LogicNetwork(job.network).eval()
    with torch.no_grad():
        return np.asarray(model(torch.as_tensor(job.data.cells[job.rows])).numpy())


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
    votes = model(torch.as_tensor(data.cells[job.rows]))
    target = torch.as_tensor(data.target[job.rows].astype(np.int64))
    weight = torch.as_tensor(data.weight[job.rows])
    losses = ROW_LOSSES[job.loss.name](votes, target, options.tau)
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
