"""Plot the function of a threshold during training (a figure of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln._util.colours import GREY
from dln.core.literals import LiteralKind
from dln.draw.canvas import figure_of, make_axes, make_outer_legend, name_text, whole_numbers
from dln.draw.trace_checks import check_number, check_trace
from dln.errors import OptionError
from dln.train.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

_N_SAMPLED = 8
_MOST_IN_LEGEND = 10


def draw_threshold(
    trace: Trace,
    literal: int,
    epochs: Sequence[int] | None = None,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Plot Sigmoid(s(x - b)) of a threshold at several epochs, from dark to bright.

    Parameters
    ----------
    trace
        An element of a classifier's `traces_`.
    literal
        Number of the literal; it must be a threshold.
    epochs
        Recorded epochs to draw. By default eight, from the first to the last.
    names
        Column names of the table, for example `model.feature_names_in_`, to name the feature.
    ax
        Axes to draw on. By default a new figure is created.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OptionError
        If the trace is empty, the literal is not a threshold or an epoch was not recorded.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dln import DLNClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = DLNClassifier(layers=(4, 2), tau=4.0, epochs=5, trace_every=1, random_state=0)
    >>> figure = draw_threshold(model.fit(X, y).traces_[0], literal=0, names=["size"])
    >>> figure.axes[0].get_xlabel()
    'size, scaled to 0 … 1'
    """
    check_trace(trace)
    literal = _check_threshold(trace, literal)
    records = _sampled(trace) if epochs is None else _recorded(trace, epochs)
    name = _column_name(trace, literal, names)
    (ax,) = make_axes(ax, 1, (7.0, 4.0))
    drawn = trace.epochs[records]
    colours = _colour_epochs(drawn)
    b = trace.cutoffs[:, literal].astype(np.float64)
    s = trace.slopes[:, literal].astype(np.float64)
    x = np.linspace(0.0, 1.0, 501)
    lines = [
        ax.plot(x, _sigmoid(s[k] * (x - b[k])), color=colours.to_rgba(trace.epochs[k]), lw=1.8)[0]
        for k in records
    ]
    last = records[-1]
    if 0 <= b[last] <= 1:
        ax.axvline(b[last], color=GREY, lw=0.9, ls=":", zorder=0)
    ax.set(xlim=(0, 1), ylim=(-0.03, 1.03), ylabel="output of the threshold")
    ax.set_xlabel(f"{name}, scaled to 0 … 1")
    ax.set_title(
        f"A threshold on {name}\n"
        f"position {b[records[0]]:.3g} → {b[last]:.3g}, slope {s[records[0]]:.3g} → {s[last]:.3g}",
        fontsize="medium",
    )
    if len(lines) <= _MOST_IN_LEGEND:
        make_outer_legend(ax, lines, [str(epoch) for epoch in drawn]).set_title("epoch")
    else:
        ax.figure.colorbar(colours, ax=ax, label="epoch", ticks=whole_numbers())
    return figure_of(ax)


def _colour_epochs(epochs: NDArray[np.int32]) -> ScalarMappable:
    """Choose colours for epochs, from dark to bright."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    # The last part of the colour map is too bright on white.
    colours = ListedColormap(colormaps["viridis"](np.linspace(0.0, 0.9, 256)))
    return ScalarMappable(Normalize(epochs.min(), max(epochs.max(), epochs.min() + 1)), colours)


def _check_threshold(trace: Trace, literal: Any) -> int:
    kinds = trace.network.literal_kind
    number = check_number("literal", literal, len(kinds))
    if kinds[number] != LiteralKind.ABOVE:
        known = np.flatnonzero(kinds == LiteralKind.ABOVE).tolist()
        which = f"those from {known[0]} to {known[-1]}" if known else "none"
        raise OptionError(
            f"literal {number} is not a threshold but a category or a missing value; "
            f"the network's thresholds are {which}"
        )
    return number


def _sampled(trace: Trace) -> NDArray[np.intp]:
    """Choose records at equal distances, including the first and the last."""
    n_records = len(trace.epochs)
    places = np.linspace(0, n_records - 1, min(_N_SAMPLED, n_records))
    return np.unique(np.rint(places).astype(np.intp))


def _recorded(trace: Trace, epochs: Sequence[int]) -> NDArray[np.intp]:
    """Return the records of these epochs, in the order of training."""
    wanted = np.atleast_1d(np.asarray(epochs))
    if wanted.size == 0:
        raise OptionError("epochs is empty; pass the epochs to draw, or None")
    unknown = [epoch for epoch in wanted.ravel().tolist() if epoch not in trace.epochs.tolist()]
    if unknown:
        raise OptionError(
            f"epoch {unknown[0]!r} was not recorded, only {len(trace.epochs)} from "
            f"{trace.epochs[0]} to {trace.epochs[-1]} were; fit with trace_every=1 to record all"
        )
    return np.flatnonzero(np.isin(trace.epochs, wanted))


def _column_name(trace: Trace, literal: int, names: Sequence[str] | None) -> str:
    column = int(trace.network.literal_column[literal])
    if names is None:
        return f"column {column}"
    if len(names) <= column:
        raise OptionError(
            f"names has {len(names)} names, but the threshold reads column {column}; "
            "pass the names of all columns of the table"
        )
    return name_text(str(names[column]))


def _sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    # Computed by tanh, because the exponential of a steep slope would overflow.
    return np.asarray(0.5 + 0.5 * np.tanh(z / 2))
