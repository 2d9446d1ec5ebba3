"""A table and its classes -> the values of one feature and the class of each row."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import list_names
from dln.core.circuit import Circuit
from dln.core.labels import Label
from dln.core.literals import Column
from dln.data.codes import encode_cells, places_of
from dln.data.table import read_table
from dln.data.target import class_numbers
from dln.errors import OptionError


@dataclass(frozen=True)
class FeatureCells:
    """One feature of a table.

    Attributes
    ----------
    index, column
        The feature: its number among the circuit's columns, and the column.
    values
        Numbers, NaN if missing; for categories, the same codes as in prediction.
    target
        The class number of each row, in the order of `classes`.
    """

    index: int
    column: Column
    values: NDArray[Any]
    target: NDArray[np.int64]
    classes: tuple[Label, ...]

    def values_by_class(self) -> list[NDArray[Any]]:
        """Split the values by the class of their row."""
        return [self.values[self.target == number] for number in range(len(self.classes))]


def read_feature(circuit: Circuit, X: Any, y: Any, feature: str) -> FeatureCells:
    """Read one column of a table. Other columns may be absent or of any type."""
    index = find_feature(circuit, feature)
    table = read_table(X)
    column = circuit.columns[index]
    values = encode_cells(table.read(places_of(table, circuit.columns, [index])[index]), column)
    if column.is_numeric:
        values = np.asarray(values, dtype=np.float64)
    target = class_numbers(y, circuit.classes, table.n_rows)
    return FeatureCells(index, column, values, target, circuit.classes)


def find_feature(circuit: Circuit, feature: str) -> int:
    """Return the number of a column; raises `OptionError` if the circuit does not have it."""
    names = [column.name for column in circuit.columns]
    if feature not in names:
        raise OptionError(_unknown(feature, names))
    return names.index(feature)


def _unknown(feature: Any, names: list[str]) -> str:
    lowered = {name.strip().casefold(): name for name in names}
    close = difflib.get_close_matches(str(feature).strip().casefold(), lowered, n=1, cutoff=0.5)
    hint = f"did you mean {lowered[close[0]]!r}? The" if close else "the"
    return (
        f"the circuit has no feature {feature!r}; {hint} features are: {list_names(names, most=8)}"
    )
