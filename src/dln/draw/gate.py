"""Plot the probabilities of a gate's functions over the epochs (a figure of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dln.draw.canvas import figure_of, make_axes, whole_numbers
from dln.draw.trace_checks import check_number, check_trace
from dln.train.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOOR = 1e-5


def draw_gate(trace: Trace, gate: int, *, ax: Axes | None = None) -> Figure:
    """Plot the probability of each function of a gate at each recorded epoch.

    The colour scale is logarithmic and starts at 0.00001. The function that is most likely at the
    end is in bold.

    Parameters
    ----------
    trace
        An element of a classifier's `traces_`.
    gate
        Number of the gate in its network.
    ax
        Axes to draw on. By default a new figure is created.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OptionError
        If the trace is empty or does not have this gate.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dln import DLNClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = DLNClassifier(layers=(4, 2), tau=4.0, epochs=5, trace_every=1, random_state=0)
    >>> figure = draw_gate(model.fit(X, y).traces_[0], gate=0)
    >>> figure.axes[0].get_xlabel()
    'epoch'
    """
    check_trace(trace)
    gate = check_number("gate", gate, trace.network.n_gates)
    probabilities = trace.gate_probabilities(gate).T
    n_functions = len(probabilities)
    (ax,) = make_axes(ax, 1, (7.0, 1.4 + 0.24 * n_functions))
    from matplotlib.colors import LogNorm

    least = float(probabilities.min())
    floor = min(max(least, _FLOOR), 0.1)
    norm = LogNorm(vmin=floor, vmax=1.0, clip=True)
    rows = np.arange(n_functions + 1) - 0.5
    image = ax.pcolormesh(
        _edges(trace.epochs),
        rows,
        probabilities,
        norm=norm,
        cmap="viridis",
        rasterized=True,  # also in SVG, where each cell would be a path otherwise
    )
    best = int(np.argmax(probabilities[:, -1]))
    ax.set_yticks(range(n_functions), trace.gate_names)
    ax.get_yticklabels()[best].set_fontweight("bold")
    ax.invert_yaxis()
    ax.xaxis.set_major_locator(whole_numbers())
    ax.set_xlabel("epoch")
    ax.set_title(
        f"Gate {gate}: {trace.gate_names[best]} in the end, "
        f"probability {probabilities[best, -1]:.3g}",
        fontsize="medium",
    )
    extend = "min" if least < floor else "neither"
    ax.figure.colorbar(image, ax=ax, label="probability", extend=extend)
    return figure_of(ax)


def _edges(epochs: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return borders halfway between records."""
    middle = (epochs[:-1] + epochs[1:]) / 2
    first = epochs[0] - (middle[0] - epochs[0] if len(middle) else 0.5)
    last = epochs[-1] + (epochs[-1] - middle[-1] if len(middle) else 0.5)
    return np.concatenate([[first], middle, [last]])
