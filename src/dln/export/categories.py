"""Categories where a column has one type: text, or numbers.

A circuit may know text, numbers and booleans in one column. A database or an ONNX model has one
type for it: numbers where all categories are, and otherwise text, in which numbers are spelled.
"""

from __future__ import annotations

from collections.abc import Iterable

from dln.errors import OptionError
from dln.literals import Category, Column


def holds_numbers(column: Column) -> bool:
    """Tell whether all categories are numbers that float64 holds."""
    return all(
        not isinstance(category, str) and _is_float(category) for category in column.categories
    )


def _is_float(category: float) -> bool:
    try:
        return float(category) == category
    except OverflowError:
        return False


def spell(category: Category) -> str:
    """Spell a category as text.

    >>> spell("red"), spell(7), spell(0.5), spell(True)
    ('red', '7', '0.5', 'true')
    """
    if isinstance(category, bool):
        return "true" if category else "false"
    return category if isinstance(category, str) else repr(category)


def spelled_categories(column: Column) -> tuple[str, ...]:
    """Spell the categories of a column; raises where two of them read the same."""
    spelled = tuple(spell(category) for category in column.categories)
    seen: dict[str, Category] = {}
    for category, text in zip(column.categories, spelled, strict=True):
        if text in seen:
            raise OptionError(
                f"column {column.name!r} has the categories {seen[text]!r} and {category!r}, which "
                "are the same as text; this target has columns of one type: make them differ"
            )
        seen[text] = category
    return spelled


def choose(values: tuple[str, ...], codes: Iterable[int]) -> list[str]:
    """Pick the spelled categories of a set."""
    return [values[code] for code in codes]
