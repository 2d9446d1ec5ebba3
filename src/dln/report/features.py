"""A circuit's features -> what the page's form needs: atoms, ranges, bars and names.

An atom (`core.conditions`) is a set of values that the circuit cannot distinguish; the page tries
all atoms to find the smallest change. Everything here is plain values for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.colours import CLASS_COLOURS, class_colour
from dln.core.circuit import Circuit
from dln.core.conditions import Atom, Cell, ColumnAtoms, Gap, column_atoms
from dln.core.literals import (
    Above,
    Column,
    format_category,
    format_name,
    format_value,
    sorted_cutoffs,
)
from dln.core.moments import seconds_at
from dln.data.codes import MISSING_CODE, UNSEEN_CODE
from dln.evaluate.scores import count_pairs
from dln.explain.change import entry_from_above, entry_from_below
from dln.report.rows import PageCell, to_cell

_SLIDER_STEPS = 200
_BINS = 24
_MOST_CATEGORIES = 8
"""Maximum number of categories with a separate bar; the others share one."""
_OUTER = (0.05, 0.95)
"""Quantiles that replace minimum and maximum if single rows must not be shown."""


def describe_features(
    circuit: Circuit,
    cells: Sequence[NDArray[Any] | None],
    target: NDArray[np.int64],
    *,
    rows: bool,
) -> list[dict[str, Any]]:
    """Describe each column that the circuit reads.

    Parameters
    ----------
    cells
        For each column that is read, its values in all rows: numbers, or category codes.
    target
        The class number of each row; 0 if the circuit predicts a number.
    rows
        Whether values of single rows may be shown, such as the smallest and the largest.
    """
    used = circuit.logic.used_columns
    n_classes = circuit.n_classes if circuit.task == "classes" else 1
    colours = np.array([class_colour(number) for number in range(n_classes)])[target]
    return [_describe(circuit, number, cells[number], colours, rows=rows) for number in used]


def _describe(
    circuit: Circuit,
    number: int,
    cells: NDArray[Any] | None,
    colours: NDArray[np.int64],
    *,
    rows: bool,
) -> dict[str, Any]:
    assert cells is not None
    column = circuit.columns[number]
    wires = [wire for wire, literal in enumerate(circuit.literals) if literal.column == number]
    literals = [circuit.literals[wire] for wire in wires]
    found = column_atoms(column, literals)
    cutoffs = sorted_cutoffs(literals)
    n_classes = circuit.n_classes if circuit.task == "classes" else 1
    n_colours = min(n_classes, len(CLASS_COLOURS))
    description: dict[str, Any] = {
        "column": number,
        "name": column.name,
        "title": column.name if column.name.strip() else format_name(column.name),
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
    if not column.is_numeric:
        return description | _category_part(column, cells, colours, n_colours)
    numbers = cells.astype(np.float64)
    if column.kind == "boolean" or (column.binary and set(numbers[~np.isnan(numbers)]) <= {0, 1}):
        return description | _two_values_part(numbers, colours, n_colours)
    return description | _number_part(column, numbers, cutoffs, colours, n_colours, rows=rows)


def _true_wires(wires: Sequence[int], found: ColumnAtoms, atom: int) -> list[int]:
    """List the literals that are true in an atom.

    Gaps have no such list: it would fill the file if a column has many cutoffs. The page compares
    the gap's low end with the cutoffs instead.
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
            "ends": [_end(column, atom.low), _end(column, atom.high)],
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
    """Describe one side of a cutoff; None if the cutoff is infinite."""
    if math.isinf(cutoff):
        return None
    return Above(number, cutoff).describe(columns, negated=negated)


def _end(column: Column, cutoff: float) -> str | None:
    """Write a cutoff; None if it is infinite."""
    return None if math.isinf(cutoff) else format_value(cutoff, column)


def _number(cell: Cell) -> PageCell:
    """Return a value of a numeric column as tables are read: dates in seconds."""
    if isinstance(cell, (datetime, np.datetime64)):
        ticks = np.array([cell], dtype="datetime64[us]").astype(np.int64)
        return seconds_at(int(ticks[0]))
    assert isinstance(cell, (int, float))
    return to_cell(float(cell))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


# -- ranges, sliders and bars ------------------------------------------------------------------


def _number_part(
    column: Column,
    numbers: NDArray[np.float64],
    cutoffs: Sequence[float],
    colours: NDArray[np.int64],
    n_colours: int,
    *,
    rows: bool,
) -> dict[str, Any]:
    """Describe the slider, the range of the test rows, and the histogram.

    "bars" lists [from, to, counts], with one count for each class colour. If "isWhole", bins hold
    whole numbers and their edges are halves.
    """
    known = numbers[np.isfinite(numbers)]
    is_whole = _is_whole(column, known, cutoffs)
    ends = known if rows or not len(known) else np.quantile(known, _OUTER)
    low, high, step = _slider(column.kind, ends, cutoffs, is_whole=is_whole)
    shown_range = [to_cell(float(ends.min())), to_cell(float(ends.max()))] if len(ends) else None
    start = float(np.median(known)) if len(known) else low
    return {
        "low": low,
        "high": high,
        "step": step,
        "range": shown_range if rows else [low, high],
        "start": min(max(_round_to(round(start / step), step), low), high),
        "isWhole": is_whole,
        "bars": _histogram(numbers, colours, low, high, n_colours, is_whole=is_whole),
        "missing": _count(colours[np.isnan(numbers)], n_colours),
    }


def _is_whole(column: Column, known: NDArray[np.float64], cutoffs: Sequence[float]) -> bool:
    """Return whether bins and slider should use whole numbers.

    Not beyond 10^12, where edges at halves lose their precision.
    """
    largest = np.abs(np.concatenate([known, cutoffs, [0.0]])).max()
    if column.kind not in ("integer", "number") or largest > 1e12:
        return False
    return column.kind == "integer" or (len(known) > 0 and bool((known % 1 == 0).all()))


def _two_values_part(
    numbers: NDArray[np.float64], colours: NDArray[np.int64], n_colours: int
) -> dict[str, Any]:
    """Describe a column of 0 and 1: "bars" lists [value, counts]."""
    return {
        "hasTwoValues": True,
        "low": 0,
        "start": int(np.nansum(numbers == 1) * 2 > np.isfinite(numbers).sum()),
        "bars": [[value, _count(colours[numbers == value], n_colours)] for value in (0, 1)],
        "missing": _count(colours[np.isnan(numbers)], n_colours),
    }


def _category_part(
    column: Column, codes: NDArray[Any], colours: NDArray[np.int64], n_colours: int
) -> dict[str, Any]:
    """Describe the most common categories: "bars" lists [code, counts], "other" pools the rest."""
    sizes = np.bincount(codes[codes >= 0], minlength=len(column.categories))
    shown = sorted(np.argsort(-sizes, kind="stable")[:_MOST_CATEGORIES].tolist())
    is_other = (codes == UNSEEN_CODE) | ((codes >= 0) & ~np.isin(codes, shown))
    return {
        "categories": [format_category(each) for each in column.categories],
        "start": int(sizes.argmax()) if len(sizes) else "other",
        "bars": [[code, _count(colours[codes == code], n_colours)] for code in shown],
        "others": len(column.categories) - len(shown),
        "other": _count(colours[is_other], n_colours),
        "missing": _count(colours[codes == MISSING_CODE], n_colours),
    }


def _slider(
    kind: str, ends: NDArray[np.float64], cutoffs: Sequence[float], *, is_whole: bool
) -> tuple[float, float, float]:
    """Choose a range with the rows and both sides of every cutoff, in round steps."""
    known = np.concatenate([ends, cutoffs]) if len(ends) or cutoffs else np.array([0.0, 1.0])
    low, high = float(known.min()), float(known.max())
    # Arithmetic with numbers near the largest float64 would overflow.
    low, high = max(low, -1e300), min(high, 1e300)
    room = (high - low) / 20 or abs(low) / 20 or 1.0
    if cutoffs and not (ends <= cutoffs[0]).any():
        low -= room
    if cutoffs and high <= cutoffs[-1]:
        high += room
    if high - low < 1e-290:  # one number, or numbers that a slider cannot distinguish
        low, high = low - 1.0, high + 1.0
    step = 10.0 ** math.floor(math.log10((high - low) / _SLIDER_STEPS))
    if is_whole or kind == "integer":
        step = max(1.0, step)
    if kind == "date":
        step = max(86400.0, step) if high - low > 20 * 86400 else max(1.0, step)
    return _round_to(math.floor(low / step), step), _round_to(math.ceil(high / step), step), step


def _round_to(count: int, step: float) -> float:
    """Multiply without the last digits that binary fractions add: 3 steps of 0.1 are 0.3."""
    return float(f"{count * step:.12g}")


def _histogram(
    numbers: NDArray[np.float64],
    colours: NDArray[np.int64],
    low: float,
    high: float,
    n_colours: int,
    *,
    is_whole: bool,
) -> list[list[Any]]:
    """Count rows by class colour in bins of equal width; outliers go to the first or last bin."""
    edges = np.linspace(low, high, _BINS + 1)
    if is_whole:
        width = math.ceil((high - low + 1) / _BINS)
        n_bins = math.ceil((high - low + 1) / width)
        edges = np.linspace(low - 0.5, low - 0.5 + width * n_bins, n_bins + 1)
    inside = np.isfinite(numbers)
    # A bin includes its upper edge, just as a number equal to a cutoff is not above it.
    places = np.clip(np.searchsorted(edges, numbers[inside], side="left") - 1, 0, len(edges) - 2)
    counts = count_pairs(places, colours[inside], (len(edges) - 1, n_colours))
    return [
        [float(f"{start:.9g}"), float(f"{end:.9g}"), count.tolist()]
        for start, end, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts, strict=True)
    ]


def _count(colours: NDArray[np.int64], n_colours: int) -> list[int]:
    """Count rows by class colour."""
    counts: list[int] = np.bincount(colours, minlength=n_colours).tolist()
    return counts
