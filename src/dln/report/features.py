"""A circuit's features -> what the page's form needs: atoms, ranges and names.

An atom (`dln.conditions`) is a class of cells that the circuit cannot tell apart; the page tries
them all to find the smallest change. Everything here is plain values for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.conditions import Atom, Cell, ColumnAtoms, Gap, column_atoms
from dln.explain.change import entry_from_above, entry_from_below
from dln.literals import Above, Column, format_category, format_name
from dln.report.rows import PageCell, to_cell

_SLIDER_STEPS = 200
_BINS = 24


def describe_features(
    circuit: Circuit, cells: Sequence[NDArray[Any] | None], target: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Describe each column that the circuit reads.

    Parameters
    ----------
    cells
        For each column that is read, its cells in all rows: numbers, or codes of categories.
    target
        The number of each row's class.
    """
    used = sorted({literal.column for literal in circuit.literals})
    return [_describe(circuit, number, cells[number], target) for number in used]


def _describe(
    circuit: Circuit, number: int, cells: NDArray[Any] | None, target: NDArray[np.int64]
) -> dict[str, Any]:
    assert cells is not None
    column = circuit.columns[number]
    wires = [wire for wire, literal in enumerate(circuit.literals) if literal.column == number]
    literals = [circuit.literals[wire] for wire in wires]
    found = column_atoms(column, literals)
    cutoffs = sorted({literal.cutoff for literal in literals if isinstance(literal, Above)})
    description: dict[str, Any] = {
        "column": number,
        "name": column.name,
        "text": format_name(column.name),
        "kind": column.kind,
        "literals": wires,
        "cutoffs": cutoffs,
        "atoms": [
            _atom(circuit.columns, number, atom)
            | ({} if isinstance(atom, Gap) else {"literals": _true_wires(wires, found, place)})
            for place, atom in enumerate(found.atoms)
        ],
    }
    if column.is_numeric:
        low, high, step = _slider(column, cells.astype(np.float64), cutoffs)
        description |= {"low": low, "high": high, "step": step}
        if column.kind != "boolean":
            edges = np.linspace(low, high, _BINS + 1)
            description["bars"] = _bars(cells.astype(np.float64), target, edges, circuit.n_classes)
    else:
        description["categories"] = [format_category(each) for each in column.categories]
    return description


def _true_wires(wires: Sequence[int], found: ColumnAtoms, atom: int) -> list[int]:
    """List the literals that are true in an atom.

    Those of a gap are left to the page, which compares its low end with their cutoffs: where a
    column has many cutoffs, lists for each of its gaps would fill the file.
    """
    return [wire for wire, true in zip(wires, found.truths(atom), strict=True) if true]


def _atom(columns: tuple[Column, ...], number: int, atom: Atom) -> dict[str, Any]:
    column = columns[number]
    name = format_name(column.name)
    if isinstance(atom, Gap):
        always = column.kind == "boolean"
        return {
            "gap": True,
            "low": _finite(atom.low),
            "high": _finite(atom.high),
            "cell": _number(atom.cell),
            "above": _bound(columns, number, atom.low, negated=False),
            "upTo": _bound(columns, number, atom.high, negated=True),
            "fromBelow": _entry(entry_from_below, atom) if always or atom.low > -math.inf else None,
            "fromAbove": _entry(entry_from_above, atom) if always or atom.high < math.inf else None,
        }
    if atom.cell is None:
        return {"missing": True, "text": f"{name} is missing"}
    if atom.cell not in column.categories:
        return {"known": False, "cell": atom.cell, "text": f"{name} is an unknown category"}
    assert not isinstance(atom.cell, (datetime, np.datetime64))
    text = f"{name} = {format_category(atom.cell)}"
    return {"known": True, "cell": column.categories.index(atom.cell), "text": text}


def _entry(enter: Any, gap: Gap) -> dict[str, Any]:
    entry = enter(gap)
    return {"cell": _number(entry.cell), "edge": to_cell(entry.edge)}


def _bound(columns: tuple[Column, ...], number: int, cutoff: float, *, negated: bool) -> str | None:
    """Say on which side of a cutoff a cell lies; None where there is no cutoff."""
    if math.isinf(cutoff):
        return None
    return Above(number, cutoff).describe(columns, negated=negated)


def _number(cell: Cell) -> PageCell:
    """Give a cell of a numeric column as tables are read: dates in seconds."""
    if isinstance(cell, (datetime, np.datetime64)):
        ticks = np.array([cell], dtype="datetime64[us]").astype(np.int64)
        return int(ticks[0]) / 1e6
    assert isinstance(cell, (int, float))
    return to_cell(float(cell))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


# -- sliders and bars -------------------------------------------------------------------------


def _slider(
    column: Column, cells: NDArray[np.float64], cutoffs: Sequence[float]
) -> tuple[float, float, float]:
    """Choose a range that holds the rows and both sides of every cutoff, in round steps."""
    if column.kind == "boolean":
        return 0.0, 1.0, 1.0
    known = [*cells[np.isfinite(cells)].tolist(), *cutoffs] or [0.0, 1.0]
    low, high = min(known), max(known)
    # Numbers near the largest float64 would overflow; nobody slides there.
    low, high = max(low, -1e300), min(high, 1e300)
    room = (high - low) / 20 or abs(low) / 20 or 1.0
    low = low - room if cutoffs and low >= cutoffs[0] else low
    high = high + room if cutoffs and high <= cutoffs[-1] else high
    if high - low < 1e-290:  # one number, or numbers that no slider can tell apart
        low, high = low - 1.0, high + 1.0
    step = 10.0 ** math.floor(math.log10((high - low) / _SLIDER_STEPS))
    if column.kind == "integer":
        step = max(1.0, step)
    if column.kind == "date":
        step = max(86400.0, step) if high - low > 20 * 86400 else max(1.0, step)
    return _round_to(math.floor(low / step), step), _round_to(math.ceil(high / step), step), step


def _round_to(count: int, step: float) -> float:
    """Multiply without the last digits that binary fractions add: 3 steps of 0.1 are 0.3."""
    return float(f"{count * step:.12g}")


def _bars(
    cells: NDArray[np.float64],
    target: NDArray[np.int64],
    edges: NDArray[np.float64],
    n_classes: int,
) -> list[list[int]]:
    """Count the rows of each class between edges: (n_bins, n_classes)."""
    inside = np.isfinite(cells)
    places = np.clip(np.searchsorted(edges, cells[inside], side="left") - 1, 0, len(edges) - 2)
    counts = np.zeros((len(edges) - 1, n_classes), dtype=np.int64)
    np.add.at(counts, (places, target[inside]), 1)
    bars: list[list[int]] = counts.tolist()
    return bars
