"""How layers behave while they are trained: what is relaxed, and by what it is replaced.

A layer in `eval()` is the hard circuit. In `train()` its mode says which choices are open (the
phase) and what stands for them (the relaxation); everything else is fixed at its first choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor, nn

from dln.errors import TableError
from dln.train.options import GateGradient, Gumbel, Relaxation
from dln.train.torch.straight import straight_through


class Phase(Enum):
    """What is trained: the paper's phase I, its phase II, or both at once ("unified")."""

    GATES = "gates"
    LINKS = "links"
    BOTH = "both"

    def includes(self, other: Phase) -> bool:
        """Whether what the other phase trains is trained in this one."""
        return self in (Phase.BOTH, other)


@dataclass(frozen=True)
class Mode:
    """How the layers of a model behave in training; see `TrainOptions` for the fields."""

    phase: Phase = Phase.BOTH
    relaxation: Relaxation = "straight-through"
    gate_gradient: GateGradient = "hard"
    temperature: float = 1.0
    grad_factor: float = 1.0
    generator: torch.Generator | None = None

    @property
    def noise(self) -> float:
        """The scale of the noise on the logits."""
        if isinstance(self.relaxation, Gumbel):
            return self.relaxation.noise
        return Gumbel().noise if self.relaxation == "gumbel" else 0.0

    @property
    def is_soft(self) -> bool:
        """Whether mixtures flow forward; otherwise their first choices do."""
        return self.relaxation == "soft"


class RelaxedLayer(nn.Module):
    """A layer with discrete choices that are relaxed in training.

    Shapes are PyTorch's, rows first. Inside, wires come first, so that the rows of a wire lie
    side by side in memory: `evaluate` takes and gives (wires, rows), `forward` is its transpose,
    which copies nothing between two such layers.
    """

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.n_inputs = n_inputs
        self.mode = Mode()
        self.frozen = False

    def forward(self, rows: Tensor) -> Tensor:
        """Compute (rows, outputs) from (rows, inputs); there may be more dimensions before."""
        if rows.shape[-1] != self.n_inputs:
            raise TableError(
                f"the rows have {rows.shape[-1]} columns, expected {self.n_inputs} of them"
            )
        wires = rows.reshape(-1, self.n_inputs).mT.contiguous()
        outputs = self.evaluate(wires)
        return outputs.mT.reshape(*rows.shape[:-1], len(outputs))

    def evaluate(self, wires: Tensor) -> Tensor:
        """Compute (outputs, rows) from (inputs, rows)."""
        raise NotImplementedError

    def trains(self, phase: Phase) -> bool:
        """Whether the choices of this phase are open now."""
        return self.training and not self.frozen and self.mode.phase.includes(phase)

    def noisy(self, logits: Tensor) -> Tensor:
        """Add the noise of the mode to logits under training."""
        if self.mode.noise == 0.0:
            return logits
        exponential = torch.empty_like(logits).exponential_(generator=self.mode.generator)
        return logits - self.mode.noise * exponential.log()

    def choose(self, hard: Tensor, soft: Tensor) -> Tensor:
        """Let the mixture flow, or its first choice with the gradient of the mixture."""
        return soft if self.mode.is_soft else straight_through(hard, soft)

    def scale_gradient(self, output: Tensor) -> Tensor:
        """Multiply the gradient behind the layer by grad_factor; the value stays as it is."""
        factor = self.mode.grad_factor
        if factor != 1.0 and output.requires_grad:
            output.register_hook(lambda gradient: gradient * factor)  # type: ignore[no-untyped-call]
        return output


def set_mode(model: nn.Module, mode: Mode) -> None:
    """Set how all layers of a model behave in training.

    >>> layer = RelaxedLayer(n_inputs=3)
    >>> set_mode(nn.Sequential(layer), Mode(Phase.LINKS))
    >>> layer.trains(Phase.LINKS), layer.trains(Phase.GATES), layer.eval().trains(Phase.LINKS)
    (True, False, False)
    """
    for module in model.modules():
        if isinstance(module, RelaxedLayer):
            module.mode = mode


def freeze(layer: RelaxedLayer) -> None:
    """Fix a layer at its first choices; gradients still pass through to the layers before it."""
    layer.frozen = True
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
        parameter.grad = None
