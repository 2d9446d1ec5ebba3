"""Plot a search: accuracy against size, and the importance of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dln._util.colours import COLOURS, GREY
from dln.draw.canvas import escape_dollars, figure_of, make_axes, make_legend
from dln.search.importance import find_importance
from dln.search.scores import ACCURACY
from dln.search.trial import Trial

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dln.search.base import CircuitSearch


def draw_search(
    search: CircuitSearch, *, axes: Sequence[Axes] | NDArray[Any] | None = None
) -> Figure:
    """Plot the results of a search.

    The first axes show accuracy and size of each trial, the Pareto front and the chosen trial. The
    second axes show the importance of each parameter for the score.

    Parameters
    ----------
    search
        A fitted search.
    axes
        Two axes to draw on. By default a new figure is created.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ExtraMissingError
        If matplotlib is not installed.
    """
    check_is_fitted(search, "trials_")
    left, right = _beside(axes)
    _draw_front(left, search)
    _draw_importance(right, find_importance(search.trials_, search.space_))
    return figure_of(left)


def _beside(given: Any) -> list[Axes]:
    """Check the given axes, or create two side by side."""
    if given is not None:
        return make_axes(given, 2, (0, 0))
    (alone,) = make_axes(None, 1, (11.0, 4.5))
    figure = figure_of(alone)
    figure.clear()
    return [*figure.subplots(1, 2)]


def _draw_front(ax: Axes, search: CircuitSearch) -> None:
    trials = search.trials_
    factor = 100.0 if search.measure == ACCURACY else 1.0
    handles: list[Artist] = []
    labels: list[str] = []
    for stopped, colour, label in (
        (True, GREY, "stopped early"),
        (False, COLOURS[0], "all folds"),
    ):
        some = [trial for trial in trials if trial.stopped == stopped]
        if some:
            handles.append(ax.scatter(*_points(some, factor), color=colour, s=18, alpha=0.7))
            labels.append(label)
    sizes, scores = _points(search.pareto_, factor)
    handles.append(ax.plot(sizes, scores, color=COLOURS[1], lw=1.5, drawstyle="steps-post")[0])
    labels.append("Pareto front")
    chosen = _points([trials[search.best_index_]], factor)
    handles.append(ax.scatter(*chosen, color=COLOURS[5], marker="*", s=150, zorder=3))
    labels.append("chosen (best estimate)")
    ax.set_xscale("log")
    ax.set(xlabel="gate-level operations", ylabel="score in %" if factor > 1 else search.measure)
    ax.set_title(f"{len(trials)} trials", fontsize="medium")
    make_legend(ax, handles, labels, loc="best", fontsize="small")


def _points(trials: Sequence[Trial], factor: float) -> tuple[list[float], list[float]]:
    """Return sizes and scores. A circuit without operations is drawn at 1."""
    return [max(1.0, trial.size) for trial in trials], [factor * trial.score for trial in trials]


def _draw_importance(ax: Axes, parts: dict[str, float]) -> None:
    names = [escape_dollars(name) for name in parts]
    ax.barh(range(len(names)), [100 * part for part in parts.values()], color=COLOURS[0])
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("share of the variance of scores, in %")
    ax.set_title("Importance of parameters", fontsize="medium")
