"""Counts or amounts with an exposure, such as claims in some years: `--exposure COLUMN`.

A model with an exposure predicts the target for one unit of it. The name of the column is recorded
in the model file, so that later commands divide the target of their rows in the same way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dln.cli.arrow import Column
from dln.cli.missing import MissingWords
from dln.cli.number_target import read_numbers
from dln.core.circuit import Circuit
from dln.core.origin import Origin
from dln.errors import TableError

_SETTING = "exposure"


def read_exposure(
    cells: Column, name: str, words: MissingWords, *, is_text: bool
) -> NDArray[np.float64]:
    """Read the exposure of each row; raises `TableError` for one that is not above 0."""
    numbers = read_numbers(cells, name, words, is_text=is_text, role="exposure column")
    found: NDArray[np.float64] = numbers.to_numpy().astype(np.float64)
    wrong = ~(found > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        what = "no value" if np.isnan(found[row]) else f"{found[row]:g}"
        raise TableError(
            f"the exposure column {name!r} has {what} in row {row + 1}; expected numbers above 0"
        )
    return found


def remember_exposure(origin: Origin, name: str | None) -> Origin:
    """Record the exposure column in the origin."""
    if name is None:
        return origin
    settings = {**dict(origin.settings), _SETTING: name}
    return replace(origin, settings=tuple(settings.items()))


def exposure_of(circuit: Circuit, target: str) -> str | None:
    """Return the exposure column of a model, if this is the target that it was trained on."""
    if circuit.origin is None or circuit.origin.target != target:
        return None
    name = dict(circuit.origin.settings).get(_SETTING)
    return name if isinstance(name, str) else None


def target_columns(circuit: Circuit, target: str) -> list[str]:
    """Return the columns from which the target of rows is computed."""
    exposure = exposure_of(circuit, target)
    return [target] if exposure is None else [target, exposure]
