"""Categories of columns that have one type: text or numbers.

A circuit may have text, numbers and booleans in one column. A database or an ONNX model has one
type for a column: numbers if all categories are numbers, and text otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable

from dln.core.literals import Category, Column
from dln.errors import OptionError


def holds_numbers(column: Column) -> bool:
    """Return whether all categories are numbers that float64 represents exactly."""
    return all(
        not isinstance(category, str) and _is_float(category) for category in column.categories
    )


def _is_float(category: float) -> bool:
    try:
        return float(category) == category
    except OverflowError:
        return False


def spell(category: Category) -> str:
    """Write a category as text.

    >>> spell("red"), spell(7), spell(0.5), spell(True)
    ('red', '7', '0.5', 'true')
    """
    if isinstance(category, bool):
        return "true" if category else "false"
    return category if isinstance(category, str) else repr(category)


def spelled_categories(column: Column) -> tuple[str, ...]:
    """Write the categories of a column as text. Raises OptionError if two texts are equal."""
    spelled = tuple(spell(category) for category in column.categories)
    seen: dict[str, Category] = {}
    for category, text in zip(column.categories, spelled, strict=True):
        if text in seen:
            raise OptionError(
                f"column {column.name!r} has the categories {seen[text]!r} and {category!r}, which "
                "are the same as text; columns have one type in this target, so make them differ"
            )
        seen[text] = category
    return spelled


def choose(values: tuple[str, ...], codes: Iterable[int]) -> list[str]:
    """Return the texts of a set of categories."""
    return [values[code] for code in codes]
