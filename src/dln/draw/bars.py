"""A feature of categories or booleans -> bars by class, with those that literals match marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import Category, Literal, format_category, sorted_cutoffs
from dln.data.codes import MISSING_CODE, UNSEEN_CODE
from dln.draw.canvas import PALE, escape_dollars, make_axes, make_outer_legend, name_text
from dln.draw.cells import FeatureCells
from dln.draw.classes import ClassStyle, missing_note, style_classes
from dln.evaluate.scores import count_pairs

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

_MOST_BARS = 20
_ROOM = 40
"""Total number of letters to the left and right of the bars that leaves room for the bars."""


@dataclass(frozen=True)
class _Bar:
    """Category codes that share a bar, and its name."""

    label: str
    codes: tuple[int, ...]
    is_matched: bool = False


def draw_bars(cells: FeatureCells, literals: Sequence[Literal], ax: Axes | None) -> Axes:
    """Draw the bars; `literals` are those that read the feature."""
    categories: tuple[Category, ...] = (
        (False, True) if cells.column.is_numeric else cells.column.categories
    )
    codes = _boolean_codes(cells.values) if cells.column.is_numeric else cells.values
    counts = _count_codes(cells, codes, len(categories))
    on_the_left, on_the_right = _share_room(categories, cells.classes)
    bars = _choose_bars(categories, counts, _matched(literals), on_the_left)
    heights = np.stack([counts[:, list(bar.codes)].sum(axis=1) for bar in bars], axis=1)
    styles = style_classes(cells.classes, heights, on_the_right)
    inches = 1.5 + len(bars) * max(0.34, 0.13 * len(styles))
    (ax,) = make_axes(ax, 1, (7.0, max(2.6, min(inches, 14.0))))
    handles: list[Artist | BarContainer] = [*_draw_classes(ax, styles, len(bars))]
    labels = [style.label for style in styles]
    bands = _mark_matched(ax, bars)
    if bands:
        handles.append(bands[0])
        labels.append("tested by the circuit")
    make_outer_legend(ax, handles, labels)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    n_missing = int((codes == MISSING_CODE).sum())
    is_asked = any(literal.true_if_missing for literal in literals)
    note = [missing_note(n_missing, is_asked=is_asked)] if n_missing else []
    ax.set_xlabel("\n".join(["rows", *note]))
    ax.set_title(f"{name_text(cells.column.name)} by class", fontsize="medium")
    return ax


def _draw_classes(ax: Axes, styles: Sequence[ClassStyle], n_bars: int) -> list[BarContainer]:
    """Draw the bars of the classes side by side."""
    width = 0.8 / len(styles)
    middle = (len(styles) - 1) / 2
    return [
        ax.barh(
            np.arange(n_bars) + (number - middle) * width, style.counts, width, color=style.colour
        )
        for number, style in enumerate(styles)
    ]


def _mark_matched(ax: Axes, bars: Sequence[_Bar]) -> list[Artist]:
    """Label the bars. Those that a literal matches are bold, on a band."""
    bands: list[Artist] = [
        ax.axhspan(place - 0.48, place + 0.48, color=PALE, lw=0, zorder=0)
        for place, bar in enumerate(bars)
        if bar.is_matched
    ]
    ax.set_yticks(np.arange(len(bars)), [bar.label for bar in bars])
    for text, bar in zip(ax.get_yticklabels(), bars, strict=True):
        text.set_fontweight("bold" if bar.is_matched else "normal")
    return bands


def _boolean_codes(values: NDArray[np.float64]) -> NDArray[np.int32]:
    codes = np.where(np.isnan(values), MISSING_CODE, UNSEEN_CODE).astype(np.int32)
    for bit in (0, 1):
        codes[values == bit] = bit
    return codes


def _count_codes(
    cells: FeatureCells, codes: NDArray[np.int32], n_categories: int
) -> NDArray[np.int64]:
    """Count values by class and code: (n_classes, n_categories + 1), unknown categories last."""
    place = np.where(codes == UNSEEN_CODE, n_categories, codes).astype(np.int64)
    there = codes != MISSING_CODE
    return count_pairs(cells.target[there], place[there], (len(cells.classes), n_categories + 1))


def _matched(literals: Sequence[Literal]) -> set[int]:
    """Return the categories that a literal matches; for a boolean, 0 or 1."""
    found = {category for literal in literals for category in literal.categories}
    return found | {1 for cutoff in sorted_cutoffs(literals) if 0 <= cutoff < 1}


def _choose_bars(
    categories: tuple[Category, ...], counts: NDArray[np.int64], matched: set[int], longest: int
) -> list[_Bar]:
    """Choose the categories to show: all, or the matched and then the most frequent ones."""
    rows = counts.sum(axis=0)
    order = sorted(range(len(categories)), key=lambda code: (code not in matched, -rows[code]))
    kept = sorted(order[:_MOST_BARS])
    bars = [
        _Bar(_category_text(categories[code], longest), (code,), is_matched=code in matched)
        for code in kept
    ]
    rest = tuple(order[_MOST_BARS:])
    if rest:
        bars.append(_Bar(f"{len(rest)} others", rest))
    if rows[-1] or not bars:
        bars.append(_Bar("not seen in training", (len(categories),)))
    return bars


def _share_room(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """Return how many letters the names to the left and to the right of the bars may have.

    Each side gets half of the room, plus what the other side does not need.
    """
    needed_left, needed_right = (
        max((len(str(name)) for name in names), default=0) for names in (left, right)
    )
    half = _ROOM // 2
    return max(half, _ROOM - needed_right), max(half, _ROOM - needed_left)


def _category_text(category: Category, longest: int) -> str:
    if isinstance(category, str):
        return name_text(category, longest)
    return escape_dollars(format_category(category))
