"""The network under training: a flat list of wires with candidate links, gates and votes.

Wires are numbered once: literals first, then gates in topological order. The paper's layers, its
concatenated threshold layers and its subspaces are only different ways to fill the candidate
lists; every engine trains this one form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from dln.encode.bits import ABOVE, LiteralSet
from dln.gates import PRIORITY

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

Concatenation = OneOf["separate", "shared", "none"]


@dataclass(frozen=True)
class Shape:
    """How large a network is and what it may choose from.

    Attributes
    ----------
    layers
        Gates in each layer, the voting layer last.
    n_links
        Candidate wires for each input of a gate (the paper's link subspace); None means all.
    n_gates
        Gate functions to choose from: the first so many of the paper's priority order.
    concatenation
        Whether layers after the first also see thresholds: a set of their own, the first
        layer's, or none.
    """

    layers: tuple[int, ...]
    n_links: int | None = 8
    n_gates: int = 8
    concatenation: Concatenation = "separate"


@dataclass(frozen=True)
class Network:
    """Parameters and wiring of one network; the arrays are trained in place by an engine.

    Shapes: literals (n,), links (gates, 2, candidates), gate logits (gates, choices), votes
    (classes, rules). In the paper's letters: `cutoffs` b, `slopes` s, `gate_logits` W,
    `link_logits` U and V, `vote_logits` S. `layers` says how many gates stand in each layer, one
    layer after the other, and `literal_layer` (n,) for which layer a literal is made.
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

    @property
    def n_literals(self) -> int:
        """How many wires are literals."""
        return len(self.literal_kind)

    @property
    def n_gates(self) -> int:
        """How many wires are gates."""
        return len(self.gate_logits)

    def layer_slices(self) -> list[slice]:
        """Say which gates each layer has."""
        ends = list(accumulate(self.layers, initial=0))
        return [slice(start, end) for start, end in pairwise(ends)]

    def parameters(self) -> tuple[Floats, ...]:
        """Give what training changes: the arrays themselves, in the order of a `Trace`."""
        return self.cutoffs, self.slopes, self.gate_logits, self.link_logits, self.vote_logits

    def copy(self) -> Network:
        """Copy what training changes."""
        return replace(
            self,
            cutoffs=self.cutoffs.copy(),
            slopes=self.slopes.copy(),
            link_logits=self.link_logits.copy(),
            gate_logits=self.gate_logits.copy(),
            vote_logits=self.vote_logits.copy(),
        )


def layer_sizes(first: int, ratio: float, n_layers: int, n_classes: int) -> tuple[int, ...]:
    """Shrink geometrically from `first` to `first * ratio`, the last a multiple of the classes.

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
    n_classes: int,
    slope: float,
    vote_threshold: float,
    vote_density: float,
    rng: np.random.Generator,
) -> Network:
    """Draw a network at its start.

    Parameters
    ----------
    slope
        First slope of every threshold, in units of the encoded columns.
    vote_density
        Part of the vote links that are on at the start. The paper starts with none.
    """
    wires, literal_layer, inputs_of = _lay_out(literals, shape)
    links, logits = [], []
    for layer, size in enumerate(shape.layers):
        drawn = draw_links(inputs_of[layer], 2 * size, shape.n_links, rng)
        links.append(drawn)
        logits.append(rng.uniform(-0.1, 0.1, drawn.shape).astype(np.float32))
    # Short lists are padded with masked candidates (the paper's -infinity): their own once more, so
    # that no wire has far more readers than the others.
    n_gates, width = sum(shape.layers), max(lists.shape[1] for lists in links)
    link_wires = np.concatenate([_pad(lists, width, mode="wrap") for lists in links])
    link_logits = np.concatenate([_pad(x, width, constant_values=-np.inf) for x in logits])
    limit = vote_limit(vote_threshold)
    vote_logits = draw_votes((n_classes, shape.layers[-1]), limit, vote_density, rng)
    return Network(
        layers=shape.layers,
        literal_kind=wires.kind,
        literal_column=wires.column,
        literal_layer=literal_layer,
        cutoffs=wires.value.copy(),
        slopes=np.full(len(wires), slope, dtype=np.float32),
        link_wires=np.ascontiguousarray(link_wires.reshape(n_gates, 2, width), dtype=np.int32),
        link_logits=np.ascontiguousarray(link_logits.reshape(n_gates, 2, width)),
        gate_choices=np.array([gate.code for gate in PRIORITY[: shape.n_gates]], dtype=np.uint8),
        gate_logits=rng.uniform(-0.1, 0.1, (n_gates, shape.n_gates)).astype(np.float32),
        rule_wires=np.arange(n_gates - shape.layers[-1], n_gates, dtype=np.int32) + len(wires),
        vote_logits=vote_logits,
    )


def _lay_out(literals: LiteralSet, shape: Shape) -> tuple[LiteralSet, Ints, list[NDArray[np.intp]]]:
    """Give the literals of a network, the layer of each, and the wires that each layer may read.

    What is no threshold stands first and once; after it stand the sets of thresholds.
    """
    thresholds = literals.take(literals.kind == ABOVE)
    others = literals.take(literals.kind != ABOVE)
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
    """Give the logit from which on a vote link is on."""
    return float(np.log(vote_threshold / (1 - vote_threshold)))


def draw_votes(
    shape: tuple[int, int], limit: float, vote_density: float, rng: np.random.Generator
) -> Floats:
    """Draw the first vote logits (classes, rules); links are on from the `limit` on."""
    # Differs from the paper: some links are on at the start, so that something is learned.
    return np.asarray(limit + 0.5 * (rng.random(shape) - (1 - vote_density)), dtype=np.float32)


def draw_links(
    inputs: NDArray[np.intp], n_lists: int, n_links: int | None, rng: np.random.Generator
) -> Ints:
    """Draw lists of distinct inputs; over the lists, all inputs come up equally often.

    Differs from the paper: its program draws with replacement, so that lists hold repeats.
    """
    wanted = len(inputs) if n_links is None else min(n_links, len(inputs))
    if wanted == 0:
        return np.empty((n_lists, 0), dtype=np.int32)
    lists_per_deal = len(inputs) // wanted
    n_deals = -(-n_lists // lists_per_deal)
    deals = rng.permuted(np.broadcast_to(inputs, (n_deals, len(inputs))), axis=1)
    dealt = deals[:, : lists_per_deal * wanted].reshape(-1, wanted)
    # A list's neighbours come from the same deal; shuffle, so that a gate's two inputs do not.
    return rng.permutation(dealt)[:n_lists].astype(np.int32)


def _pad(lists: NDArray[np.generic], width: int, **filler: Any) -> NDArray[np.generic]:
    """Lengthen lists (n, k) to (n, width); the filler is said as to `np.pad`."""
    return np.pad(lists, ((0, 0), (0, width - lists.shape[1])), **filler)
