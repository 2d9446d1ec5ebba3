"""Plot predicted numbers against actual ones, and the residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dln._util.colours import COLOURS, GREY
from dln.core.circuit import Circuit, check_is_circuit
from dln.data.number_target import read_numbers
from dln.draw.canvas import figure_of, make_axes, name_text
from dln.errors import TableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_POINTS = 5000
"""Of more rows, a random sample is drawn."""
_SEED = 0


def draw_predictions(circuit: Circuit, X: Any, y: Any, *, ax: Axes | None = None) -> Figure:
    """Plot the actual number of each row against its prediction.

    Points on the diagonal are predicted exactly. Of more than 5000 rows, a sample is shown.

    Parameters
    ----------
    circuit
        A circuit that predicts a number.
    X, y
        Rows, in any form that `Circuit.predict` takes, and their numbers.
    ax
        Axes to draw on. By default a new figure is created.

    Examples
    --------
    >>> from dln import Above, Column, Logic, Rule, Score
    >>> logic = Logic((Column("age", "integer"),), (Above(0, 54.0),), ())
    >>> price = Circuit(logic=logic, readout=Score((Rule(0, (32,)),), (125,), 1, name="price"))
    >>> figure = draw_predictions(price, [[60], [50]], [15.0, 13.0])
    >>> figure.axes[0].get_xlabel()
    'predicted price'
    """
    check_is_circuit(circuit, "draw_predictions")
    predicted, target, note = _sample(circuit, X, y)
    (ax,) = make_axes(ax, 1, (5.0, 5.0))
    low = float(min(predicted.min(), target.min()))
    high = float(max(predicted.max(), target.max()))
    margin = 0.05 * (high - low) or max(1.0, abs(low))
    ends = (low - margin, high + margin)
    ax.plot(ends, ends, color=GREY, lw=1)
    _draw_points(ax, predicted, target)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    name = name_text(circuit.number_readout.name)
    ax.set_xlabel("\n".join([f"predicted {name}", *note]))
    ax.set_ylabel(f"actual {name}")
    ax.set_title("Predicted against actual", fontsize="medium")
    return figure_of(ax)


def draw_residuals(circuit: Circuit, X: Any, y: Any, *, ax: Axes | None = None) -> Figure:
    """Plot the residual of each row, actual minus predicted, against its prediction.

    Parameters are those of `draw_predictions`.
    """
    check_is_circuit(circuit, "draw_residuals")
    predicted, target, note = _sample(circuit, X, y)
    (ax,) = make_axes(ax, 1, (6.0, 4.0))
    ax.axhline(0.0, color=GREY, lw=1)
    _draw_points(ax, predicted, target - predicted)
    name = name_text(circuit.number_readout.name)
    ax.set_xlabel("\n".join([f"predicted {name}", *note]))
    ax.set_ylabel("actual minus predicted")
    ax.set_title("Residuals", fontsize="medium")
    return figure_of(ax)


def _draw_points(ax: Axes, x: Any, y: Any) -> None:
    # Points of many rows are transparent, so that their density can be seen.
    alpha = float(np.clip(200 / len(x), 0.15, 0.8))
    ax.scatter(x, y, s=14, color=COLOURS[0], alpha=alpha, linewidths=0)


def _sample(circuit: Circuit, X: Any, y: Any) -> tuple[Any, Any, list[str]]:
    """Predict the rows; return the predictions and targets to draw, and a note if not all."""
    circuit.number_readout  # noqa: B018 - raises if the circuit predicts classes
    predicted = circuit.predict(X)
    target = read_numbers(y, len(predicted))
    if not len(target):
        raise TableError("the table has 0 rows, expected at least one")
    if len(target) <= _MOST_POINTS:
        return predicted, target, []
    chosen = np.random.default_rng(_SEED).choice(len(target), _MOST_POINTS, replace=False)
    return predicted[chosen], target[chosen], [f"{_MOST_POINTS:,} of {len(target):,} rows"]
