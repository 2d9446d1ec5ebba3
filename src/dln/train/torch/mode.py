"""How layers behave in training: which choices are relaxed, and how.

A layer in `eval()` is the hard circuit. In `train()` its mode has the phase (which choices are
trained) and the relaxation (what replaces them). Other choices are fixed at the most likely one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import torch
from torch import Tensor, nn

from dln.errors import TableError
from dln.train.options import GateGradient, Relaxation, VoteGradient
from dln.train.settings import Gumbel
from dln.train.torch.straight_through import straight_through


class Phase(Enum):
    """What is trained: the paper's phase I (gates), phase II (links), or both ("unified")."""

    GATES = "gates"
    LINKS = "links"
    BOTH = "both"

    def includes(self, other: Phase) -> bool:
        """Return whether this phase also trains what the other phase trains."""
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
    vote_gradient: VoteGradient = "soft"

    @property
    def noise(self) -> float:
        """Scale of the noise that is added to the logits."""
        if isinstance(self.relaxation, Gumbel):
            return self.relaxation.noise
        return Gumbel().noise if self.relaxation == "gumbel" else 0.0

    @property
    def is_soft(self) -> bool:
        """Whether the forward pass uses mixtures rather than the most likely choice."""
        return self.relaxation == "soft"


class RelaxedLayer(nn.Module):
    """A layer with discrete choices that are relaxed in training.

    `forward` takes and returns (rows, wires), as usual in PyTorch. `evaluate` takes and returns
    (wires, rows), so that the rows of a wire are contiguous in memory. The transposes between two
    such layers copy nothing.
    """

    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.n_inputs = n_inputs
        self.mode = Mode()
        self.frozen = False

    def forward(self, rows: Tensor) -> Tensor:
        """Compute (rows, outputs) from (rows, inputs); further leading dimensions are allowed."""
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
        """Return whether the choices of this phase are trained now."""
        return self.training and not self.frozen and self.mode.phase.includes(phase)

    def noisy(self, logits: Tensor) -> Tensor:
        """Add the noise of the mode to logits under training."""
        if self.mode.noise == 0.0:
            return logits
        exponential = torch.empty_like(logits).exponential_(generator=self.mode.generator)
        return logits - self.mode.noise * exponential.log()

    def choose(self, hard: Tensor, soft: Tensor) -> Tensor:
        """Return the mixture, or the most likely choice with the gradient of the mixture."""
        return soft if self.mode.is_soft else straight_through(hard, soft)

    def scale_gradient(self, output: Tensor) -> Tensor:
        """Multiply the gradient by grad_factor; the value stays the same."""
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
    """Fix a layer at its most likely choices. Gradients still reach the layers before it."""
    layer.frozen = True
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
        parameter.grad = None
