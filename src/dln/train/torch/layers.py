"""The paper's three layers, and a head for numbers.

Each formula of the paper's layers is a row of its table of layers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from dln._util.option import check_integer, check_number, options_of
from dln.core.gates import GATES, PRIORITY
from dln.errors import OptionError
from dln.train.network import draw_links, draw_votes, draw_weights, no_limits, vote_limit
from dln.train.options import FitOptions, VoteStart
from dln.train.torch.mode import Phase, RelaxedLayer
from dln.train.torch.straight_through import (
    Readers,
    bilinear,
    hard_gates,
    hard_links,
    straight_through,
)

MIN_SLOPE = 0.01
"""Differs from the paper: slopes stay positive, so a threshold is always x > b."""


class ThresholdLayer(RelaxedLayer):
    """Numbers to bits: Heaviside(s (x - b)), with the gradient of Sigmoid(s (x - b)) in phase I.

    Missing values (NaN) give 0.

    Parameters
    ----------
    columns
        The input of each threshold (thresholds,).
    cutoffs
        The initial cutoffs b (thresholds,), in the units of the inputs.
    slope
        The initial slope s, or one for each threshold; positive.
    n_inputs
        Number of inputs. By default the largest column that is read, plus 1.

    Examples
    --------
    >>> layer = ThresholdLayer([0, 0, 1], [0.5, 2.0, 1.0]).eval()
    >>> layer(torch.tensor([[1.0, 3.0], [float("nan"), 0.0]])).tolist()
    [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    columns: Tensor

    def __init__(
        self, columns: Any, cutoffs: Any, slope: Any = 2.0, *, n_inputs: int | None = None
    ) -> None:
        numbers = np.asarray(columns, dtype=np.int64)
        if numbers.ndim != 1 or numbers.shape != np.shape(cutoffs) or np.any(numbers < 0):
            raise OptionError(
                f"columns are {np.shape(columns)} and cutoffs {np.shape(cutoffs)}, expected two "
                "lists of the same length, the columns numbered from 0"
            )
        if not np.all(np.asarray(slope) >= MIN_SLOPE):
            raise OptionError(f"slope is {slope!r}, expected at least {MIN_SLOPE}")
        n_read = int(numbers.max(initial=-1)) + 1
        super().__init__(n_read if n_inputs is None else n_inputs)
        if n_read > self.n_inputs:
            raise OptionError(f"column {n_read - 1} is read, but n_inputs is {n_inputs}")
        self.register_buffer("columns", torch.as_tensor(numbers))
        self.cutoffs = nn.Parameter(_floats(cutoffs))
        self.slopes = nn.Parameter(_floats(slope).broadcast_to(self.cutoffs.shape).clone())

    def extra_repr(self) -> str:
        """Describe the size of the layer."""
        return f"{self.n_inputs}, {len(self.columns)}"

    def evaluate(self, wires: Tensor) -> Tensor:
        """Compute bits (thresholds, rows) from numbers (inputs, rows)."""
        cutoffs = self.cutoffs[:, None]
        cells = wires[self.columns].to(cutoffs.dtype)
        hard = (cells > cutoffs).to(cutoffs.dtype)
        if not self.trains(Phase.GATES):
            return hard
        known = ~cells.isnan()
        distance = torch.where(known, cells - cutoffs, torch.zeros_like(cells))
        slopes = self.slopes.clamp(min=MIN_SLOPE)[:, None]
        soft = torch.where(known, torch.sigmoid(slopes * distance), torch.zeros_like(cells))
        return self.scale_gradient(self.choose(hard, soft))


class LogicLayer(RelaxedLayer):
    """Two-input gates whose functions and inputs are both learned.

    Every gate is bilinear, y = c0 + c1 a + c2 b + c3 ab. So a mixture of gate functions is a
    mixture of four coefficients, and a mixture of wires is a weighted sum of their values.

    Parameters
    ----------
    n_inputs, n_outputs
        Number of input wires and of gates.
    n_links
        Candidate wires for each input of a gate, drawn at random; None means all.
    n_gates
        Number of gate functions to choose from, in the paper's order of priority.
    rng
        Draws the candidates and the initial logits. By default `torch.manual_seed` decides.

    Examples
    --------
    >>> layer = LogicLayer(6, 4, n_links=3, rng=np.random.default_rng(0)).eval()
    >>> bits = torch.randint(0, 2, (5, 6)).float()
    >>> layer(bits).shape
    torch.Size([5, 4])
    """

    link_wires: Tensor
    gate_choices: Tensor
    coefficients: Tensor

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        n_links: int | None = 8,
        n_gates: int = 8,
        rng: np.random.Generator | None = None,
    ) -> None:
        check_integer("n_inputs", n_inputs, 1, 2**31)
        check_integer("n_outputs", n_outputs, 1, 2**31)
        check_integer("n_links", n_inputs if n_links is None else n_links, 1, 2**31)
        check_integer("n_gates", n_gates, 1, 16)
        rng = _torch_rng() if rng is None else rng
        wires = draw_links(np.arange(n_inputs), 2 * n_outputs, n_links, rng)
        choices = np.array([gate.code for gate in PRIORITY[:n_gates]], dtype=np.uint8)
        link_logits = rng.uniform(-0.1, 0.1, (n_outputs, 2, wires.shape[1]))
        gate_logits = rng.uniform(-0.1, 0.1, (n_outputs, n_gates))
        self._set(n_inputs, wires.reshape(link_logits.shape), link_logits, choices, gate_logits)

    @classmethod
    def from_arrays(
        cls,
        n_inputs: int,
        link_wires: NDArray[Any],
        link_logits: NDArray[Any],
        gate_choices: NDArray[np.uint8],
        gate_logits: NDArray[Any],
    ) -> LogicLayer:
        """Make a layer from arrays: links (gates, 2, candidates), gates (gates, choices).

        A logit of minus infinity masks its candidate or its function.
        """
        layer = cls.__new__(cls)
        layer._set(n_inputs, link_wires, link_logits, gate_choices, gate_logits)
        return layer

    def _set(
        self,
        n_inputs: int,
        link_wires: NDArray[Any],
        link_logits: NDArray[Any],
        gate_choices: NDArray[np.uint8],
        gate_logits: NDArray[Any],
    ) -> None:
        super().__init__(n_inputs)
        coefficients = [GATES[code].coefficients for code in gate_choices.tolist()]
        self.register_buffer("link_wires", torch.as_tensor(link_wires.astype(np.int64)))
        self.register_buffer("gate_choices", torch.as_tensor(gate_choices.astype(np.int64)))
        self.register_buffer("coefficients", _floats(coefficients))
        self.link_logits = nn.Parameter(_floats(link_logits))
        self.gate_logits = nn.Parameter(_floats(gate_logits))
        self._readers: tuple[tuple[Any, ...], Readers] | None = None

    def extra_repr(self) -> str:
        """Describe the size of the layer."""
        n_outputs, n_gates = self.gate_logits.shape
        return (
            f"{self.n_inputs}, {n_outputs}, n_links={self.link_logits.shape[2]}, n_gates={n_gates}"
        )

    def evaluate(self, wires: Tensor) -> Tensor:
        """Compute the gates (gates, rows) from their candidates (wires, rows)."""
        inputs = self.read_links(wires)
        hard = self.coefficients[self.gate_logits.argmax(dim=1)]
        if not self.trains(Phase.GATES):
            return self.scale_gradient(hard_gates(hard, hard, inputs))
        logits = self.noisy(self.gate_logits)
        if self.mode.noise:
            hard = self.coefficients[logits.argmax(dim=1)]
        soft = torch.softmax(logits / self.mode.temperature, dim=1) @ self.coefficients
        if self.mode.is_soft:
            gates = bilinear(soft, inputs)
        elif self.mode.gate_gradient == "mixture":
            gates = straight_through(bilinear(hard, inputs).detach(), bilinear(soft, inputs))
        else:
            # As in the authors' program, the straight-through estimator is applied to the weights,
            # so the inputs get the gradient of the hard gate. Differs from the paper: its formula,
            # taken literally, applies it to the output, which is gate_gradient="mixture".
            gates = hard_gates(hard, soft, inputs)
        return self.scale_gradient(gates)

    def read_links(self, wires: Tensor) -> Tensor:
        """Read the inputs a and b of each gate (gates, 2, rows)."""
        wires = wires.to(self.link_logits.dtype)
        training = self.trains(Phase.LINKS)
        logits = (self.noisy(self.link_logits) if training else self.link_logits).flatten(0, 1)
        candidates = self.link_wires.flatten(0, 1)
        source = candidates.gather(1, logits.argmax(dim=1, keepdim=True))[:, 0]
        if not training:
            inputs = wires[source]
        else:
            weights = torch.softmax(logits / self.mode.temperature, dim=1)
            if self.mode.is_soft:
                inputs = embedding_bag(candidates, wires, per_sample_weights=weights, mode="sum")
            else:
                readers = self._find_readers(candidates, logits, len(wires))
                inputs = hard_links(wires, weights, candidates, source, readers)
        return inputs.view(len(self.link_logits), 2, wires.shape[1])

    def _find_readers(self, candidates: Tensor, logits: Tensor, n_wires: int) -> Readers:
        # The wiring rarely changes (new device, loaded state). The readers are computed only then.
        key = (self.link_wires.data_ptr(), self.link_wires._version, self.link_wires.device)
        if self._readers is None or self._readers[0] != key:
            is_open = logits.detach() > -torch.inf
            self._readers = (key, Readers(candidates, is_open, n_wires))
        return self._readers[1]


class SumLayer(RelaxedLayer):
    """Rules to votes: each class counts the true rules that are linked to it.

    A link is on if Sigmoid(S) is at least the threshold. In phase II, gradients use Sigmoid(S).

    Examples
    --------
    >>> layer = SumLayer(3, 2).eval()
    >>> with torch.no_grad():
    ...     layer.vote_logits.copy_(torch.tensor([[2.0, 2.0, 0.0], [0.0, 0.0, 2.0]])).shape
    torch.Size([2, 3])
    >>> layer(torch.tensor([[1.0, 1.0, 1.0]])).tolist()
    [[2.0, 1.0]]
    """

    def __init__(
        self,
        n_inputs: int,
        n_classes: int,
        *,
        vote_threshold: float = FitOptions.vote_threshold,
        vote_density: float | VoteStart = 0.4,
        rng: np.random.Generator | None = None,
    ) -> None:
        check_integer("n_inputs", n_inputs, 1, 2**31)
        check_integer("n_classes", n_classes, 1, 2**31)
        options_of(FitOptions)["vote_threshold"].read(vote_threshold)
        if vote_density != "undecided":
            check_number("vote_density", vote_density, 0.0, 1.0)
        super().__init__(n_inputs)
        rng = _torch_rng() if rng is None else rng
        self.vote_threshold = vote_threshold
        logits = draw_votes((n_classes, n_inputs), self.limit, vote_density, rng)
        self.vote_logits = nn.Parameter(_floats(logits))

    def extra_repr(self) -> str:
        """Describe the size of the layer."""
        return f"{self.n_inputs}, {len(self.vote_logits)}"

    @property
    def limit(self) -> float:
        """The smallest logit for which a link is on, as float32."""
        return float(np.float32(vote_limit(self.vote_threshold)))

    @property
    def on(self) -> Tensor:
        """Which links are on (classes, rules)."""
        return self.vote_logits >= self.limit

    def evaluate(self, wires: Tensor) -> Tensor:
        """Count votes (classes, rows) of rules (rules, rows)."""
        # In half precision, sums above 256 are not exact.
        wires = wires.to(torch.promote_types(wires.dtype, torch.float32))
        on = self.on.to(wires.dtype)
        if not self.trains(Phase.LINKS):
            return on @ wires
        shares = torch.sigmoid(self.vote_logits).to(wires.dtype)
        if self.mode.vote_gradient == "hard" and not self.mode.is_soft:
            # As in the authors' program, the straight-through estimator is applied to the links,
            # so rules get the gradient of the links that are on.
            return straight_through(on, shares) @ wires
        soft = shares @ wires
        return soft if self.mode.is_soft else straight_through(on @ wires.detach(), soft)


class WeightLayer(RelaxedLayer):
    """Rules to a number: the bias plus the weights of the true rules.

    Differs from the paper, which has classes. The weights are trained with the links.

    Examples
    --------
    >>> layer = WeightLayer(2).eval()
    >>> with torch.no_grad():
    ...     layer.weights.copy_(torch.tensor([0.5, -2.0, 1.0])).shape
    torch.Size([3])
    >>> layer(torch.tensor([[1.0, 0.0], [1.0, 1.0]])).tolist()
    [[1.5], [-0.5]]
    """

    limits: Tensor

    def __init__(self, n_inputs: int, *, rng: np.random.Generator | None = None) -> None:
        check_integer("n_inputs", n_inputs, 1, 2**31)
        super().__init__(n_inputs)
        self.weights = nn.Parameter(
            _floats(draw_weights(n_inputs, _torch_rng() if rng is None else rng))
        )
        self.register_buffer("limits", _floats(no_limits(n_inputs + 1)))

    def extra_repr(self) -> str:
        """Describe the size of the layer."""
        return f"{self.n_inputs}"

    def evaluate(self, wires: Tensor) -> Tensor:
        """Compute the number (1, rows) of rules (rules, rows)."""
        weights = self.weights if self.trains(Phase.LINKS) else self.weights.detach()
        wires = wires.to(torch.promote_types(wires.dtype, weights.dtype))
        return (weights[:-1] @ wires + weights[-1])[None]

    @torch.no_grad()
    def mask(self, is_masked: Tensor) -> None:
        """Keep the weights of some rules (rules,) at 0."""
        self.limits[:, :-1].masked_fill_(is_masked, 0.0)
        self.keep_limits()

    @torch.no_grad()
    def keep_limits(self) -> None:
        """Move weights that are beyond their limits to them."""
        self.weights.copy_(self.weights.clamp(*self.limits))


def _torch_rng() -> np.random.Generator:
    """Make a NumPy generator that depends on `torch.manual_seed`."""
    return np.random.default_rng(int(torch.randint(2**63 - 1, ())))


def _floats(values: Any) -> Tensor:
    return torch.tensor(np.asarray(values, dtype=np.float32))
