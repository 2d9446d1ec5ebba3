"""One row in any form -> its values by column, and tables with one value changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dln.core.conditions import Cell
from dln.core.literals import Column
from dln.data.cells import readable_cells
from dln.data.codes import encode_cells
from dln.data.table import RawColumn, Table, is_row, read_table
from dln.errors import TableError
from dln.evaluate.evaluation import Evaluation

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


@dataclass(frozen=True)
class OneRow:
    """The values that a circuit reads, by the index of the column."""

    columns: tuple[Column, ...]
    cells: Mapping[int, RawColumn]

    def number(self, column: int) -> float:
        """Return the number in a numeric column (dates: seconds since 1970); NaN if missing."""
        return float(encode_cells(self.cells[column], self.columns[column])[0])

    def cell(self, column: int) -> Cell:
        """Return the value as a person would write it; None if missing."""
        return readable_cells(self.columns[column], self.cells[column])[0]

    def with_cells(self, column: int, cells: Sequence[Cell]) -> Table:
        """Repeat the row, each time with another value in one column."""
        n_rows = len(cells)
        changed = {
            index: RawColumn(raw.kind, np.repeat(raw.values, n_rows))
            for index, raw in self.cells.items()
        }
        changed[column] = _raw_column(self.columns[column], cells)
        return Table(n_rows, len(self.columns), None, changed.__getitem__)


def read_row(circuit: Circuit, row: Any) -> tuple[OneRow, Evaluation]:
    """Read and evaluate a dict, list, Series, array or frame of one row.

    Raises `TableError` if it is none of these, or if columns are missing or of another type.
    """
    table = _one_row_table(row)
    if table.n_rows != 1:
        raise TableError(
            f"the table has {table.n_rows} rows, expected one; "
            "explain one row at a time, such as X.iloc[[0]] or X[0]"
        )
    evaluation = circuit.evaluate(table)
    used = circuit.logic.used_columns
    places = {column.name: index for index, column in enumerate(circuit.columns)}
    if table.names is not None:
        places = {name: place for place, name in enumerate(table.names)}
    cells = {index: table.read(places[circuit.columns[index].name]) for index in used}
    return OneRow(circuit.columns, cells), evaluation


def _one_row_table(row: Any) -> Table:
    if hasattr(row, "to_dict") and getattr(row, "ndim", 0) == 1:  # a pandas Series
        named = any(isinstance(name, str) for name in row.index)
        row = row.to_dict() if named else list(row)
    if isinstance(row, Mapping):
        names = tuple(str(name) for name in row)
        return replace(read_table(_single(list(row.values()))), names=names)
    if isinstance(row, np.ndarray) and row.ndim == 1:
        return read_table(row.reshape(1, -1))
    # The columns of a polars Series are identified by position.
    if type(row).__name__ == "Series" and hasattr(row, "to_list"):
        row = row.to_list()
    if isinstance(row, (list, tuple)) and not any(is_row(cell) for cell in row):
        return read_table(_single(row))
    return read_table(row)


def _single(cells: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Keep every value as given: NumPy would convert values that are lists."""
    array = np.empty((1, len(cells)), dtype=object)
    for index, cell in enumerate(cells):
        array[0, index] = cell
    return array


def _raw_column(column: Column, cells: Sequence[Cell]) -> RawColumn:
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    if not column.is_numeric:
        return RawColumn("category", values)
    return read_table(values.reshape(-1, 1)).read(0)
