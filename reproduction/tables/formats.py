"""Format figures as the paper does, and differences and ratios."""

from __future__ import annotations

from collections.abc import Callable

from reproduction.datasets import NAMES
from reproduction.published import Measure
from reproduction.tables.means import Mean

ABSENT = "–"
"""Shown in tables instead of a missing result."""

TITLES: dict[Measure, str] = {
    "accuracy": "Balanced accuracy on test rows, percent",
    "operations": "High-level operations of one prediction",
    "gate_operations": "Gate-level operations of one prediction",
    "parameters": "Parameters",
    "bytes": "Bytes on disk",
}
"""The measures in words."""


def dataset_text(name: str) -> str:
    """Name a dataset; one of the paper is not public."""
    return f"{name} (not public, could not be found)" if name == "PDAC" else name


def rank_text(rank: float | None) -> str:
    """Format an average rank."""
    return ABSENT if rank is None else f"{rank:.1f}"


def of_all(n_datasets: int) -> str:
    """Say on how many of the paper's tables a mean is based, if not on all.

    >>> of_all(5)
    ' [5 of 19]'
    """
    return "" if n_datasets == len(NAMES) else f" [{n_datasets} of {len(NAMES)}]"


def ratio_text(ratio: float) -> str:
    """Format a large ratio.

    >>> ratio_text(366.3), ratio_text(16_016.0)
    ('×366', '×16.0K')
    """
    return f"×{short(ratio)}"


def short(figure: float) -> str:
    """Format a count as the paper does.

    >>> [short(figure) for figure in (46.0, 3_812, 316_000, 1_400_000)]
    ['46', '3.8K', '316K', '1.4M']
    """
    for size, unit in ((1e6, "M"), (1e3, "K")):
        if figure >= size:
            return f"{figure / size:.{0 if figure >= 100 * size else 1}f}{unit}"
    return f"{figure:.0f}"


def percent_text(figure: float) -> str:
    """Format a percentage.

    >>> percent_text(81.25)
    '81.2'
    """
    return f"{figure:.1f}"


def figure_text(measure: Measure) -> Callable[[float], str]:
    """Return the format function of a measure."""
    return percent_text if measure == "accuracy" else short


def beside(mean: Mean | None, paper: float | None, measure: Measure) -> str:
    """Format a mean, the paper's figure and their difference or ratio; * marks missing seeds.

    >>> beside(Mean(81.0, 0.5, 4), 80.1, "accuracy")
    '81.0 (80.1, +0.9)'
    >>> beside(Mean(3_000.0, 5.0, 2), 1_500.0, "bytes")
    '3.0K* (1.5K, ×2.0)'
    >>> beside(None, 80.1, "accuracy")
    '– (80.1)'
    """
    write = figure_text(measure)
    if mean is None:
        return ABSENT if paper is None else f"{ABSENT} ({write(paper)})"
    shown = write(mean.value) + ("" if mean.whole else "*")
    if paper is None:
        return shown
    return f"{shown} ({write(paper)}, {change(mean.value, paper, measure)})"


def change(value: float, paper: float, measure: Measure) -> str:
    """Format a difference in points or a ratio of costs.

    >>> change(2.0, 4.0, "operations")
    '×0.50'
    """
    if measure == "accuracy":
        return f"{value - paper:+.1f}"
    ratio = value / paper
    return f"×{ratio:.2f}" if ratio < 1 else f"×{ratio:.1f}"
