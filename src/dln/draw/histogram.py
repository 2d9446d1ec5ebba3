"""A feature of numbers or dates -> a histogram by class, with cutoffs as labelled lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import Literal, format_value, sorted_cutoffs
from dln.draw.canvas import escape_dollars, make_axes, make_legend, name_text, whole_numbers
from dln.draw.cells import FeatureCells
from dln.draw.classes import count_cells, missing_note, style_classes
from dln.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_BINS = 40
_MOST_BINS = 100_000
_MOST_FILLED = 3
_LABEL_GAP = 0.032
_LARGEST = 1e300
"""Beyond this, the difference of two numbers may overflow."""
_NARROW = 1e-12
_HALF_DAY = 43_200.0
_YEAR = 31_556_952.0


def draw_histogram(
    cells: FeatureCells, literals: Sequence[Literal], bins: Any, ax: Axes | None
) -> Axes:
    """Draw the histogram; `literals` are those that read the feature."""
    edges = _bin_edges(cells, bins)
    (ax,) = make_axes(ax, 1, (7.5, 4.5))
    counts = np.array([_count(values, edges) for values in cells.values_by_class()])
    cutoffs = sorted_cutoffs(literals)
    places, line_places = _places(ax, cells, edges, np.array(cutoffs, dtype=np.float64))
    styles = style_classes(cells.classes, counts)
    stairs = []
    for style in styles:
        if len(styles) <= _MOST_FILLED:
            ax.stairs(style.counts, places, color=style.colour, fill=True, alpha=0.3, lw=0)
        stairs.append(ax.stairs(style.counts, places, color=style.colour, lw=1.6))
    make_legend(ax, stairs, [style.label for style in styles], loc="best", fontsize="small")
    name = name_text(cells.column.name)
    ax.set_ylabel("rows in a bin")
    ax.yaxis.set_major_locator(whole_numbers())
    ax.set_ylim(bottom=0)
    ax.set_xlabel("\n".join([name, *_notes(cells, literals, int(counts.sum()))]))
    texts = [escape_dollars(format_value(cutoff, cells.column)) for cutoff in cutoffs]
    _draw_cutoffs(ax, line_places, texts)
    many = "no cutoffs" if not cutoffs else "the cutoff" if len(cutoffs) == 1 else "the cutoffs"
    # The labels of the cutoffs are between the axes and the title.
    pad = 6.0 + (26.0 + 5.2 * max(map(len, texts)) if texts else 0.0)
    ax.set_title(f"{name} by class, with {many} of the circuit", fontsize="medium", pad=pad)
    return ax


def _bin_edges(cells: FeatureCells, bins: Any) -> NDArray[np.float64]:
    """Choose edges (bins + 1,) from the finite values. Whole numbers are in the middle of bins."""
    if bins is not None and not isinstance(bins, (int, np.integer)):
        return _given_edges(bins)
    if bins is not None and (isinstance(bins, bool) or not 1 <= bins <= _MOST_BINS):
        raise OptionError(
            f"bins is {bins!r}, expected an integer from 1 to {_MOST_BINS}, rising edges or None"
        )
    inside = cells.values[np.abs(cells.values) <= _LARGEST]
    low, high = (float(inside.min()), float(inside.max())) if len(inside) else (0.0, 1.0)
    n_bins = _N_BINS if bins is None else int(bins)
    if cells.column.kind == "integer" and bins is None and max(-low, high) < 2**52:
        width = max(1, math.ceil((high - low + 1) / n_bins))
        n_bins = math.ceil((high - low + 1) / width)
        return np.asarray(low - 0.5 + width * np.arange(n_bins + 1.0))
    size = max(abs(low), abs(high))
    if high - low <= max(_NARROW * size, 1 / _LARGEST):  # floats are too far apart
        pad = _HALF_DAY if cells.column.kind == "date" else max(0.5, 1e-6 * size)
        low, high = low - pad, high + pad
    return np.linspace(low, high, n_bins + 1)


def _given_edges(bins: Any) -> NDArray[np.float64]:
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.empty(0)
    is_finite = edges.ndim == 1 and len(edges) >= 2 and np.abs(edges).max() <= _LARGEST
    if not is_finite or not (np.diff(edges) > 0).all():
        raise OptionError(f"bins is {bins!r}, expected a number of bins, rising edges or None")
    return edges


def _count(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    inside = values[(values >= edges[0]) & (values <= edges[-1])]
    return np.histogram(inside, bins=edges)[0].astype(np.int64)


def _notes(cells: FeatureCells, literals: Sequence[Literal], n_drawn: int) -> list[str]:
    """Describe which values are not shown."""
    n_missing = int(np.isnan(cells.values).sum())
    n_outside = len(cells.values) - n_missing - n_drawn
    notes = []
    if n_missing:
        is_asked = any(literal.true_if_missing for literal in literals)
        notes.append(missing_note(n_missing, is_asked=is_asked))
    if n_outside:
        notes.append(count_cells(n_outside, "outside the plot"))
    return notes


def _places(
    ax: Axes, cells: FeatureCells, edges: NDArray[np.float64], cutoffs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the x of edges and cutoffs. Dates get a date axis, if the calendar includes them."""
    both = np.concatenate([edges, cutoffs])
    # matplotlib's locators also use dates somewhat beyond the ends.
    has_dates = both.min() > -1900 * _YEAR and both.max() < 7900 * _YEAR
    if cells.column.kind != "date" or not has_dates:
        return edges, cutoffs
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
    moments = np.rint(both * 1e6).astype("datetime64[us]")
    days = np.asarray(untyped.date2num(moments), dtype=np.float64)
    return days[: len(edges)], days[len(edges) :]


def _draw_cutoffs(ax: Axes, places: NDArray[np.float64], texts: Sequence[str]) -> None:
    """Draw a line for each cutoff, with its label above the axes; close labels are moved apart."""
    for place in places:
        ax.axvline(place, color="black", lw=0.8, ls="--")
    low, high = ax.get_xlim()
    ax.set_xlim(low, high)
    leader = {"arrowstyle": "-", "lw": 0.6, "shrinkA": 0, "shrinkB": 0, "relpos": (0.5, 0.0)}
    label_places = _apart((places - low) / (high - low))
    for place, label_place, text in zip(places, label_places, texts, strict=True):
        ax.annotate(
            text,
            xy=(place, 1.0),
            xycoords=ax.get_xaxis_transform(),
            xytext=(label_place, 1.08),
            textcoords="axes fraction",
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=8,
            arrowprops=leader,
        )


def _apart(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move ascending positions apart, as little as necessary, to a minimum distance for text.

    >>> _apart(np.array([0.2, 0.5, 0.5])).round(3).tolist()
    [0.2, 0.484, 0.516]
    """
    steps = min(_LABEL_GAP, 1.0 / max(1, len(places))) * np.arange(len(places))
    # Pushing to the right and to the left both keep the minimum distance, and so does their mean.
    right = np.maximum.accumulate(places - steps) + steps
    left = np.minimum.accumulate((places - steps)[::-1])[::-1] + steps
    return np.asarray(np.clip((right + left) / 2, steps, 1.0 - steps[::-1]))
