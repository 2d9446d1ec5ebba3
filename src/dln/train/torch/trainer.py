"""A network under training on a device: steps on batches of rows, and evaluation."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dln.train.jobs import Job
from dln.train.torch.layers import MIN_SLOPE, ThresholdLayer, WeightLayer
from dln.train.torch.losses import ROW_LOSSES
from dln.train.torch.mode import Mode, Phase, set_mode
from dln.train.torch.network import LogicNetwork


class Trainer:
    """A model with its rows and Adam's moments on a device. A step does not wait for the device."""

    def __init__(self, job: Job, device: torch.device) -> None:
        self.device = device
        self.job = job
        self.options = job.options
        self.model = LogicNetwork(job.network).to(device)
        self.cells = torch.as_tensor(job.data.cells).to(device)
        self.is_number = job.loss.readout == "score"
        kind = np.float32 if self.is_number else np.int64
        self.target = torch.as_tensor(job.data.target.astype(kind)).to(device)
        given = job.data.offset
        self.offset = None if given is None else torch.as_tensor(given).to(device)
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
        if weights := self.model.weight_parameters():
            links.append({"params": weights, "part": self.options.weight_rate})
        is_gpu = self.device.type == "cuda"
        return {
            Phase.GATES: torch.optim.Adam(functions, eps=1e-8, fused=is_gpu),
            Phase.LINKS: torch.optim.Adam(links, eps=1e-8, fused=is_gpu),
        }

    def step(self, rows: Tensor, phase: Phase, rate: float) -> None:
        """Train on some rows."""
        self.model.train()
        self._set_mode(phase)
        points, losses = self._evaluate(rows)
        weight = self.weight[rows]
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
            self._keep_limits()
        self._count_right(points.detach(), rows)
        self.loss += loss.detach() * total
        self.weight_total += total

    def _evaluate(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the points (rows, outputs) and the losses (rows,) of some rows."""
        points = self.model(self.cells[rows])
        if self.offset is not None:
            points = points + self.offset[rows]
        return points, ROW_LOSSES[self.job.loss.name](points, self.target[rows], self.job)

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
    def _keep_limits(self) -> None:
        for layer in self.model.thresholds:
            assert isinstance(layer, ThresholdLayer)
            layer.slopes.clamp_(min=MIN_SLOPE)
        if isinstance(self.model.head, WeightLayer):
            self.model.head.keep_limits()

    def mask_rules(self, is_masked: NDArray[np.bool_]) -> None:
        """Keep the weights of some rules (rules,) at 0. Votes are masked by their logits."""
        if isinstance(self.model.head, WeightLayer):
            self.model.head.mask(torch.as_tensor(is_masked).to(self.device))

    def _count_right(self, points: Tensor, rows: Tensor) -> None:
        """Count correct predictions by class. A tie goes to the first class."""
        if self.is_number:
            return
        target = self.target[rows]
        is_right = (points.argmax(dim=1) == target).to(self.right.dtype)
        self.right.index_add_(0, target, is_right)
        self.total.index_add_(0, target, torch.ones_like(is_right))

    def collect(self) -> tuple[float, float]:
        """Return the loss and the score of the epoch, and start the next one."""
        loss = float(self.loss / self.weight_total.clamp(min=1e-30))
        score = -loss if self.is_number else self._balanced_accuracy()
        self.loss.zero_()
        self.weight_total.zero_()
        return loss, score

    def _balanced_accuracy(self) -> float:
        present = self.total > 0
        accuracy = (self.right[present].double() / self.total[present]).mean()
        self.right.zero_()
        self.total.zero_()
        return float(accuracy)

    @torch.no_grad()
    def evaluate(self, rows: NDArray[np.int64]) -> float:
        """Return the score of the hard network: balanced accuracy, or minus the mean loss."""
        self.model.eval()
        loss = weight = 0.0
        places = torch.as_tensor(rows).to(self.device)
        size = max(self.options.batch_size, 256)
        for start in range(0, len(rows), size):
            part = places[start : start + size]
            points, losses = self._evaluate(part)
            self._count_right(points, part)
            if self.is_number:
                loss += float((losses.double() * self.weight[part]).sum())
                weight += float(self.weight[part].double().sum())
        return -loss / max(weight, 1e-30) if self.is_number else self._balanced_accuracy()
