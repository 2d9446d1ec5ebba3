"""A network of the paper's layers, made from a `Network` and written back to it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dln.core.literals import LiteralKind
from dln.encode.bits import evaluate_literals
from dln.errors import CircuitError
from dln.train.network import Network
from dln.train.torch.layers import LogicLayer, SumLayer, ThresholdLayer, WeightLayer
from dln.train.torch.mode import RelaxedLayer

Wires = NDArray[np.int64]


class LogicNetwork(nn.Module):
    """Encoded rows to points: thresholds and category matches, logic layers, and a head.

    The head counts votes for classes, or adds up the weights of a number.

    The wires are stored in chunks: the matches, one chunk for each threshold layer, and one for
    each logic layer. A layer reads the chunks that contain its candidates.

    Parameters
    ----------
    network
        Initial parameters and wiring; copied.
    """

    rules: Tensor | None

    def __init__(self, network: Network) -> None:
        super().__init__()
        groups = _literal_groups(network)
        self.match = _MatchLayer(network, groups[0])
        self.thresholds = nn.ModuleList(
            ThresholdLayer(
                network.literal_column[wires], network.cutoffs[wires], network.slopes[wires]
            )
            for wires in groups[1:]
        )
        self._threshold_wires = groups[1:]
        chunks = list(groups)
        self.logic = nn.ModuleList()
        self.reads: list[tuple[int, ...]] = []
        for gates in network.layer_slices():
            open_links = network.link_logits[gates] > -np.inf
            reads, wires = _localise(chunks, network.link_wires[gates], open_links)
            self.reads.append(reads)
            self.logic.append(
                LogicLayer.from_arrays(
                    sum(len(chunks[chunk]) for chunk in reads),
                    wires,
                    network.link_logits[gates],
                    network.gate_choices,
                    network.gate_logits[gates],
                )
            )
            chunks.append(network.n_literals + np.arange(gates.start, gates.stop))
        everything = np.ones(network.rule_wires.shape, dtype=bool)
        reads, rules = _localise(chunks, network.rule_wires, everything)
        self.reads.append(reads)
        n_read = sum(len(chunks[chunk]) for chunk in reads)
        # Usually the rules are exactly the last layer.
        in_order = np.array_equal(rules, np.arange(n_read))
        self.register_buffer("rules", None if in_order else torch.as_tensor(rules))
        self.head = _make_head(network)

    def forward(self, cells: Tensor) -> Tensor:
        """Compute the points (rows, classes), or (rows, 1), of encoded rows (rows, columns)."""
        columns = cells.mT.contiguous()
        chunks = [self.match.evaluate(columns)]
        chunks += [layer.evaluate(columns) for layer in self.thresholds]  # type: ignore[operator]
        for layer, reads in zip(self.logic, self.reads, strict=False):
            chunks.append(layer.evaluate(_join(chunks, reads)))  # type: ignore[operator]
        rules = _join(chunks, self.reads[-1])
        return self.head.evaluate(rules if self.rules is None else rules[self.rules]).mT

    def stages(self) -> list[list[RelaxedLayer]]:
        """List what freezes together: each logic layer with its thresholds, then the head."""
        stages: list[list[RelaxedLayer]] = [[layer] for layer in self.logic]  # type: ignore[list-item]
        for stage, layer in zip(stages, self.thresholds, strict=False):
            stage.append(layer)  # type: ignore[arg-type]
        return [*stages, [self.head]]

    def function_parameters(self) -> list[nn.Parameter]:
        """List what phase I trains besides thresholds: gate logits (the paper's W)."""
        return [layer.gate_logits for layer in self.logic]  # type: ignore[misc]

    def threshold_parameters(self) -> list[nn.Parameter]:
        """List the cutoffs and slopes, the paper's b and s."""
        return list(self.thresholds.parameters())

    def link_parameters(self) -> list[nn.Parameter]:
        """List what phase II trains: link and vote logits (the paper's U and V, and S)."""
        links: list[nn.Parameter] = [layer.link_logits for layer in self.logic]  # type: ignore[misc]
        return [*links, self.head.vote_logits] if isinstance(self.head, SumLayer) else links

    def weight_parameters(self) -> list[nn.Parameter]:
        """List the weights of rules, which phase II trains too; none if there are classes."""
        return [self.head.weights] if isinstance(self.head, WeightLayer) else []

    def write_to(self, network: Network) -> None:
        """Copy the parameters to the arrays of a network with the same wiring."""
        for wires, thresholds in zip(self._threshold_wires, self.thresholds, strict=True):
            network.cutoffs[wires] = _array(thresholds.cutoffs)
            network.slopes[wires] = _array(thresholds.slopes)
        network.link_logits[...] = np.concatenate([_array(x.link_logits) for x in self.logic])
        network.gate_logits[...] = np.concatenate([_array(x.gate_logits) for x in self.logic])
        if isinstance(self.head, WeightLayer):
            network.weights[...] = _array(self.head.weights)
        else:
            network.vote_logits[...] = _array(self.head.vote_logits)

    def read_from(self, network: Network) -> None:
        """Copy the parameters from the arrays of a network with the same wiring."""
        for wires, thresholds in zip(self._threshold_wires, self.thresholds, strict=True):
            _fill(thresholds.cutoffs, network.cutoffs[wires])
            _fill(thresholds.slopes, network.slopes[wires])
        for layer, gates in zip(self.logic, network.layer_slices(), strict=True):
            _fill(layer.link_logits, network.link_logits[gates])
            _fill(layer.gate_logits, network.gate_logits[gates])
        if isinstance(self.head, WeightLayer):
            _fill(self.head.weights, network.weights)
        else:
            _fill(self.head.vote_logits, network.vote_logits)


def _make_head(network: Network) -> SumLayer | WeightLayer:
    """Make the layer that turns rules into points, with the parameters of a network."""
    n_rules = len(network.rule_wires)
    if network.predicts_number:
        weights = WeightLayer(n_rules)
        _fill(weights.limits, network.weight_limits)
        _fill(weights.weights, network.weights)
        return weights
    votes = SumLayer(n_rules, len(network.vote_logits), vote_threshold=network.vote_threshold)
    _fill(votes.vote_logits, network.vote_logits)
    return votes


class _MatchLayer(nn.Module):
    """Category matches and tests for missing values: bits without parameters."""

    columns: Tensor
    values: Tensor
    kinds: Tensor

    def __init__(self, network: Network, wires: Wires) -> None:
        super().__init__()
        columns = network.literal_column[wires].astype(np.int64)
        self.register_buffer("columns", torch.as_tensor(columns))
        self.register_buffer("values", torch.as_tensor(network.cutoffs[wires]))
        self.register_buffer("kinds", torch.as_tensor(network.literal_kind[wires]))
        self.n_inputs = int(columns.max(initial=-1)) + 1

    def describe(self) -> list[tuple[LiteralKind, int, float]]:
        """List the kind, the column and the group of categories of each literal."""
        kinds = map(LiteralKind, self.kinds.tolist())
        return list(zip(kinds, self.columns.tolist(), self.values.tolist(), strict=True))

    def evaluate(self, columns: Tensor) -> Tensor:
        """Compute bits (literals, rows) from encoded columns (columns, rows)."""
        cells, values, kinds = columns[self.columns], self.values[:, None], self.kinds[:, None]
        parts = [(kinds == kind) & evaluate_literals(kind, cells, values) for kind in LiteralKind]
        return torch.stack(parts).any(dim=0).to(cells.dtype)


def _literal_groups(network: Network) -> list[Wires]:
    """Group the literals: those that are not thresholds, then the thresholds of each layer."""
    is_threshold = network.literal_kind == LiteralKind.ABOVE
    sets = np.unique(network.literal_layer[is_threshold])
    groups = [np.flatnonzero(is_threshold & (network.literal_layer == layer)) for layer in sets]
    return [np.flatnonzero(~is_threshold), *groups]


def _localise(
    chunks: list[Wires], wires: NDArray[np.int32], is_open: NDArray[np.bool_]
) -> tuple[tuple[int, ...], Wires]:
    """Find the chunks that contain some wires, and renumber the wires within these chunks."""
    n_wires = sum(map(len, chunks))
    if np.any(wires[is_open] >= n_wires):
        raise CircuitError("a gate reads its own layer or a later one; expected an earlier layer")
    chunk_of = np.empty(n_wires, dtype=np.int64)
    for number, chunk in enumerate(chunks):
        chunk_of[chunk] = number
    reads = tuple(int(number) for number in np.unique(chunk_of[wires[is_open]]))
    local = np.zeros(n_wires, dtype=np.int64)
    if reads:
        together = np.concatenate([chunks[number] for number in reads])
        local[together] = np.arange(len(together))
    # A masked candidate may name any wire, because it is never read.
    return reads, np.where(is_open, local[np.where(is_open, wires, 0)], 0)


def _join(chunks: list[Tensor], reads: tuple[int, ...]) -> Tensor:
    return chunks[reads[0]] if len(reads) == 1 else torch.cat([chunks[chunk] for chunk in reads])


def _array(parameter: object) -> NDArray[np.float32]:
    assert isinstance(parameter, Tensor)
    return parameter.detach().cpu().numpy()


@torch.no_grad()
def _fill(parameter: object, values: NDArray[np.float32]) -> None:
    assert isinstance(parameter, Tensor)
    parameter.copy_(torch.as_tensor(values))
