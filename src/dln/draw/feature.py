"""Circuit + rows and their classes -> one feature by class, with what the circuit asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dln.circuit import Circuit, check_is_circuit
from dln.draw.bars import draw_bars
from dln.draw.canvas import figure_of
from dln.draw.cells import read_feature
from dln.draw.histogram import draw_histogram
from dln.errors import TableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_feature(
    circuit: Circuit,
    X: Any,
    y: Any,
    feature: str,
    *,
    bins: int | Sequence[float] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw how a feature is spread in each class, and where the circuit cuts it.

    Numbers and dates are a histogram with the circuit's cutoffs as lines; categories and booleans
    are bars, and those that a literal matches are marked. Missing cells are counted below.

    Parameters
    ----------
    circuit
        Whose literals to show.
    X, y
        Rows, as `Circuit.predict` takes them, and their classes.
    feature
        Name of the column.
    bins
        How many bins a histogram has, or their edges (dates: in seconds since 1970); None chooses.
        Cells out of the edges are counted below.
    ax
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OptionError
        If the circuit has no such feature.
    TableError
        If the table lacks it, or the classes are not the circuit's.
    ExtraMissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> from dln import Above, Circuit, Column, Rule
    >>> circuit = Circuit((Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...                   (0, 0), ("healthy", "ill"))
    >>> figure = draw_feature(circuit, [[31], [48], [60], [72]], [*"hhii"], "age")
    Traceback (most recent call last):
    dln.errors.TableError: the target holds 'h', but the circuit's classes are ['healthy', 'ill'];
    give the classes that it was trained on
    >>> y = ["healthy", "healthy", "ill", "ill"]
    >>> figure = draw_feature(circuit, [[31], [48], [60], [72]], y, "age")
    >>> figure.axes[0].get_xlabel()
    'age'
    """
    check_is_circuit(circuit, "draw_feature")
    cells = read_feature(circuit, X, y, feature)
    if len(cells.values) == 0:
        raise TableError("the table has 0 rows; at least one is needed to draw a feature")
    literals = [literal for literal in circuit.literals if literal.column == cells.index]
    if cells.column.kind in ("category", "boolean"):
        return figure_of(draw_bars(cells, literals, ax))
    return figure_of(draw_histogram(cells, literals, bins, ax))
