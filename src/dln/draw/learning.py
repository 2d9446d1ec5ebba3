"""Plot learning curves: loss, accuracy and gates by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dln._util.colours import COLOURS
from dln.draw.canvas import PALE, figure_of, make_axes, make_legend, whole_numbers
from dln.errors import OptionError
from dln.train.jobs import HISTORY
from dln.train.options import Phases
from dln.train.settings import Alternating

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = Mapping[str, NDArray[np.float32]]

_MOST_BANDS = 100
"""More bands than this would be one grey area."""


class Fitted(Protocol):
    """A fitted DLNClassifier."""

    phases: Phases
    history_: History


def draw_learning(
    model_or_history: Fitted | History,
    *,
    phases: Phases | None = None,
    axes: Sequence[Axes] | NDArray[Any] | None = None,
) -> Figure:
    """Plot the learning curves of all networks (thin) and their mean (bold).

    There are three axes: the loss; the balanced accuracy on training rows and, if there are any,
    validation rows; the number of gates in use. If networks stop at different epochs, the mean is
    over those that still train. Epochs that train only links are shaded.

    Parameters
    ----------
    model_or_history
        A fitted classifier, or its `history_`.
    phases
        The `phases` parameter of the classifier, which is used by default. With "batches" and
        "unified" nothing is shaded.
    axes
        Three axes to draw on. By default a new figure is created.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OptionError
        If the classifier is not fitted or the history has no epochs.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dln import DLNClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = DLNClassifier(layers=(4, 2), tau=4.0, epochs=5, random_state=0)
    >>> [axes.get_ylabel() for axes in draw_learning(model.fit(X, y)).axes]
    ['loss', 'balanced accuracy', 'gates in use']
    """
    history = _read_history(model_or_history)
    own: Phases = getattr(model_or_history, "phases", "unified")
    turns = own if phases is None else phases
    top, middle, bottom = all_axes = make_axes(axes, 3, (7.0, 7.0))
    n_networks, n_epochs = history["loss"].shape
    many = f"{n_networks} networks and their mean" if n_networks > 1 else "one network"
    top.set_title(f"Training of {many}", fontsize="medium")
    _draw_curves(top, history["loss"], COLOURS[0], "-")
    top.set_ylabel("loss")
    handles = [_draw_curves(middle, history["train_accuracy"], COLOURS[0], "-")]
    labels = ["training rows"]
    if np.isfinite(history["valid_accuracy"]).any():
        handles.append(_draw_curves(middle, history["valid_accuracy"], COLOURS[1], "--"))
        labels.append("validation rows")
    middle.set_ylabel("balanced accuracy")
    _draw_curves(bottom, history["gates"], COLOURS[0], "-")
    bottom.set(ylabel="gates in use", xlabel="epoch")
    bottom.set_ylim(bottom=0)
    bands = [_shade(ax, turns, n_epochs) for ax in all_axes]
    for ax in all_axes:
        ax.set_xlim(0.5, n_epochs + 0.5)
        ax.xaxis.set_major_locator(whole_numbers())
    if bands[1] is not None:
        handles.append(bands[1])
        labels.append("links trained, otherwise gates")
    make_legend(middle, handles, labels, loc="best", fontsize="small")
    return figure_of(top)


def _read_history(source: Any) -> History:
    history = source if isinstance(source, Mapping) else getattr(source, "history_", None)
    if history is None:
        raise OptionError(
            f"{type(source).__name__} has no history_; fit a DLNClassifier and pass it, "
            "or its history_"
        )
    lacking = [name for name in HISTORY if name not in history]
    if lacking:
        raise OptionError(
            f"the history lacks {lacking}; pass the complete history_ of a classifier"
        )
    curves = {name: np.atleast_2d(np.asarray(history[name])) for name in HISTORY}
    shapes = {curve.shape for curve in curves.values()}
    if len(shapes) > 1 or len(min(shapes)) != 2:
        raise OptionError("the history's curves differ in shape; expected (networks, epochs) each")
    if 0 in shapes.pop():
        raise OptionError("the history has no epochs; fit with epochs of at least 1")
    return curves


def _draw_curves(ax: Axes, curves: NDArray[np.float32], colour: str, style: str) -> Artist:
    """Draw a curve for each network and their mean, and return the mean. NaN is skipped."""
    epochs = np.arange(1, curves.shape[1] + 1)
    known = np.isfinite(curves)
    many = len(curves) > 1
    if many:
        for curve, there in zip(curves, known, strict=True):
            ax.plot(epochs[there], curve[there], color=colour, ls=style, lw=0.6, alpha=0.45)
    count = known.sum(axis=0)
    total = np.where(known, curves, 0.0).sum(axis=0, dtype=np.float64)
    there = count > 0
    # A single evaluation is a point, which a line would not show.
    marker = "o" if there.sum() == 1 else None
    mean = total[there] / count[there]
    return ax.plot(epochs[there], mean, color=colour, ls=style, lw=2.2, marker=marker)[0]


def _shade(ax: Axes, phases: Phases, n_epochs: int) -> Artist | None:
    """Shade the epochs that train links, if gates and links alternate by epochs."""
    if phases == "epochs":
        phases = Alternating()
    if not isinstance(phases, Alternating):
        return None
    length = phases.epochs
    # Gates come first. The band of an epoch is centred on its number, from 1.
    starts = range(length, n_epochs, 2 * length)
    if not 0 < len(starts) <= _MOST_BANDS:
        return None
    spans = [(start, min(start + length, n_epochs)) for start in starts]
    bands = [ax.axvspan(a + 0.5, b + 0.5, color=PALE, lw=0, zorder=0) for a, b in spans]
    return bands[0]
