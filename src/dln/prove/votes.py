"""The votes of a circuit on one row, given by column names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dln.core.circuit import Circuit
from dln.core.conditions import Cell


def votes_of(circuit: Circuit, cells: Mapping[str, Cell]) -> tuple[int, ...]:
    """Evaluate a circuit on a row. Columns that are not named are missing values."""
    table = np.full((2, len(circuit.columns)), None, dtype=object)
    for index, column in enumerate(circuit.columns):
        table[0, index] = cells.get(column.name)
        # The column also holds a text, so that a category that is a number is read as a number.
        table[1, index] = None if column.is_numeric else ""
    return tuple(circuit.votes(table)[0].tolist())
