"""A table and its classes -> the cells of one feature and the class of every row."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.errors import MissingColumnError, OptionError, TableError
from dln.labels import Label, plain_labels
from dln.literals import Column
from dln.predict import encode_cells
from dln.table import Table, is_missing, read_table

_MOST_NAMES = 8


@dataclass(frozen=True)
class FeatureCells:
    """One feature of a table.

    Attributes
    ----------
    index, column
        The feature: its number among the circuit's columns, and itself.
    values
        Numbers, NaN where missing; of categories, codes as the circuit's prediction has them.
    target
        The number of each row's class among `classes`.
    """

    index: int
    column: Column
    values: NDArray[Any]
    target: NDArray[np.intp]
    classes: tuple[Label, ...]

    def values_by_class(self) -> list[NDArray[Any]]:
        """Split the cells by the class of their row."""
        return [self.values[self.target == number] for number in range(len(self.classes))]


def read_feature(circuit: Circuit, X: Any, y: Any, feature: str) -> FeatureCells:
    """Read one column of a table; the others may be missing or of any type."""
    names = [column.name for column in circuit.columns]
    if feature not in names:
        raise OptionError(_unknown(feature, names))
    index = names.index(feature)
    table = read_table(X)
    column = circuit.columns[index]
    values = encode_cells(table.read(_place(table, circuit, index)), column)
    if column.is_numeric:
        values = np.asarray(values, dtype=np.float64)
    target = _class_numbers(y, circuit.classes, table.n_rows)
    return FeatureCells(index, column, values, target, circuit.classes)


def _unknown(feature: Any, names: list[str]) -> str:
    lowered = {name.strip().casefold(): name for name in names}
    close = difflib.get_close_matches(str(feature).strip().casefold(), lowered, n=1, cutoff=0.5)
    hint = f"did you mean {lowered[close[0]]!r}? The" if close else "the"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    known = ", ".join(names[:_MOST_NAMES])
    return f"the circuit has no feature {feature!r}; {hint} features are: {known}{more}"


def _place(table: Table, circuit: Circuit, index: int) -> int:
    """Say where a column of the circuit stands in this table."""
    if table.names is None:
        if table.n_columns != len(circuit.columns):
            raise TableError(
                f"the table has {table.n_columns} columns, the circuit was trained on "
                f"{len(circuit.columns)}; give all of them, or a data frame with names"
            )
        return index
    name = circuit.columns[index].name
    if name not in table.names:
        raise MissingColumnError(
            f"the table has no column {name!r}, only {list(table.names[:_MOST_NAMES])}; "
            "rename the column or give the table that the circuit was trained on"
        )
    return table.names.index(name)


def _class_numbers(y: Any, classes: tuple[Label, ...], n_rows: int) -> NDArray[np.intp]:
    """Find the class of each row, looking every distinct label up once."""
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or len(labels) != n_rows:
        raise TableError(
            f"the table has {n_rows} rows, but the target has the shape {labels.shape}; "
            "give one class for each row"
        )
    if labels.dtype == object:
        places: dict[Any, int] = {}
        inverse = np.array([places.setdefault(cell, len(places)) for cell in labels], dtype=np.intp)
        distinct = list(places)
    else:
        found, inverse = np.unique(labels, return_inverse=True)
        distinct = list(found)
    if any(is_missing(label) for label in distinct):
        raise TableError("the target is missing in some rows; drop those rows")
    numbers = {label: number for number, label in enumerate(classes)}
    known = plain_labels(distinct)
    unknown = [label for label in known if label not in numbers]
    if unknown:
        raise TableError(
            f"the target holds {unknown[0]!r}, but the circuit's classes are {list(classes)}; "
            "give the classes that it was trained on"
        )
    return np.array([numbers[label] for label in known], dtype=np.intp)[inverse]
