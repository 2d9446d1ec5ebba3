"""A row + one of its columns -> the nearest value of that column that flips the class.

Every atom of the column is tried (`core.conditions`), so the answer is exact: no other value of the
column flips the class at a smaller distance. (In a column of 0 and 1, only these two are tried if
they are in the atom.) There is no nearest number above a cutoff, so the distance is measured to the
cutoff, and the value is a readable number just above it.

Changes are ranked in three tiers: known categories and numbers, then unknown categories and numbers
outside the range of the training rows (if the circuit has it), then missing values. Within a column
and a tier, the smallest distance wins; from a missing value, the fewest cutoffs crossed. Between
columns, these decide within a tier, in this order:

1. The fewest cutoffs crossed. Another category counts as one, and a value that becomes missing or
   known counts as at least one.
2. The smallest distance relative to the larger of the two numbers; 1 for booleans and for values
   without a distance.
3. The position of the column.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

from dln.core.conditions import Atom, Cell, Choice, Gap, column_atoms
from dln.core.labels import Label, label_text, label_to_json
from dln.core.literals import Column, format_name, sorted_cutoffs
from dln.core.moments import last_tick, moment_at, next_moment, seconds_at
from dln.core.values import cell_text, cell_to_json
from dln.explain.amounts import Prediction
from dln.explain.condition import interval
from dln.explain.row import OneRow

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

_KNOWN, _UNKNOWN, _MISSING = 0, 1, 2


@dataclass(frozen=True)
class Change:
    """Another value of one feature that gives the row another class.

    Attributes
    ----------
    feature
        The name of the column.
    before, after
        The present value, and the value that flips the class; None means missing.
    condition
        A condition that the new value fulfils. All values that fulfil it give the same class.
    label
        The class that the changed row gets. For a number, the range that its prediction is in.
    n_crossed
        Number of the circuit's cutoffs between the two values; 1 for another category.
    distance
        The smallest distance that flips the class; in seconds for dates, None for categories.
    prediction
        For a number: the prediction of the row with the value `after`.
    """

    feature: str
    before: Cell
    after: Cell
    condition: str
    label: Label
    n_crossed: int
    distance: float | None
    prediction: Prediction | None = None

    def __str__(self) -> str:
        return (
            f"{format_name(self.feature)}: {cell_text(self.before)} -> {cell_text(self.after)} "
            f"({self.condition}) gives {self.prediction or label_text(self.label)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        finite = self.distance is not None and math.isfinite(self.distance)
        return {
            "feature": self.feature,
            "before": cell_to_json(self.before),
            "after": cell_to_json(self.after),
            "condition": self.condition,
            "class": label_to_json(self.label),
            "n_crossed": self.n_crossed,
            "distance": self.distance if finite else None,
            **({} if self.prediction is None else {"prediction": self.prediction.to_json()}),
        }


def nearest_changes(
    circuit: Circuit, row: OneRow, present: int, to: int | None = None
) -> tuple[Change, ...]:
    """Find the nearest change of each column that flips the class, best first.

    `present` is the number of the class that the row gets, and `to` of the class to get, by default
    any other. Immutable columns are left out.
    """
    found = []
    for column in sorted(row.cells):
        if circuit.columns[column].immutable:
            continue
        ranked = _nearest_in_column(circuit, row, column, present, to)
        if ranked is not None:
            found.append(ranked)
    return tuple(change for _, change in sorted(found, key=lambda ranked: ranked[0]))


@dataclass(frozen=True)
class Step:
    """A step to another atom of the column, and the value to take there."""

    after: Cell
    tier: int
    n_crossed: int = 1
    distance: float | None = None
    relative: float = 1.0


def _nearest_in_column(
    circuit: Circuit, row: OneRow, column: int, present: int, to: int | None
) -> tuple[tuple[float, ...], Change] | None:
    literals = [literal for literal in circuit.literals if literal.column == column]
    atoms = column_atoms(circuit.columns[column], literals).atoms
    cutoffs = sorted_cutoffs(literals)
    known = set(circuit.columns[column].categories)
    steps = [_step(known, row, column, atom, cutoffs) for atom in atoms]
    winners = circuit.winners(row.with_cells(column, [step.after for step in steps])).tolist()
    flips = [
        place
        for place, winner in enumerate(winners)
        if (winner != present if to is None else winner == to)
    ]
    if not flips:
        return None
    place = min(flips, key=lambda place: _order_in_column(steps[place]))
    step = steps[place]
    change = Change(
        circuit.columns[column].name,
        row.cell(column),
        step.after,
        _condition(circuit.columns, column, atoms, winners, place),
        circuit.classes[winners[place]],
        step.n_crossed,
        step.distance,
    )
    return (step.tier, step.n_crossed, step.relative, column), change


def _order_in_column(step: Step) -> tuple[float, ...]:
    return step.tier, step.distance or 0.0, step.n_crossed


def _condition(
    columns: tuple[Column, ...],
    number: int,
    atoms: Sequence[Atom],
    winners: Sequence[int],
    place: int,
) -> str:
    """Describe the chosen atom, joined with neighbouring numbers that give the same class."""
    column, atom = columns[number], atoms[place]
    name = format_name(column.name)
    if not isinstance(atom, Gap):
        if atom.cell is None:
            return f"{name} is missing"
        known = atom.cell in column.categories
        return f"{name} = {cell_text(atom.cell)}" if known else f"{name} is an unknown category"
    low, high = atom.low, atom.high
    for other, winner in zip(atoms[place:], winners[place:], strict=True):
        if not isinstance(other, Gap) or winner != winners[place]:
            break
        high = other.high
    for other, winner in zip(atoms[place::-1], winners[place::-1], strict=True):
        if not isinstance(other, Gap) or winner != winners[place]:
            break
        low = other.low
    texts = [interval(columns, number, low, high)]
    # A missing value is not above the cutoff either. If its class differs, the condition says so.
    apart = atoms[0] == Choice(None) and winners[0] != winners[place]
    if math.isinf(low) and (apart or not texts[0]):
        texts.append(f"{name} is not missing")
    return " and ".join(filter(None, texts))


def _step(
    known: Collection[Cell], row: OneRow, number: int, atom: Atom, cutoffs: list[float]
) -> Step:
    if isinstance(atom, Gap):
        return step_to_gap(row.number(number), atom, cutoffs)
    if atom.cell is None:
        n_above = sum(row.number(number) > cutoff for cutoff in cutoffs) if cutoffs else 0
        return Step(None, _MISSING, max(1, n_above))
    return Step(atom.cell, _KNOWN if atom.cell in known else _UNKNOWN)


def step_to_gap(value: float, gap: Gap, cutoffs: list[float]) -> Step:
    """Describe the step from a number, NaN if missing, to a gap."""
    tier = _KNOWN if gap.is_likely else _UNKNOWN
    # The values of a gap are above a cutoff if the gap's low end reaches it.
    n_crossed = sum((value > cutoff) != (gap.low >= cutoff) for cutoff in cutoffs)
    if math.isnan(value):
        return Step(gap.cell, tier, max(1, n_crossed))
    after, distance = _reach(value, gap)
    relative = 1.0 if gap.kind == "boolean" else _relative(value, gap.low >= value, distance)
    return Step(after, tier, n_crossed, distance, relative)


def _relative(value: float, upwards: bool, distance: float) -> float:
    """Divide a distance by the larger of the two numbers."""
    if distance == 0:
        return 0.0
    larger = max(abs(value), abs(value + distance if upwards else value - distance))
    return distance / larger if larger < math.inf else 1.0


def _reach(value: float, gap: Gap) -> tuple[Cell, float]:
    """Find a readable value of a gap near a number, and the distance to the gap."""
    # The lowest gap includes minus infinity.
    within = (gap.low < value or math.isinf(gap.low)) and value <= gap.high
    if within and gap.kind != "boolean":  # the number is already in the gap
        return gap.cell, 0.0
    entry = entry_from_below(gap, value) if gap.low >= value else entry_from_above(gap)
    return entry.cell, abs(entry.edge - value)


@dataclass(frozen=True)
class Entry:
    """A readable value at one end of a gap, and the edge that a number must reach or pass."""

    cell: Cell
    edge: float


def entry_from_below(gap: Gap, value: float = -math.inf) -> Entry:
    """Enter a gap from a number at or below its low end."""
    if gap.kind == "boolean" or gap.bit is not None:
        return _entry_at_bit(gap)
    if gap.kind == "date":
        return Entry(next_moment(gap.low, gap.high), gap.least)
    if gap.kind == "integer":
        return Entry(int(gap.least), gap.least)
    return Entry(_just_above(gap, value), gap.low)


def entry_from_above(gap: Gap) -> Entry:
    """Enter a gap from a number above its high end."""
    if gap.kind == "boolean" or gap.bit is not None:
        return _entry_at_bit(gap)
    if gap.kind == "date":
        tick = last_tick(gap.high)
        return Entry(moment_at(tick), seconds_at(tick))
    if gap.kind == "integer":
        nearest = math.floor(gap.high)
        return Entry(nearest, float(nearest))
    return Entry(gap.high, gap.high)


def _entry_at_bit(gap: Gap) -> Entry:
    """Enter a gap at the 0 or 1 that it contains."""
    return Entry(gap.cell, float(bool(gap.cell)))


def _just_above(gap: Gap, value: float) -> float:
    """Find a decimal just above the gap's low end, at about a thousandth of its size.

    >>> _just_above(Gap("number", 54.0, 60.0), 50.0), _just_above(Gap("number", 54.0, 54.001), 0.0)
    (54.01, 54.001)
    """
    low = gap.low
    scale = abs(low) or abs(value - low)
    if not 0 < scale < math.inf:
        scale = 1.0
    exact, exponent = Decimal(repr(low)), math.floor(math.log10(scale)) - 3
    for finer in range(exponent, exponent - 15, -1):
        step = Decimal(1).scaleb(finer)
        number = float(((exact / step).to_integral_value(ROUND_FLOOR) + 1) * step)
        if low < number <= gap.high:
            return number
    return gap.least
