"""The paper's layers and those of the authors' program, defined once more in PyTorch's autograd.

Written from the formulas of the paper and from facts about the program, in float64, without any
code of dln or of the program. The numbers that it computes are recorded in
tests/train/program_layers.json, so that a change of either side shows.

Paper (Sec. III-E): a straight-through estimator replaces the output of a neuron. Program: it
replaces the weights (of gate functions and of vote links), so that inputs get the gradient of the
chosen function, and rules that of the links that are on.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

VARIANTS = ("paper", "program")
PHASES = ("gates", "links", "both")

# The first eight functions of the paper's order (Sec. III-D): of a and b, as in its Table I.
FUNCTIONS = {
    "NOR": lambda a, b: 1 - (a + b - a * b),
    "NAND": lambda a, b: 1 - a * b,
    "XOR": lambda a, b: a + b - 2 * a * b,
    "XNOR": lambda a, b: 1 - (a + b - 2 * a * b),
    "OR": lambda a, b: a + b - a * b,
    "AND": lambda a, b: a * b,
    "A": lambda a, b: a + 0 * b,
    "B": lambda a, b: b + 0 * a,
}


def through(hard: Tensor, soft: Tensor) -> Tensor:
    """Return detach(f - g) + g."""
    return (hard - soft).detach() + soft


def scaled(x: Tensor, factor: float) -> Tensor:
    """Multiply the gradient, not the value."""
    return x * factor - (x * (factor - 1)).detach()


def one_hot(logits: Tensor) -> Tensor:
    """Return 1 for the largest logit of each row, else 0."""
    return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


def threshold(x: Tensor, b: Tensor, s: Tensor, phase: str) -> Tensor:
    """(rows, n) -> (rows, n)."""
    hard = (s * (x - b) > 0).to(x.dtype)
    return hard if phase == "links" else through(hard, torch.sigmoid(s * (x - b)))


def logic(x: Tensor, W: Tensor, U: Tensor, V: Tensor, phase: str, variant: str) -> Tensor:
    """(rows, inputs) -> (rows, gates); W (gates, 8), U and V (gates, inputs), -inf if masked."""
    a, b = (read_link(x, links, phase) for links in (U, V))
    values = torch.stack([f(a, b) for f in FUNCTIONS.values()], dim=-1)  # (rows, gates, 8)
    hard = one_hot(W)
    if phase == "links":
        return (values * hard).sum(-1)
    if variant == "program":
        return (values * through(hard, torch.softmax(W, -1))).sum(-1)
    return through((values * hard).sum(-1), (values * torch.softmax(W, -1)).sum(-1))


def read_link(x: Tensor, links: Tensor, phase: str) -> Tensor:
    """(rows, inputs) -> (rows, gates)."""
    chosen = x @ one_hot(links).T
    return chosen if phase == "gates" else through(chosen, x @ torch.softmax(links, -1).T)


def votes(x: Tensor, S: Tensor, phase: str, variant: str) -> Tensor:
    """(rows, rules) -> (rows, classes); S (classes, rules)."""
    on = (torch.sigmoid(S) >= 0.8).to(x.dtype)
    if phase == "gates":
        return x @ on.T
    if variant == "program":
        return x @ through(on, torch.sigmoid(S)).T
    return through(x @ on.T, x @ torch.sigmoid(S).T)


def loss(points: Tensor, target: Tensor, tau: float, variant: str) -> Tensor:
    """Weighted cross-entropy; the program counts 0.1 rows more in each class."""
    counts = torch.bincount(target).to(points.dtype)
    smoothing = 0.1 if variant == "program" else 0.0
    weight = len(target) / (len(counts) * (counts + smoothing))
    return torch.nn.functional.cross_entropy(points / tau, target, weight)


# -- the recorded network -------------------------------------------------------------------------

TAU, GRAD_FACTOR = 2.0, 1.5
LAYERS = (5, 4)
PARAMETERS = ("cutoffs", "slopes", "gates", "links", "votes")


def start() -> dict[str, Any]:
    """Draw rows and parameters: two columns, three thresholds each, two layers, three classes.

    Each layer has its own thresholds. Link logits are (gates, 2, inputs), masked with -infinity.
    """
    draw = torch.Generator().manual_seed(5)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        drawn = torch.rand(*shape, generator=draw, dtype=torch.float64)
        return ((low + (high - low) * drawn) * 64).round() / 64  # exact in float32, too

    def masked(gates: int, inputs: int) -> Tensor:
        logits = uniform(-1, 1, gates, 2, inputs)
        closed = torch.rand(gates, 2, inputs, generator=draw) < 0.3
        closed[..., 0] = False
        return logits.masked_fill(closed, -torch.inf)

    return {
        "cells": uniform(0, 1, 10, 2),
        "target": torch.tensor([0, 1, 2, 0, 1, 0, 0, 1, 2, 0]),
        "cutoffs": [uniform(0.1, 0.9, 6) for _ in LAYERS],
        "slopes": [uniform(1, 4, 6) for _ in LAYERS],
        "gates": [uniform(-1, 1, size, 8) for size in LAYERS],
        "links": [masked(LAYERS[0], 6), masked(LAYERS[1], LAYERS[0] + 6)],
        "votes": [uniform(0.5, 2.2, 3, LAYERS[1])],
    }


def compute(phase: str, variant: str) -> dict[str, Any]:
    """Return the outputs and gradients of every layer, as plain lists."""
    values = start()
    for name in PARAMETERS:
        values[name] = [part.clone().requires_grad_() for part in values[name]]
    columns = values["cells"].repeat_interleave(3, dim=1)
    outputs: dict[str, Tensor] = {}
    wires: Tensor | None = None
    for layer in range(len(LAYERS)):
        bits = threshold(columns, values["cutoffs"][layer], values["slopes"][layer], phase)
        outputs[f"thresholds {layer + 1}"] = bits = kept(scaled(bits, GRAD_FACTOR))
        inputs = bits if wires is None else torch.cat([wires, bits], dim=1)
        U, V = values["links"][layer].unbind(1)
        gates = logic(inputs, values["gates"][layer], U, V, phase, variant)
        outputs[f"gates {layer + 1}"] = wires = kept(scaled(gates, GRAD_FACTOR))
    assert wires is not None
    outputs["votes"] = points = kept(votes(wires, values["votes"][0], phase, variant))
    total = loss(points, values["target"], TAU, variant)
    total.backward()  # type: ignore[no-untyped-call]
    parts = {name: [grad(part) for part in values[name]] for name in PARAMETERS}
    return {
        "loss": float(total.detach()),
        "outputs": {name: x.detach().tolist() for name, x in outputs.items()},
        "gradients of outputs": {name: grad(x) for name, x in outputs.items()},
        "gradients": parts,
    }


def kept(x: Tensor) -> Tensor:
    """Keep the gradient of a value that is not a parameter."""
    if x.requires_grad:
        x.retain_grad()
    return x


def grad(x: Tensor) -> Any:
    """Return the gradient as lists, rounded to twelve digits; zeros if there is none."""
    found = torch.zeros_like(x) if x.grad is None else x.grad
    return torch.nan_to_num(found).detach().numpy().round(12).tolist()
