"""Circuit + rows -> votes -> classes.

The native program does the work where it is built; `numpy_votes` is the same meaning in a few lines
of NumPy: its oracle in the tests, and its stand-in where the extension is absent.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln.errors import ColumnTypeError, MissingColumnError, TableError
from dln.literals import Above, Among, Column
from dln.table import RawColumn, Table, read_table

if TYPE_CHECKING:
    from dln.circuit import Circuit

try:
    from dln import _native
except ImportError:  # pragma: no cover - a machine without the compiled extension
    _native = None  # type: ignore[assignment]

MISSING_CODE, UNSEEN_CODE = -1, -2
_FAST_DTYPES = tuple(np.dtype(code) for code in ("f4", "f8"))
_ROWS_PER_THREAD = 65536


class Predictor:
    """A circuit made ready to run; made once per circuit and kept."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._used = sorted({literal.column for literal in circuit.literals})
        self._all_numeric = all(circuit.columns[index].is_numeric for index in self._used)
        self._program = None if _native is None else _compile(circuit)
        labels = circuit.class_labels
        # Labels of eight bytes are written by the program itself, without a second pass.
        self._words = labels.view(np.uint64) if labels.dtype.str[1:] in ("i8", "f8") else None
        self._labels = labels

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Count votes: (n_rows, n_classes)."""
        source, n_rows = self._source(X)
        if self._program is None:
            return numpy_votes(self._circuit, source, n_rows)
        counts = self._program.votes(source, n_threads=_threads(n_rows), n_rows=n_rows)
        return np.asarray(counts).astype(np.int64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the label with the most votes; ties go to the first class."""
        if self._words is None or self._program is None:
            return self._labels[self.winners(X)]
        source, n_rows = self._source(X)
        out = np.empty(n_rows, dtype=self._labels.dtype)
        self._program.classify_into(
            source, self._words, out.view(np.uint64), n_threads=_threads(n_rows), n_rows=n_rows
        )
        return out

    def winners(self, X: Any) -> NDArray[np.int64]:
        """Give the number of the class with the most votes; ties go to the first class."""
        source, n_rows = self._source(X)
        if self._program is None:
            return numpy_votes(self._circuit, source, n_rows).argmax(axis=1)
        winners: NDArray[np.int64] = self._program.classify(
            source, n_threads=_threads(n_rows), n_rows=n_rows
        )
        return winners

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the softmax of votes / temperature."""
        scaled = self.votes(X) / self._circuit.temperature
        scaled -= scaled.max(axis=1, keepdims=True)
        np.exp(scaled, out=scaled)
        scaled /= scaled.sum(axis=1, keepdims=True)
        return scaled

    def _source(self, X: Any) -> tuple[Any, int]:
        """Find what the program reads: one numeric array, or an array for each used column."""
        if type(X) is np.ndarray and X.dtype in _FAST_DTYPES and X.ndim == 2 and self._all_numeric:
            if X.shape[1] == len(self._circuit.columns):  # the short way for the common case
                return X, len(X)
        table = read_table(X)
        circuit = self._circuit
        places = _places(table, circuit.columns, self._used)
        if table.matrix is not None and self._all_numeric and table.names is None:
            return _native_matrix(table.matrix), table.n_rows
        source: list[NDArray[Any] | None] = [None] * len(circuit.columns)
        for index in self._used:
            source[index] = encode_cells(table.read(places[index]), circuit.columns[index])
        return source, table.n_rows


def _threads(n_rows: int) -> int:
    if n_rows < 2 * _ROWS_PER_THREAD:
        return 1
    return min(len(os.sched_getaffinity(0)), n_rows // _ROWS_PER_THREAD)


def _places(table: Table, columns: Sequence[Column], used: Sequence[int]) -> dict[int, int]:
    """Say where each used column stands in this table."""
    if table.names is None:
        if table.n_columns != len(columns):
            raise TableError(
                f"the table has {table.n_columns} columns, the circuit was trained on "
                f"{len(columns)}; give all of them, in the same order, or a data frame with names"
            )
        return {index: index for index in used}
    where = {name: place for place, name in enumerate(table.names)}
    missing = [columns[index].name for index in used if columns[index].name not in where]
    if missing:
        raise MissingColumnError(
            f"the circuit reads {missing}, but the table has only {list(table.names)}; "
            "rename the columns or refit on this table"
        )
    return {index: where[columns[index].name] for index in used}


def _native_matrix(matrix: NDArray[Any]) -> NDArray[Any]:
    return (
        matrix.astype(np.float32)
        if matrix.dtype == np.float16
        else (matrix if matrix.dtype.itemsize <= 8 else matrix.astype(np.float64))
    )


def encode_cells(raw: RawColumn, column: Column) -> NDArray[Any]:
    """Turn the cells of one column into numbers, or into category codes (int32).

    Raises `ColumnTypeError` where a number was expected and text was found, or the reverse.
    """
    if column.is_numeric:
        if raw.kind == "category":
            cell = next(cell for cell in raw.values if isinstance(cell, str))
            raise ColumnTypeError(
                f"column {column.name!r} holds {cell!r}, expected a {column.kind}; "
                "convert the column to numbers, with missing cells for what has none"
            )
        if (raw.kind == "date") != (column.kind == "date") and not np.isnan(raw.values).all():
            raise ColumnTypeError(
                f"column {column.name!r} holds {raw.kind}s, expected {column.kind}s; "
                "convert it to what the circuit was trained on"
            )
        return _native_matrix(raw.values)
    return _category_codes(raw, column)


def _category_codes(raw: RawColumn, column: Column) -> NDArray[np.int32]:
    codes = {category: code for code, category in enumerate(column.categories)}
    if raw.kind == "category":
        found = [
            MISSING_CODE if cell is None else codes.get(cell, UNSEEN_CODE) for cell in raw.values
        ]
        return np.array(found, dtype=np.int32)
    numeric = np.asarray(raw.values, dtype=np.float64)
    absent = np.isnan(numeric)
    if not absent.all() and all(isinstance(category, str) for category in column.categories):
        raise ColumnTypeError(
            f"column {column.name!r} holds {raw.kind}s, expected categories such as "
            f"{column.categories[0]!r}; convert the column to text"
        )
    result = np.full(len(numeric), UNSEEN_CODE, dtype=np.int32)
    for category, code in codes.items():
        if not isinstance(category, str):
            result[numeric == category] = code
    result[absent] = MISSING_CODE
    return result


def _compile(circuit: Circuit) -> Any:
    kinds, columns, cutoffs, starts, codes = [], [], [], [0], []
    for literal in circuit.literals:
        columns.append(literal.column)
        cutoffs.append(literal.cutoff if isinstance(literal, Above) else 0.0)
        if isinstance(literal, Among):
            codes += literal.categories
        kinds.append(0 if isinstance(literal, Above) else 1 if isinstance(literal, Among) else 2)
        starts.append(len(codes))
    nodes = np.array(
        [(node.gate.code, node.a, node.b) for node in circuit.nodes], dtype=np.int32
    ).reshape(-1, 3)
    return _native.Program(
        n_columns=len(circuit.columns),
        column_is_category=np.array([not c.is_numeric for c in circuit.columns], dtype=np.uint8),
        literal_kind=np.array(kinds, dtype=np.uint8),
        literal_column=np.array(columns, dtype=np.int32),
        literal_cutoff=np.array(cutoffs, dtype=np.float64),
        category_start=np.array(starts, dtype=np.int64),
        category_code=np.array(codes, dtype=np.int32),
        gate_code=np.ascontiguousarray(nodes[:, 0], dtype=np.uint8),
        gate_a=np.ascontiguousarray(nodes[:, 1]),
        gate_b=np.ascontiguousarray(nodes[:, 2]),
        rule_wire=np.array([rule.wire for rule in circuit.rules], dtype=np.int32),
        rule_votes=np.array([rule.votes for rule in circuit.rules], dtype=np.int32).reshape(
            -1, circuit.n_classes
        ),
        base_votes=np.array(circuit.base_votes, dtype=np.int32),
    )


def numpy_votes(circuit: Circuit, source: Any, n_rows: int) -> NDArray[np.int64]:
    """Count votes with NumPy alone; `source` is a numeric array or a list of columns."""
    cells = source.T if isinstance(source, np.ndarray) else source
    wires: list[NDArray[np.bool_]] = []
    for literal in circuit.literals:
        column = cells[literal.column]
        if isinstance(literal, Above):
            wires.append(np.asarray(column, dtype=np.float64) > literal.cutoff)
        elif isinstance(literal, Among):
            wires.append(np.isin(column, literal.categories))
        elif circuit.columns[literal.column].is_numeric:
            wires.append(np.isnan(np.asarray(column, dtype=np.float64)))
        else:
            wires.append(column == MISSING_CODE)
    for gate, a, b in circuit.nodes:
        wires.append(np.array(gate.table, dtype=bool)[2 * wires[a].astype(np.intp) + wires[b]])
    votes = np.tile(np.array(circuit.base_votes, dtype=np.int64), (n_rows, 1))
    for wire, weights in circuit.rules:
        votes += np.outer(wires[wire], np.array(weights, dtype=np.int64))
    return votes
