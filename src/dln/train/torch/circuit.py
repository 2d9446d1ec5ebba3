"""Layers of a PyTorch model -> Circuit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from torch import nn

from dln.core.builder import CircuitBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.gates import GATES
from dln.core.labels import Label
from dln.core.literals import Above, Among, Column, Literal, LiteralKind, Missing
from dln.core.readout import Votes
from dln.errors import CircuitError
from dln.train.torch.layers import LogicLayer, SumLayer, ThresholdLayer
from dln.train.torch.network import LogicNetwork


def to_circuit(
    layers: LogicNetwork | Iterable[nn.Module],
    *,
    columns: Sequence[str | Column],
    classes: Sequence[Label],
    tau: float = 1.0,
) -> Circuit:
    """Discretise a `LogicNetwork`, or a sequence of threshold, logic and sum layers.

    Parameters
    ----------
    layers
        The network, or modules in order, for example an `nn.Sequential`.
    columns
        The inputs: names of number columns, or `Column` objects. Category matches of a network
        refer to the column's categories by number.
    classes
        Labels of the outputs of the sum layer.
    tau
        Divides the votes before the softmax.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> model = nn.Sequential(
    ...     ThresholdLayer([0, 0, 1], [0.5, 2.0, 1.0]),
    ...     LogicLayer(3, 4, rng=rng),
    ...     SumLayer(4, 2, rng=rng),
    ... )
    >>> circuit = to_circuit(model, columns=["size", "weight"], classes=["no", "yes"])
    >>> circuit.n_classes
    2
    """
    known = tuple(Column(c, "number") if isinstance(c, str) else c for c in columns)
    builder = CircuitBuilder(known, Votes.without_rules(tuple(classes), float(tau)))
    if isinstance(layers, LogicNetwork):
        thresholds = [layer for layer in layers.thresholds if isinstance(layer, ThresholdLayer)]
        if not isinstance(layers.head, SumLayer):
            raise CircuitError(
                "the network predicts a number, expected a network that votes for classes"
            )
        votes = layers.head
        n_read = max([layers.match.n_inputs, *(layer.n_inputs for layer in thresholds)])
        _check_names(known, classes, n_read, votes)
        rules = _build_network(builder, layers, thresholds)
    else:
        first, middle, votes = _split_chain(list(layers))
        _check_names(known, classes, first.n_inputs, votes)
        rules = _build_thresholds(builder, first)
        for layer in middle:
            rules = _build_gates(builder, layer, rules)
    for signal, given in zip(rules, votes.on.T.int().tolist(), strict=True):
        builder.vote(signal, tuple(given))
    return builder.finish()


def _split_chain(
    chain: list[nn.Module],
) -> tuple[ThresholdLayer, list[LogicLayer], SumLayer]:
    names = [type(layer).__name__ for layer in chain]
    middle = [layer for layer in chain[1:-1] if isinstance(layer, LogicLayer)]
    if len(chain) >= 2 and len(middle) == len(chain) - 2:
        first, last = chain[0], chain[-1]
        if isinstance(first, ThresholdLayer) and isinstance(last, SumLayer):
            widths = [len(first.columns), *(len(layer.gate_logits) for layer in middle)]
            wanted = [*(layer.n_inputs for layer in middle), last.n_inputs]
            if widths != wanted:
                raise CircuitError(
                    f"the layers output {widths} wires, but the next layers read {wanted}; "
                    "make these sizes equal"
                )
            return first, middle, last
    raise CircuitError(
        f"the layers are {names}, expected a ThresholdLayer, any number of LogicLayers and a "
        "SumLayer; pass only these, or a LogicNetwork"
    )


def _check_names(
    columns: tuple[Column, ...], classes: Sequence[Label], n_read: int, votes: SumLayer
) -> None:
    if n_read > len(columns) or len(classes) != len(votes.vote_logits):
        raise CircuitError(
            f"{len(columns)} columns and {len(classes)} classes were named, but the layers read "
            f"{n_read} columns and vote for {len(votes.vote_logits)} classes"
        )


def _build_network(
    builder: CircuitBuilder, network: LogicNetwork, thresholds: list[ThresholdLayer]
) -> list[Signal]:
    matches = [builder.literal(_literal(*parts)) for parts in network.match.describe()]
    chunks = [matches, *(_build_thresholds(builder, layer) for layer in thresholds)]
    for layer, reads in zip(network.logic, network.reads, strict=False):
        assert isinstance(layer, LogicLayer)
        wires = [signal for chunk in reads for signal in chunks[chunk]]
        chunks.append(_build_gates(builder, layer, wires))
    wires = [signal for chunk in network.reads[-1] for signal in chunks[chunk]]
    return wires if network.rules is None else [wires[wire] for wire in network.rules.tolist()]


def _literal(kind: LiteralKind, column: int, value: float) -> Literal:
    match kind:
        case LiteralKind.ABOVE:
            return Above(column, value)
        case LiteralKind.AMONG:
            return Among(column, (int(value),))
        case LiteralKind.MISSING:
            return Missing(column)
        case _:
            assert_never(kind)


def _build_thresholds(builder: CircuitBuilder, layer: ThresholdLayer) -> list[Signal]:
    thresholds = zip(layer.columns.tolist(), layer.cutoffs.tolist(), strict=True)
    return [builder.literal(Above(column, cutoff)) for column, cutoff in thresholds]


def _build_gates(builder: CircuitBuilder, layer: LogicLayer, signals: list[Signal]) -> list[Signal]:
    codes = layer.gate_choices[layer.gate_logits.argmax(dim=1)].tolist()
    best = layer.link_logits.argmax(dim=2, keepdim=True)
    sources = layer.link_wires.gather(2, best)[:, :, 0].tolist()
    return [
        builder.gate(GATES[code], signals[a], signals[b])
        for code, (a, b) in zip(codes, sources, strict=True)
    ]
