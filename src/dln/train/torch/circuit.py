"""Layers of a PyTorch model -> Circuit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import nn

from dln.builder import CircuitBuilder, Signal
from dln.circuit import Circuit
from dln.errors import CircuitError
from dln.gates import GATES
from dln.labels import Label
from dln.literals import Above, Column
from dln.train.torch.layers import LogicLayer, SumLayer, ThresholdLayer


def to_circuit(
    layers: Iterable[nn.Module],
    *,
    columns: Sequence[str | Column],
    classes: Sequence[Label],
    tau: float = 1.0,
) -> Circuit:
    """Discretise a chain of layers: one threshold layer, logic layers, one sum layer.

    Parameters
    ----------
    layers
        The modules in order, such as an `nn.Sequential`.
    columns
        The inputs of the threshold layer: names of number columns, or `Column`s.
    classes
        Labels of the outputs of the sum layer.
    tau
        What divides the votes before the softmax.

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
    chain = list(layers)
    kinds = [type(layer) for layer in chain]
    expected = [ThresholdLayer, *[LogicLayer] * (len(chain) - 2), SumLayer]
    if len(chain) < 2 or kinds != expected:
        raise CircuitError(
            f"the layers are {[kind.__name__ for kind in kinds]}, expected a ThresholdLayer, any "
            "number of LogicLayers and a SumLayer; hand over these alone"
        )
    first, *middle, last = chain
    assert isinstance(first, ThresholdLayer)
    assert isinstance(last, SumLayer)
    known = tuple(Column(c, "number") if isinstance(c, str) else c for c in columns)
    n_read = max(first.columns.tolist(), default=-1) + 1
    if n_read > len(known) or len(classes) != len(last.vote_logits):
        raise CircuitError(
            f"{len(known)} columns and {len(classes)} classes were named, but the layers read "
            f"{n_read} columns and vote for {len(last.vote_logits)} classes"
        )
    builder = CircuitBuilder(known, tuple(classes), float(tau))
    thresholds = zip(first.columns.tolist(), first.cutoffs.tolist(), strict=True)
    signals = [builder.literal(Above(column, cutoff)) for column, cutoff in thresholds]
    for layer in middle:
        assert isinstance(layer, LogicLayer)
        signals = _build_gates(builder, layer, signals)
    on = (last.vote_logits >= last.limit).T.int().tolist()
    for signal, votes in zip(signals, on, strict=True):
        builder.vote(signal, tuple(votes))
    return builder.finish()


def _build_gates(builder: CircuitBuilder, layer: LogicLayer, signals: list[Signal]) -> list[Signal]:
    codes = layer.gate_choices[layer.gate_logits.argmax(dim=1)].tolist()
    best = layer.link_logits.argmax(dim=2, keepdim=True)
    sources = layer.link_wires.gather(2, best)[:, :, 0].tolist()
    return [
        builder.gate(GATES[code], signals[a], signals[b])
        for code, (a, b) in zip(codes, sources, strict=True)
    ]
