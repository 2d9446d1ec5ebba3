"""Plot a path: validated accuracy by the number of literals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dln._util.colours import COLOURS
from dln._util.messages import count_of
from dln.draw.canvas import figure_of, make_axes
from dln.errors import OptionError
from dln.paths.path import NUMBER_MEASURES, CircuitPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_path(path: CircuitPath, *, axes: Axes | None = None) -> Figure:
    """Plot the validated accuracy of each circuit of a path, with its standard error.

    The number of literals is on a logarithmic scale. The chosen circuit is marked. Accuracies are
    in percent; R² and D² are not.

    Parameters
    ----------
    path
        `path_` of a fitted classifier or regressor, or a loaded path.
    axes
        Axes to draw on. By default a new figure is created.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OptionError
        If no circuit of the path has a validated accuracy.
    ExtraMissingError
        If matplotlib is not installed.
    """
    if not isinstance(path, CircuitPath):
        raise OptionError(f"draw_path takes a CircuitPath, such as model.path_, not {path!r:.60}")
    known = [point for point in path if not math.isnan(point.accuracy)]
    if not known:
        raise OptionError("no circuit of the path has a validated accuracy; there is no curve")
    (canvas,) = make_axes(axes, 1, (6.0, 3.6))
    sizes = [max(1, point.size.n_literals) for point in known]
    factor, unit = (1, "") if path.measure in NUMBER_MEASURES else (100, " (%)")
    accuracy = [factor * point.accuracy for point in known]
    error = [factor * point.standard_error for point in known]
    low = [mean - own for mean, own in zip(accuracy, error, strict=True)]
    high = [mean + own for mean, own in zip(accuracy, error, strict=True)]
    canvas.fill_between(sizes, low, high, color=COLOURS[0], alpha=0.15, linewidth=0)
    canvas.plot(sizes, accuracy, color=COLOURS[0], marker="o", markersize=3)
    chosen = path.points[path.chosen]
    if not math.isnan(chosen.accuracy):
        place = (max(1, chosen.size.n_literals), factor * chosen.accuracy)
        canvas.plot(*place, color=COLOURS[1], marker="o", markersize=8, fillstyle="none")
        rules = count_of(chosen.size.n_rules, "rule")
        canvas.annotate(f"chosen: {rules}", place, xytext=(4, -14), textcoords="offset points")
    canvas.set_xscale("log")
    canvas.set_xlabel("literals")
    canvas.set_ylabel(path.accuracy_name + unit)
    _label_sizes(canvas, sizes)
    return figure_of(canvas)


def _label_sizes(canvas: Any, sizes: list[int]) -> None:
    """Label round numbers of literals as plain numbers."""
    ticks = [
        tick
        for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
        if min(sizes) <= tick <= max(sizes)
    ]
    canvas.set_xticks(ticks or sizes[:1])
    canvas.set_xticklabels([f"{tick:,}" for tick in (ticks or sizes[:1])])
    canvas.minorticks_off()
