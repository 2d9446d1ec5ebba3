"""The network under training: a flat list of wires with candidate links and gates, and a head.

Wires are numbered: literals first, then gates in topological order. The paper's layers, its
concatenated threshold layers and its subspaces are different ways to fill the candidate lists. All
engines train this one form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.gates import GATES, PRIORITY, Gate
from dln.core.limits import Limits
from dln.core.literals import LiteralKind
from dln.encode.bits import LiteralSet
from dln.train.fields import Fields, Slot, draw_fields
from dln.train.options import Concatenation, FitOptions, Gates, LinkDrawing, VoteStart

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Shape:
    """The size of a network and its choices; see `FitOptions`."""

    layers: tuple[int, ...]
    n_links: int | None = FitOptions.n_links
    n_gates: int = FitOptions.n_gates
    concatenation: Concatenation = FitOptions.concatenation
    link_drawing: LinkDrawing = FitOptions.link_drawing
    gates: Gates = FitOptions.gates

    @property
    def functions(self) -> tuple[Gate, ...]:
        """The functions that a gate may learn."""
        first = PRIORITY[: self.n_gates]
        return tuple(g for g in first if self.gates == "all" or g.form.operation != "xor")


@dataclass(frozen=True)
class Network:
    """Parameters and wiring of one network; the arrays are trained in place by an engine.

    Shapes: literals (n,), links (gates, 2, candidates), gate logits (gates, choices), votes
    (classes, rules). In the paper's letters: `cutoffs` b, `slopes` s, `gate_logits` W,
    `link_logits` U and V, `vote_logits` S. `layers` has the number of gates in each layer,
    and `literal_layer` (n,) the layer that a literal belongs to.

    A choice whose logit is minus infinity is masked: it has no probability and no gradient, and it
    is never chosen. Each input of a gate needs an open link, each gate an open function. A vote
    link is on if the sigmoid of its logit is at least `vote_threshold`.

    A network that predicts a number has no classes. Its score is the bias plus the weights of the
    true rules: `weights` (rules + 1,), the last one is the bias. It is empty in a network for
    classes. `weight_limits` (2, rules + 1) has the smallest and the largest value of each weight;
    0 and infinity forbid a negative weight, two zeros mask it.
    """

    layers: tuple[int, ...]
    literal_kind: Bytes
    literal_column: Ints
    literal_layer: Ints
    cutoffs: Floats
    slopes: Floats
    link_wires: Ints
    link_logits: Floats
    gate_choices: Bytes
    gate_logits: Floats
    rule_wires: Ints
    vote_logits: Floats
    vote_threshold: float
    weights: Floats = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    weight_limits: Floats = field(default_factory=lambda: no_limits(0))

    @property
    def predicts_number(self) -> bool:
        """Whether the network has weights, not votes for classes."""
        return len(self.weights) > 0

    @property
    def n_literals(self) -> int:
        """Number of wires that are literals."""
        return len(self.literal_kind)

    @property
    def n_gates(self) -> int:
        """Number of wires that are gates."""
        return len(self.gate_logits)

    def layer_slices(self) -> list[slice]:
        """Return the gates of each layer as slices."""
        ends = list(accumulate(self.layers, initial=0))
        return [slice(start, end) for start, end in pairwise(ends)]

    def parameters(self) -> tuple[Floats, ...]:
        """Return the arrays that training changes (not copies), in the order of a `Trace`."""
        return (
            self.cutoffs,
            self.slopes,
            self.gate_logits,
            self.link_logits,
            self.vote_logits,
            self.weights,
        )

    def copy(self) -> Network:
        """Return a copy whose parameters can be trained independently."""
        return replace(
            self,
            cutoffs=self.cutoffs.copy(),
            slopes=self.slopes.copy(),
            link_logits=self.link_logits.copy(),
            gate_logits=self.gate_logits.copy(),
            vote_logits=self.vote_logits.copy(),
            weights=self.weights.copy(),
        )


def layer_sizes(first: int, ratio: float, n_layers: int, n_classes: int) -> tuple[int, ...]:
    """Return widths from `first` to `first * ratio`, the last a multiple of the number of classes.

    >>> layer_sizes(50, 0.25, 4, 2)
    (50, 31, 19, 12)
    """
    sizes = [round(size) for size in np.geomspace(first, max(1, round(first * ratio)), n_layers)]
    sizes[-1] = -(-sizes[-1] // n_classes) * n_classes
    return tuple(max(1, size) for size in sizes)


def build_network(
    literals: LiteralSet,
    shape: Shape,
    *,
    n_classes: int | None,
    slope: float,
    vote_threshold: float = FitOptions.vote_threshold,
    vote_density: float | VoteStart = "undecided",
    rng: np.random.Generator,
    allowed_gates: NDArray[np.bool_] | None = None,
    limits: Limits | None = None,
) -> Network:
    """Draw a network with random initial parameters.

    Parameters
    ----------
    n_classes
        Number of classes; None for a network that predicts a number.
    slope
        Initial slope of the thresholds, in units of the encoded columns.
    vote_threshold, vote_density
        When a vote link is on, and the fraction of links that are on at the start, see
        `draw_votes`. A network that predicts a number has no vote links.
    allowed_gates
        The functions that each gate may learn, by their number (gates, 16); None means all of the
        shape's.
    limits
        What rules may read and vote for; None means anything.
    """
    wires, literal_layer, inputs_of = _lay_out(literals, shape)
    fields: Fields | None = None
    if limits is not None:
        fields = draw_fields(limits, wires, shape.layers, inputs_of, shape.functions, rng)
        allowed_gates = fields.allowed_gates()
    drawn = []
    start = 0
    for inputs, size in zip(inputs_of, shape.layers, strict=True):
        slots = [Slot(inputs, np.arange(2 * size))]
        if fields is not None:
            slots = fields.slots(slice(start, start + size), inputs, len(wires))
        drawn += [(2 * start + slot.lists, *_draw_lists(slot, shape, rng)) for slot in slots]
        start += size
    n_gates, width = sum(shape.layers), max(lists.shape[1] for _, lists, _ in drawn)
    link_wires = np.empty((2 * n_gates, width), dtype=np.int32)
    link_logits = np.empty((2 * n_gates, width), dtype=np.float32)
    for places, lists, logits in drawn:
        # Short lists are padded with masked candidates (the paper's -infinity): their own wires
        # again, so that no wire has many more readers than others.
        link_wires[places] = _pad(lists, width, mode="wrap")
        link_logits[places] = _pad(logits, width, constant_values=-np.inf)
    limit, n_rules = vote_limit(vote_threshold), shape.layers[-1]
    vote_logits = draw_votes((n_classes or 0, n_rules), limit, vote_density, rng)
    weights, weight_limits = np.empty(0, np.float32), no_limits(0)
    if n_classes is None:
        weight_limits = no_limits(n_rules + 1)
        if fields is not None:
            weight_limits[0, :-1] = np.where(fields.against[0], -np.inf, 0.0)
            weight_limits[1, :-1] = np.where(fields.votes[0], np.inf, 0.0)
        weights = draw_weights(n_rules, rng, weight_limits)
    elif fields is not None:
        vote_logits[~fields.votes] = -np.inf
    choices = np.array([gate.code for gate in shape.functions], dtype=np.uint8)
    gate_logits = rng.uniform(-0.1, 0.1, (n_gates, len(choices))).astype(np.float32)
    if allowed_gates is not None:
        gate_logits = _mask_gates(gate_logits, choices, allowed_gates)
    return Network(
        layers=shape.layers,
        literal_kind=wires.kind,
        literal_column=wires.column,
        literal_layer=literal_layer,
        cutoffs=wires.value.copy(),
        slopes=np.full(len(wires), slope, dtype=np.float32),
        link_wires=link_wires.reshape(n_gates, 2, width),
        link_logits=link_logits.reshape(n_gates, 2, width),
        gate_choices=choices,
        gate_logits=gate_logits,
        rule_wires=np.arange(n_gates - shape.layers[-1], n_gates, dtype=np.int32) + len(wires),
        vote_logits=vote_logits,
        vote_threshold=vote_threshold,
        weights=weights,
        weight_limits=weight_limits,
    )


def _draw_lists(slot: Slot, shape: Shape, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Draw the candidates of some inputs, and their initial logits."""
    drawn = LINK_DRAWINGS[shape.link_drawing](slot.inputs, len(slot.lists), shape.n_links, rng)
    logits = rng.uniform(-0.1, 0.1, drawn.shape).astype(np.float32)
    if shape.link_drawing == "repeated":
        logits[_is_repeat(drawn)] = -np.inf
    return drawn, logits


def _mask_gates(logits: Floats, choices: Bytes, allowed: NDArray[np.bool_]) -> Floats:
    """Mask the functions that are not allowed (gates, 16) in the logits (gates, choices)."""
    if allowed.shape != (len(logits), len(GATES)):
        raise ValueError(
            f"allowed_gates is {allowed.shape}, expected {len(logits)} gates by {len(GATES)}"
        )
    is_open = allowed[:, choices]
    if not is_open.any(axis=1).all():
        gate = int(np.argmin(is_open.any(axis=1)))
        names = ", ".join(GATES[code].name for code in choices.tolist())
        raise ValueError(f"gate {gate} may learn none of {names}; allow at least one of them")
    return np.where(is_open, logits, -np.inf).astype(np.float32)


def _lay_out(literals: LiteralSet, shape: Shape) -> tuple[LiteralSet, Ints, list[NDArray[np.intp]]]:
    """Return the literals of a network, the layer of each, and the wires that each layer may read.

    Literals that are not thresholds come first, once. The sets of thresholds follow.
    """
    thresholds = literals.take(literals.kind == LiteralKind.ABOVE)
    others = literals.take(literals.kind != LiteralKind.ABOVE)
    n_sets = len(shape.layers) if shape.concatenation == "separate" else 1
    wires = LiteralSet.join([others, *[thresholds] * n_sets])
    set_of = np.repeat(np.arange(n_sets, dtype=np.int32), len(thresholds))
    literal_layer = np.concatenate([np.zeros(len(others), dtype=np.int32), set_of])

    inputs_of = []
    previous = np.empty(0, dtype=np.intp)
    start = len(wires)
    for layer, size in enumerate(shape.layers):
        own = len(others) + (layer % n_sets) * len(thresholds) + np.arange(len(thresholds))
        sees_literals = layer == 0 or shape.concatenation != "none"
        seen = [np.arange(len(others)), own] if sees_literals else []
        inputs_of.append(np.concatenate([previous, *seen]))
        previous = np.arange(start, start + size)
        start += size
    return wires, literal_layer, inputs_of


def vote_limit(vote_threshold: float) -> float:
    """Return the smallest logit for which a vote link is on."""
    return float(np.log(vote_threshold / (1 - vote_threshold)))


def draw_votes(
    shape: tuple[int, int],
    limit: float,
    vote_density: float | VoteStart,
    rng: np.random.Generator,
) -> Floats:
    """Draw the initial vote logits (classes, rules). Links are on from `limit` upwards.

    With "undecided" they start within ±0.1, like those of gates and links. That is the start of the
    authors' program: all links are off, and earlier layers learn nothing until some logits have
    reached the limit.
    """
    if vote_density == "undecided":
        return np.asarray(rng.uniform(-0.1, 0.1, shape), dtype=np.float32)
    # Differs from the paper: logits start within 0.5 of the limit, and `vote_density` of the links
    # are on.
    return np.asarray(limit + 0.5 * (rng.random(shape) - (1 - vote_density)), dtype=np.float32)


def draw_weights(n_rules: int, rng: np.random.Generator, limits: Floats | None = None) -> Floats:
    """Draw the initial weights of rules, and the bias for which the average score is about 0.

    With random rules, the scores have a standard deviation of about a quarter: less than that of
    standardised targets, and the same for any number of rules. A weight with the wrong sign for its
    `limits` (2, n_rules + 1) gets the other sign.
    """
    weights = rng.uniform(-1.0, 1.0, n_rules) / np.sqrt(max(1, n_rules))
    if limits is not None:
        low, high = limits[:, :-1]
        outside = (weights < low) | (weights > high)
        weights = np.clip(np.where(outside, -weights, weights), low, high)
    return np.append(weights, -weights.sum() / 2).astype(np.float32)


def no_limits(n_weights: int) -> Floats:
    """Return limits (2, n_weights) that allow all weights."""
    return np.repeat(np.array([[-np.inf], [np.inf]], dtype=np.float32), n_weights, axis=1)


def draw_links(
    inputs: NDArray[np.intp], n_lists: int, n_links: int | None, rng: np.random.Generator
) -> Ints:
    """Draw lists of distinct inputs. Over all lists, each input occurs equally often.

    Differs from the paper: its inputs occur at random.
    """
    wanted = len(inputs) if n_links is None else min(n_links, len(inputs))
    if wanted == 0:
        return np.empty((n_lists, 0), dtype=np.int32)
    lists_per_deal = len(inputs) // wanted
    n_deals = -(-n_lists // lists_per_deal)
    deals = rng.permuted(np.broadcast_to(inputs, (n_deals, len(inputs))), axis=1)
    dealt = deals[:, : lists_per_deal * wanted].reshape(-1, wanted)
    # Neighbouring lists come from the same permutation. They are shuffled, so that the two inputs
    # of a gate do not.
    return rng.permutation(dealt)[:n_lists].astype(np.int32)


def draw_with_replacement(
    inputs: NDArray[np.intp], n_lists: int, n_links: int | None, rng: np.random.Generator
) -> Ints:
    """Draw lists of inputs that may repeat, as the authors' program does; None means all inputs.

    Eight draws of 16 inputs give 6.45 different ones on average.
    """
    if n_links is None or len(inputs) == 0:
        return np.tile(inputs, (n_lists, 1)).astype(np.int32)
    return rng.choice(inputs, (n_lists, n_links)).astype(np.int32)


LINK_DRAWINGS: dict[LinkDrawing, Callable[..., Ints]] = {
    "distinct": draw_links,
    "repeated": draw_with_replacement,
}
"""How the candidates of each input are drawn."""


def _is_repeat(lists: Ints) -> NDArray[np.bool_]:
    """Return where lists (n, k) repeat an earlier element of the same list."""
    order = np.argsort(lists, axis=1, kind="stable")
    ordered = np.take_along_axis(lists, order, axis=1)
    repeats = np.zeros(lists.shape, dtype=bool)
    np.put_along_axis(repeats, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return repeats


def _pad(lists: NDArray[np.generic], width: int, **filler: Any) -> NDArray[np.generic]:
    """Extend lists (n, k) to (n, width), with the arguments of `np.pad`."""
    return np.pad(lists, ((0, 0), (0, width - lists.shape[1])), **filler)
