"""Plot one feature by class, with the tests of the circuit on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dln.core.circuit import Circuit, check_is_circuit
from dln.draw.bars import draw_bars
from dln.draw.canvas import figure_of
from dln.draw.cells import read_feature
from dln.draw.histogram import draw_histogram
from dln.errors import TableError, TaskError

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
    """Plot the distribution of a feature in each class, with the circuit's thresholds.

    Numbers and dates are shown as a histogram with the thresholds as lines. Categories and booleans
    are shown as bars; those that a literal matches are marked. Missing values are counted below.

    Parameters
    ----------
    circuit
        The circuit whose literals are shown.
    X, y
        Rows, in any form that `Circuit.predict` takes, and their classes.
    feature
        Name of the column.
    bins
        Number of bins of a histogram, or their edges (for dates, in seconds since 1970). By
        default the number is chosen automatically. Values beyond the edges are counted below.
    ax
        Axes to draw on. By default a new figure is created.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OptionError
        If the circuit does not have this feature.
    TaskError
        If the circuit predicts a number; see `draw_effect`.
    TableError
        If the table does not have it, or has other classes than the circuit.
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
    use only classes that it was trained on
    >>> y = ["healthy", "healthy", "ill", "ill"]
    >>> figure = draw_feature(circuit, [[31], [48], [60], [72]], y, "age")
    >>> figure.axes[0].get_xlabel()
    'age'
    """
    check_is_circuit(circuit, "draw_feature")
    if circuit.task == "number":
        raise TaskError(
            "draw_feature shows classes, but the circuit predicts a number "
            f"({circuit.number_readout.name}); use draw_effect(circuit, {feature!r})"
        )
    cells = read_feature(circuit, X, y, feature)
    if len(cells.values) == 0:
        raise TableError("the table has 0 rows, expected at least one")
    literals = [literal for literal in circuit.literals if literal.column == cells.index]
    if cells.column.kind in ("category", "boolean"):
        return figure_of(draw_bars(cells, literals, ax))
    return figure_of(draw_histogram(cells, literals, bins, ax))
