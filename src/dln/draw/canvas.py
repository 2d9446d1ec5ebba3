"""What all figures share: axes, colours, and text that matplotlib does not interpret."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dln._util.messages import type_name
from dln.core.literals import format_text
from dln.errors import ExtraMissingError, OptionError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.ticker import Locator

PALE = "#EDEDED"
LONGEST = 60


def make_axes(given: Any, n_axes: int, size: tuple[float, float]) -> list[Axes]:
    """Check the given axes, or create a figure with `n_axes` axes below each other.

    Parameters
    ----------
    given
        One or several Axes. None creates a figure.
    size
        Width and height of a new figure in inches.
    """
    try:
        from matplotlib.axes import Axes

        from dln.draw.picture import Picture
    except ImportError as error:
        raise ExtraMissingError.for_packages("plotting", "matplotlib") from error
    if given is None:
        figure = Picture(figsize=size, layout="constrained")
        return [*figure.subplots(n_axes, 1, sharex=True, squeeze=False).ravel()]
    axes = [given] if isinstance(given, Axes) else _as_list(given)
    if len(axes) != n_axes or not all(isinstance(ax, Axes) for ax in axes):
        found = type_name(given) if axes == [given] else f"{len(axes)} of something"
        wanted = "one matplotlib Axes" if n_axes == 1 else f"{n_axes} matplotlib Axes"
        raise OptionError(f"the axes to draw on are {found}, expected {wanted}")
    return axes


def ending_of(path: str | PathLike[str], known: Sequence[str]) -> str:
    """Return the ending of a file name, which must be a known one.

    >>> ending_of("tree.SVG", ["svg", "png"])
    'svg'
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in known:
        found = f"ends in .{ending}" if ending else "has no ending"
        wanted = ", ".join(f".{name}" for name in known)
        raise OptionError(f"{fspath(path)} {found}, expected one of {wanted}")
    return ending


def _as_list(given: Any) -> list[Any]:
    if hasattr(given, "ravel"):  # an array, as `Figure.subplots` gives it
        return [*given.ravel()]
    return [*given] if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def figure_of(ax: Axes) -> Figure:
    """Return the top-level figure of axes, even if they are in a subfigure."""
    figure: Figure = ax.figure.figure
    return figure


def name_text(name: str, longest: int = LONGEST) -> str:
    r"""Format a user's name as in the rules, shortened, without markup for matplotlib.

    >>> print(name_text("price in $"), name_text("two" + chr(10) + "lines"))
    price in \$ 'two\nlines'
    """
    text = format_text(name)
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    return escape_dollars(text)


def escape_dollars(text: str) -> str:
    """Escape dollar signs, which would start a formula."""
    return text.replace("$", r"\$")


def make_legend(
    ax: Axes, handles: Sequence[Artist | BarContainer], labels: Sequence[str], **place: Any
) -> Legend:
    """Make a legend of exactly these labels.

    matplotlib leaves out labels that begin with an underscore, so they are set afterwards.
    """
    legend = ax.legend(handles, [str(number) for number in range(len(labels))], **place)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)
    return legend


def make_outer_legend(
    ax: Axes, handles: Sequence[Artist | BarContainer], labels: Sequence[str]
) -> Legend:
    """Make a legend to the right of the axes."""
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False}
    return make_legend(ax, handles, labels, **place)


def whole_numbers() -> Locator:
    """Place ticks at round whole numbers, for epochs or rows."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True)
