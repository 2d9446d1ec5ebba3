"""A circuit that predicts a number + one row -> how far each feature alone moves the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dln.core.conditions import Cell, column_atoms
from dln.core.literals import format_name
from dln.explain.amounts import Prediction
from dln.explain.condition import describe_atoms
from dln.explain.row import OneRow

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


@dataclass(frozen=True)
class Reach:
    """How far one feature alone can move the prediction of a row.

    Attributes
    ----------
    feature
        The name of the column.
    lowest, highest
        The extreme predictions over the values of this feature; the others stay. Missing values
        and unknown categories are left out.
    lowest_if, highest_if
        Conditions on the feature under which they are predicted.
    """

    feature: str
    lowest: Prediction
    lowest_if: str
    highest: Prediction
    highest_if: str

    def __str__(self) -> str:
        return (
            f"{format_name(self.feature)}: {self.lowest} ({self.lowest_if}) "
            f"to {self.highest} ({self.highest_if})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "feature": self.feature,
            "lowest": self.lowest.to_json(),
            "lowest_if": self.lowest_if,
            "highest": self.highest.to_json(),
            "highest_if": self.highest_if,
        }


def find_reaches(circuit: Circuit, row: OneRow) -> tuple[Reach, ...]:
    """Return how far each feature that is not immutable moves the prediction, widest first."""
    found = []
    for column in sorted(row.cells):
        if not circuit.columns[column].immutable:
            ranked = _reach(circuit, row, column)
            found += [] if ranked is None else [ranked]
    return tuple(reach for _, reach in sorted(found, key=lambda pair: -pair[0]))


def _reach(circuit: Circuit, row: OneRow, column: int) -> tuple[int, Reach] | None:
    """Predict the row with every known value of a column; None if all give the same number."""
    score, known = circuit.number_readout, circuit.columns[column].categories
    literals = [literal for literal in circuit.literals if literal.column == column]
    found = column_atoms(circuit.columns[column], literals)
    numeric = circuit.columns[column].is_numeric
    tried = [
        number
        for number, atom in enumerate(found.atoms)
        if atom.cell is not None and (numeric or atom.cell in known)
    ]
    cells: Sequence[Cell] = [found.atoms[number].cell for number in tried]
    points = circuit.votes(row.with_cells(column, cells))[:, 0].tolist() if cells else []
    low, high = min(points, default=0), max(points, default=0)
    if low == high:
        return None

    def condition(wanted: int) -> str:
        chosen = [number for number, value in zip(tried, points, strict=True) if value == wanted]
        return describe_atoms(circuit.logic, column, found, chosen)

    ends = (Prediction.of(score, low), condition(low), Prediction.of(score, high), condition(high))
    return high - low, Reach(circuit.columns[column].name, *ends)
