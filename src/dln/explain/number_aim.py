"""A circuit that predicts a number + limits -> the classes whose change is searched for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dln.core.bands import Bands, check_no_limits, split_bands
from dln.core.labels import Label
from dln.errors import OptionError
from dln.explain.amounts import Prediction, number_text
from dln.explain.options import ChangeOptions
from dln.explain.row import read_row
from dln.explain.row_explanation import cells_by_name
from dln.prove.votes import votes_of

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


def find_aim(
    circuit: Circuit,
    row: Any,
    to: Label | None,
    at_least: float | None,
    at_most: float | None,
) -> tuple[Circuit, Label | None]:
    """Return the classifier whose class is to be changed, and the class to get."""
    if circuit.task == "number":
        if to is not None:
            raise OptionError(
                f"to is {to!r}, but the circuit predicts a number; use at_least or at_most"
            )
        bands, _ = row_bands(circuit, row, at_least, at_most)
        return bands.circuit, bands.label
    check_no_limits(circuit, at_least, at_most)
    return circuit, to


def add_predictions(circuit: Circuit, row: Any, found: ChangeOptions) -> ChangeOptions:
    """Add the predicted numbers to changes; nothing if the circuit predicts classes."""
    if circuit.task != "number":
        return found
    score = circuit.number_readout
    one, evaluation = read_row(circuit, row)
    options = []
    for option in found.options:
        cells = cells_by_name(circuit, one)
        cells |= {change.feature: change.after for change in option.changes}
        prediction = Prediction.of(score, votes_of(circuit, cells)[0])
        options.append(replace(option, prediction=prediction))
    now = Prediction.of(score, int(evaluation.votes[0, 0]))
    return replace(found, options=tuple(options), prediction=now)


def row_bands(
    circuit: Circuit, row: Any, at_least: float | None, at_most: float | None
) -> tuple[Bands, int]:
    """Split at the limits; return the number of the row's own band too, which is another one."""
    bands = split_bands(circuit, at_least=at_least, at_most=at_most)
    _, evaluation = read_row(bands.circuit, row)
    present = int(evaluation.winners[0])
    if present == bands.number:
        now = number_text(circuit.number_readout, float(read_row(circuit, row)[1].answers[0]))
        raise OptionError(
            f"the row gets {now}, which is already in the range asked for ({bands.label}); "
            "ask for another range"
        )
    return bands, present
