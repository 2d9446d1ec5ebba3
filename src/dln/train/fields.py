"""Limits of a network -> what each gate may read, compute and vote for.

Each gate gets a *field*: the columns that it may read, and the direction in which it moves with
each column that has one. A gate whose field has no direction reads no cutoff of such a column and
may compute anything. Any other gate reads a wire with a direction only through an input that it
rises or falls with, and its functions are limited to those. So every choice that training can make
satisfies the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.core.gates import GATES, Gate
from dln.core.limits import Limits
from dln.core.literals import LiteralKind
from dln.encode.bits import LiteralSet

Bools = NDArray[np.bool_]
Signs = NDArray[np.int8]

ANY, RISES, FALLS = 0, 1, -1
"""How a gate moves with an input. `ANY` inputs read only wires without a direction."""


class Slot(NamedTuple):
    """Inputs of gates, as numbers of candidate lists, that read the same wires."""

    inputs: NDArray[np.intp]
    lists: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fields:
    """The fields of all wires of a network, literals first.

    Attributes
    ----------
    columns : (n_wires, n_columns)
        The columns that a wire may depend on.
    signs : (n_wires, n_columns)
        The direction in which it moves with a column; 0: it depends on no cutoff of the column, or
        the column has no direction.
    moves : (n_gates, 2)
        How each gate moves with its inputs.
    votes, against : (n_outputs, n_rules)
        The outputs that each gate of the last layer may vote for, and may vote against.
    """

    columns: Bools
    signs: Signs
    moves: Signs
    votes: Bools
    against: Bools

    def allowed_gates(self) -> Bools:
        """Return the functions that each gate may learn, by their number (gates, 16)."""
        table = {
            (a, b): [moves_allow(gate, a, b) for gate in GATES]
            for a, b in product((ANY, RISES, FALLS), repeat=2)
        }
        return np.array([table[int(a), int(b)] for a, b in self.moves], dtype=bool)

    def slots(self, gates: slice, inputs: NDArray[np.intp], n_literals: int) -> list[Slot]:
        """Group the inputs of a layer's gates by the wires, among `inputs`, that they may read."""
        found: dict[tuple[bytes, bytes, int], tuple[NDArray[np.intp], list[int]]] = {}
        for place, gate in enumerate(range(gates.start, gates.stop)):
            wire = n_literals + gate
            field = self.columns[wire].tobytes(), self.signs[wire].tobytes()
            for side, move in enumerate(self.moves[gate].tolist()):
                if (*field, move) not in found:
                    fits = _fits(self, inputs, wire, move)
                    found[*field, move] = inputs[fits], []
                found[*field, move][1].append(2 * place + side)
        return [Slot(wires, np.array(lists)) for wires, lists in found.values()]


def moves_allow(gate: Gate, a: int, b: int) -> bool:
    """Check whether a gate moves with its inputs as stated."""
    t00, t01, t10, t11 = gate.table
    return _keeps(a, (t00, t01), (t10, t11)) and _keeps(b, (t00, t10), (t01, t11))


def _keeps(move: int, low: tuple[int, int], high: tuple[int, int]) -> bool:
    return move == ANY or all(move * (h - g) >= 0 for g, h in zip(low, high, strict=True))


def draw_fields(
    limits: Limits,
    literals: LiteralSet,
    layers: tuple[int, ...],
    inputs_of: list[NDArray[np.intp]],
    functions: tuple[Gate, ...],
    rng: np.random.Generator,
) -> Fields:
    """Draw the field of every gate, and how it moves with its inputs.

    Parameters
    ----------
    inputs_of
        For each layer, the wires that its gates could read without limits.
    functions
        The functions that a gate may learn without limits.
    """
    n_literals, n_rules = len(literals), layers[-1]
    columns = np.zeros((n_literals + sum(layers), limits.signs.shape[1]), dtype=bool)
    signs = np.zeros(columns.shape, dtype=np.int8)
    columns[np.arange(n_literals), literals.column] = True
    above = np.flatnonzero((literals.kind == LiteralKind.ABOVE) & limits.directed[literals.column])
    signs[above, literals.column[above]] = 1
    blocks = _draw_blocks(limits, literals, layers, 1.0 - len(above) / n_literals, rng)
    chances = np.array([block.weight for block in blocks])
    start = n_literals
    for layer, size in enumerate(layers):
        # Every layer serves every block, so that a layer that reads only gates has some to read.
        drawn = rng.choice(len(blocks), size - len(blocks), p=chances / chances.sum())
        for place, number in enumerate([*range(len(blocks)), *drawn.tolist()]):
            block = blocks[number]
            # Inner gates of a block have the same direction. Rules take turns.
            turn = place if layer == len(layers) - 1 else 0
            columns[start + place, block.columns] = True
            signs[start + place] = block.signs[turn % len(block.signs)]
        start += size
    moves = np.zeros((sum(layers), 2), dtype=np.int8)
    fields = Fields(columns, signs, moves, *_votes(limits, signs[-n_rules:]))
    _draw_moves(fields, layers, inputs_of, n_literals, functions, rng)
    return fields


@dataclass(frozen=True, eq=False)
class _Block:
    """Gates that may read each other.

    They share their columns, and their directions (n, n_columns) are the same or opposite.
    """

    columns: NDArray[np.intp]
    signs: Signs
    weight: float


def _draw_blocks(
    limits: Limits,
    literals: LiteralSet,
    layers: tuple[int, ...],
    free: float,
    rng: np.random.Generator,
) -> list[_Block]:
    """Draw the blocks of a network, at most as many as its narrowest layer has gates.

    `free` is the share of the literals that have no direction.
    """
    usable = np.unique(literals.column).tolist()
    blocks: list[_Block] = []
    for territory in _draw_territories(limits, usable, layers, rng):
        inside = limits.directed[territory]
        ways = _directions(limits, territory) if inside.any() else []
        share = free**2 if ways else 1.0
        if not inside.all():
            nothing = np.zeros((1, limits.signs.shape[1]), dtype=np.int8)
            blocks.append(_Block(territory, nothing, max(share, 1e-3)))
        for columns, signs in ways:
            blocks.append(_Block(columns, signs, max((1.0 - share) / len(ways), 1e-3)))
    most = min(layers)
    if len(blocks) > most:
        chances = np.array([block.weight for block in blocks])
        kept = rng.choice(len(blocks), most, replace=False, p=chances / chances.sum())
        blocks = [blocks[number] for number in sorted(kept.tolist())]
    return blocks


def _directions(
    limits: Limits, territory: NDArray[np.intp]
) -> list[tuple[NDArray[np.intp], Signs]]:
    """List the directions (n, n_columns) that votes require, and the columns that they allow.

    Opposite directions are listed together. The first of them stands for inner gates.
    """
    found: dict[bytes, tuple[NDArray[np.intp], list[Signs]]] = {}
    both = np.concatenate([limits.signs, -limits.signs[: len(limits.signs) == 1]])
    bars = np.concatenate([limits.barred, limits.barred[: len(limits.signs) == 1]])
    for row, bar in zip(both, bars, strict=True):
        columns = territory[~bar[territory]]
        signs = np.zeros(len(row), dtype=np.int8)
        signs[columns] = row[columns]
        if not signs.any():
            continue
        upright = signs * signs[np.flatnonzero(signs)[0]]
        own = found.setdefault(columns.tobytes() + upright.tobytes(), (columns, []))
        if not any(np.array_equal(signs, other) for other in own[1]):
            own[1].append(signs)
    return [(columns, np.stack(ways)) for columns, ways in found.values()]


def _draw_territories(
    limits: Limits, usable: list[int], layers: tuple[int, ...], rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Draw sets of columns that may occur together, until every column is in one of them.

    There are at most as many as the narrowest layer has gates, and enough for the first layer.
    """
    if not limits.limits_columns:
        return [np.array(usable, dtype=np.intp)]
    missing = set(usable)
    found: list[NDArray[np.intp]] = []
    while len(found) < min(layers) and (missing or len(found) < layers[0] // 8):
        drawn = limits.draw_columns(usable, rng, sorted(missing))
        missing -= drawn
        found.append(np.array(sorted(drawn), dtype=np.intp))
    return found


def _votes(limits: Limits, signs: Signs) -> tuple[Bools, Bools]:
    """Return what rules of these directions may vote for, and against: (n_outputs, n_rules)."""
    found = [
        limits.votes_of({int(at): int(own[at]) for at in np.flatnonzero(own)}) for own in signs
    ]
    return np.array([own for own, _ in found]).T, np.array([other for _, other in found]).T


def _fits(fields: Fields, wires: NDArray[np.intp], gate: int, move: int) -> Bools:
    """Return which wires the gate (a wire) may read through an input that it moves with."""
    inside = ~(fields.columns[wires] & ~fields.columns[gate]).any(axis=1)
    own = fields.signs[wires]
    agree = (own == 0) | (own == move * fields.signs[gate]) if move else own == 0
    return np.asarray(inside & agree.all(axis=1))


def _draw_moves(
    fields: Fields,
    layers: tuple[int, ...],
    inputs_of: list[NDArray[np.intp]],
    n_literals: int,
    functions: tuple[Gate, ...],
    rng: np.random.Generator,
) -> None:
    """Draw how each gate moves with its inputs, in proportion to the wires that this opens."""
    pairs = [
        (a, b)
        for a, b in product((ANY, RISES, FALLS), repeat=2)
        if any(moves_allow(gate, a, b) for gate in functions)
    ]
    chances: dict[tuple[int, bytes, bytes], NDArray[np.float64]] = {}
    gate = 0
    for layer, size in enumerate(layers):
        for _ in range(size):
            wire = n_literals + gate
            key = layer, fields.columns[wire].tobytes(), fields.signs[wire].tobytes()
            if key not in chances:
                counts = {
                    move: int(_fits(fields, inputs_of[layer], wire, move).sum())
                    for move in (ANY, RISES, FALLS)
                }
                chances[key] = _pair_chances(counts, pairs)
            fields.moves[gate] = pairs[int(rng.choice(len(pairs), p=chances[key]))]
            gate += 1


def _pair_chances(counts: dict[int, int], pairs: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Weight pairs of moves by the wires that only they open; one with a direction comes first."""
    free = counts[ANY]
    # Wires without a direction are open to every input. They count for `ANY`.
    own = {ANY: free, RISES: counts[RISES] - free, FALLS: counts[FALLS] - free}
    weights = np.array([float(own[a] * own[b]) for a, b in pairs])
    if own[RISES] or own[FALLS]:
        weights *= np.array([a != ANY or b != ANY for a, b in pairs])
    if not weights.any():
        weights = np.array([float(counts[a] * counts[b]) for a, b in pairs])
    assert weights.any(), "a gate of the network has no wire to read"
    return np.asarray(weights / weights.sum())
