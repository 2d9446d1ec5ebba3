"""A network under training on a device: steps on batches of rows, and evaluation."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dln.train.jobs import Job
from dln.train.torch.layers import MIN_SLOPE, ThresholdLayer
from dln.train.torch.losses import ROW_LOSSES
from dln.train.torch.mode import Mode, Phase, set_mode
from dln.train.torch.network import LogicNetwork


class Trainer:
    """A model with its rows and Adam's moments on a device. A step does not wait for the device."""

    def __init__(self, job: Job, device: torch.device) -> None:
        self.device = device
        self.options = job.options
        self.row_losses = ROW_LOSSES[job.loss.name]
        self.model = LogicNetwork(job.network).to(device)
        self.cells = torch.as_tensor(job.data.cells).to(device)
        self.target = torch.as_tensor(job.data.target.astype(np.int64)).to(device)
        self.weight = torch.as_tensor(job.data.weight).to(device)
        self.temperature = 1.0
        self.generator = torch.Generator(device).manual_seed(job.options.seed % 2**63)
        n_classes = len(job.network.vote_logits)
        self.loss = torch.zeros((), dtype=torch.float64, device=device)
        self.weight_total = torch.zeros((), dtype=torch.float64, device=device)
        self.right = torch.zeros(n_classes, device=device)
        self.total = torch.zeros(n_classes, device=device)
        self.optimizers = self._make_optimizers()

    def _make_optimizers(self) -> dict[Phase, torch.optim.Adam]:
        # Only the parameters of the current phase are updated. The moments of the others,
        # and Adam's count of their steps, do not change.
        thresholds, part = self.model.threshold_parameters(), self.options.threshold_rate
        functions = [{"params": self.model.function_parameters(), "part": 1.0}]
        if part > 0 and thresholds:
            functions.append({"params": thresholds, "part": part})
        else:
            for parameter in thresholds:
                parameter.requires_grad_(False)
        links = [{"params": self.model.link_parameters(), "part": 1.0}]
        is_gpu = self.device.type == "cuda"
        return {
            Phase.GATES: torch.optim.Adam(functions, eps=1e-8, fused=is_gpu),
            Phase.LINKS: torch.optim.Adam(links, eps=1e-8, fused=is_gpu),
        }

    def step(self, rows: Tensor, phase: Phase, rate: float) -> None:
        """Train on some rows."""
        self.model.train()
        self._set_mode(phase)
        votes = self.model(self.cells[rows])
        target, weight = self.target[rows], self.weight[rows]
        losses = self.row_losses(votes, target, self.options.tau)
        total = weight.sum()
        loss = (losses * weight).sum() / total.clamp(min=1e-30)
        if loss.requires_grad:
            self.model.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            for trained, optimizer in self.optimizers.items():
                if phase.includes(trained):
                    for group in optimizer.param_groups:
                        group["lr"] = rate * group["part"]
                    optimizer.step()
            self._keep_slopes_positive()
        self._score(votes.detach(), target)
        self.loss += loss.detach() * total
        self.weight_total += total

    def _set_mode(self, phase: Phase) -> None:
        options = self.options
        mode = Mode(
            phase,
            options.relaxation,
            options.gate_gradient,
            self.temperature,
            options.grad_factor,
            self.generator,
            options.vote_gradient,
        )
        set_mode(self.model, mode)

    @torch.no_grad()
    def _keep_slopes_positive(self) -> None:
        for layer in self.model.thresholds:
            assert isinstance(layer, ThresholdLayer)
            layer.slopes.clamp_(min=MIN_SLOPE)

    def _score(self, votes: Tensor, target: Tensor) -> None:
        """Count correct predictions by class. A tie goes to the first class."""
        is_right = (votes.argmax(dim=1) == target).to(self.right.dtype)
        self.right.index_add_(0, target, is_right)
        self.total.index_add_(0, target, torch.ones_like(is_right))

    def collect(self) -> tuple[float, float]:
        """Return the loss and the balanced accuracy of the epoch, and start the next one."""
        loss = float(self.loss / self.weight_total.clamp(min=1e-30))
        accuracy = self._balanced_accuracy()
        self.loss.zero_()
        self.weight_total.zero_()
        return loss, accuracy

    def _balanced_accuracy(self) -> float:
        present = self.total > 0
        accuracy = (self.right[present].double() / self.total[present]).mean()
        self.right.zero_()
        self.total.zero_()
        return float(accuracy)

    @torch.no_grad()
    def evaluate(self, rows: NDArray[np.int64]) -> float:
        """Return the balanced accuracy of the hard network on some rows."""
        self.model.eval()
        places = torch.as_tensor(rows).to(self.device)
        size = max(self.options.batch_size, 256)
        for start in range(0, len(rows), size):
            part = places[start : start + size]
            self._score(self.model(self.cells[part]), self.target[part])
        return self._balanced_accuracy()
