"""Some atoms of a column -> a condition in the user's words that exactly their values fulfil."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dln.core.conditions import Atom, Cell, Choice, ColumnAtoms, Gap
from dln.core.literals import Above, Column, format_category, format_name, format_value
from dln.prove.region import members

if TYPE_CHECKING:
    from dln.core.logic import Logic

_MOST_NAMED = 8
"""More categories are described by those that are left out, if these are fewer."""


def describe_atoms(logic: Logic, column: int, found: ColumnAtoms, chosen: Sequence[int]) -> str:
    """Write the condition that a value is in one of the chosen atoms.

    Missing values fail `>`, `=` and `in`; they pass `<=`, `!=` and `not in`. If missing values are
    told apart from others, the condition says so.
    """
    atoms = found.atoms
    if len(chosen) == len(atoms):
        return f"{format_name(logic.columns[column].name)} is anything"
    if logic.columns[column].is_numeric:
        return _numbers(logic.columns, column, atoms, sorted(chosen))
    return _categories(logic, column, found, set(chosen))


def _numbers(
    columns: tuple[Column, ...], number: int, atoms: Sequence[Atom], chosen: Sequence[int]
) -> str:
    name = format_name(columns[number].name)
    missing = [place for place in chosen if not isinstance(atoms[place], Gap)]
    runs = _runs([place for place in chosen if isinstance(atoms[place], Gap)])
    told_apart = not isinstance(atoms[0], Gap)
    texts = []
    for first, last in runs:
        low, high = atoms[first], atoms[last]
        assert isinstance(low, Gap)
        assert isinstance(high, Gap)
        text, lowest = interval(columns, number, low.low, high.high), math.isinf(low.low)
        if told_apart and lowest and not missing:
            text = f"{text} and {name} is not missing" if text else f"{name} is not missing"
        elif told_apart and not lowest and missing and len(runs) == 1:
            text = f"{text} or missing"
        texts.append(text)
    # The lowest numbers and missing values: `<=` says both.
    if missing and not (texts and (len(runs) == 1 or math.isinf(_low(atoms[runs[0][0]])))):
        texts.insert(0, f"{name} is missing")
    return " or ".join(texts)


def _low(atom: Atom) -> float:
    return atom.low if isinstance(atom, Gap) else math.inf


def interval(columns: tuple[Column, ...], number: int, low: float, high: float) -> str:
    """Write `low < x <= high`, with one bound or none if a bound is infinite."""
    column = columns[number]
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(low):
        return Above(number, high).describe(columns, negated=True)
    if math.isinf(high):
        return Above(number, low).describe(columns)
    name = format_name(column.name)
    return f"{format_value(low, column)} < {name} <= {format_value(high, column)}"


def _categories(logic: Logic, number: int, found: ColumnAtoms, chosen: set[int]) -> str:
    column = logic.columns[number]
    name = format_name(column.name)
    of_atom = members(logic, number, found)
    missing = next((p for p, a in enumerate(found.atoms) if a == Choice(None)), None)
    unread = 0 if missing is None else 1  # the atom of unknown categories
    inside = [c for place in sorted(chosen) for c in of_atom[place]]
    outside = [c for place in range(len(of_atom)) if place not in chosen for c in of_atom[place]]
    if unread not in chosen:
        text = _equals(name, inside, "=", "in")
        if missing in chosen:
            return f"{text} or missing" if inside else f"{name} is missing"
        return text
    text = _equals(name, outside, "!=", "not in")
    if missing is not None and missing not in chosen:
        return f"{text} and {name} is not missing" if outside else f"{name} is not missing"
    return text


def _equals(name: str, categories: Sequence[Cell], one: str, several: str) -> str:
    shown = [format_category(c) for c in categories]  # type: ignore[arg-type]
    if len(shown) == 1:
        return f"{name} {one} {shown[0]}"
    return f"{name} {several} {{{', '.join(shown)}}}"


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Split ascending numbers into runs of neighbours: the first and the last of each."""
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and place == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], place
        else:
            runs.append((place, place))
    return runs
