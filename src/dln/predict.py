"""Circuit + rows -> votes -> classes.

The native program does the work where it is built; `numpy_votes` is the same meaning in a few lines
of NumPy: its oracle in the tests, and its stand-in where the extension is absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln.cores import count_cores
from dln.errors import ColumnTypeError, MissingColumnError, TableError
from dln.literals import Above, Among, Column, ColumnKind, Missing
from dln.table import RawColumn, Table, read_numbers, read_table

if TYPE_CHECKING:
    from dln._native import Program
    from dln.circuit import Circuit


def _find_native() -> type[Program] | None:
    try:
        from dln._native import Program
    except ImportError:  # a machine without the compiled extension
        return None
    return Program


MISSING_CODE, UNSEEN_CODE = -1, -2
_NATIVE_PROGRAM = _find_native()
_FAST_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_ROWS_PER_THREAD = 65536
_LITERAL_KINDS = {Above: 0, Among: 1, Missing: 2}
"""Kinds of literals, as the native program numbers them."""
_KIND_WORDS: dict[ColumnKind, str] = {
    "number": "numbers",
    "integer": "integers",
    "boolean": "booleans",
    "date": "dates",
    "category": "categories",
}


class Predictor:
    """A circuit made ready to run; made once per circuit and kept."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._used = sorted({literal.column for literal in circuit.literals})
        # Columns that a matrix of numbers can hold as they are: no categories and no dates.
        self._all_numbers = all(
            circuit.columns[index].kind not in ("category", "date") for index in self._used
        )
        self._program = None if _NATIVE_PROGRAM is None else compile_circuit(circuit)
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
        return counts.astype(np.int64)

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
            winners: NDArray[np.int64] = numpy_votes(self._circuit, source, n_rows).argmax(axis=1)
            return winners
        return self._program.classify(source, n_threads=_threads(n_rows), n_rows=n_rows)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the softmax of votes / temperature."""
        votes = self.votes(X)
        # The lead over the winner is taken in integers: no temperature makes it inf - inf.
        behind = votes - votes.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            odds: NDArray[np.float64] = np.exp(behind / self._circuit.temperature)
        odds /= odds.sum(axis=1, keepdims=True)
        return odds

    def _source(self, X: Any) -> tuple[Any, int]:
        """Find what the program reads: one numeric array, or an array for each used column."""
        columns = self._circuit.columns
        if (  # the short way for the common case
            type(X) is np.ndarray
            and X.dtype in _FAST_DTYPES
            and X.ndim == 2
            and X.shape[1] == len(columns)
            and self._all_numbers
        ):
            return X, len(X)
        table = read_table(X)
        places = places_of(table, columns, self._used)
        if table.matrix is not None and self._all_numbers and table.names is None:
            return _native_numbers(table.matrix), table.n_rows
        source: list[NDArray[Any] | None] = [None] * len(columns)
        for index in self._used:
            source[index] = encode_cells(table.read(places[index]), columns[index])
        return source, table.n_rows


def _threads(n_rows: int) -> int:
    if n_rows < 2 * _ROWS_PER_THREAD:
        return 1
    return min(count_cores(), n_rows // _ROWS_PER_THREAD)


def places_of(table: Table, columns: Sequence[Column], used: Sequence[int]) -> dict[int, int]:
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


def _native_numbers(numbers: NDArray[Any]) -> NDArray[Any]:
    """Convert what the native program does not read: half and extended floats."""
    odd = numbers.dtype.kind == "f" and numbers.dtype not in _FAST_DTYPES
    return numbers.astype(np.float64) if odd else numbers


def encode_cells(raw: RawColumn, column: Column) -> NDArray[Any]:
    """Turn the cells of one column into numbers, or into category codes (int32).

    Raises `ColumnTypeError` where a number was expected and text was found, or the reverse.
    """
    if not column.is_numeric:
        return _category_codes(raw, column)
    if raw.kind == "category":
        text = next((cell for cell in raw.values if isinstance(cell, str)), None)
        if text is not None:
            raise _wrong_kind(repr(text), column)
        raw = read_numbers(raw, column.name)  # a table may declare numbers to be categories
    if (raw.kind == "date") == (column.kind == "date"):
        return _native_numbers(raw.values)
    if np.isnan(raw.values).all():  # such a column may look like any other
        return np.full(len(raw.values), np.nan)
    raise _wrong_kind(_KIND_WORDS[raw.kind], column)


def _wrong_kind(found: str, column: Column) -> ColumnTypeError:
    return ColumnTypeError(
        f"column {column.name!r} holds {found}, expected {_KIND_WORDS[column.kind]}; "
        "convert the column, with missing cells for what has no value"
    )


def _category_codes(raw: RawColumn, column: Column) -> NDArray[np.int32]:
    if raw.kind != "category":
        return _category_codes_of_numbers(raw, column)
    codes = {category: code for code, category in enumerate(column.categories)}
    found = (MISSING_CODE if cell is None else codes.get(cell, UNSEEN_CODE) for cell in raw.values)
    return np.fromiter(found, dtype=np.int32, count=len(raw.values))


def _category_codes_of_numbers(raw: RawColumn, column: Column) -> NDArray[np.int32]:
    """Find numbers among the categories: a column of text and numbers may bring only the latter."""
    missing = np.isnan(raw.values)
    numbers = {
        category: code
        for code, category in enumerate(column.categories)
        if not isinstance(category, str)
    }
    if not missing.all() and (raw.kind == "date" or not numbers):
        known = ", ".join(repr(category) for category in column.categories[:3]) or "none"
        raise ColumnTypeError(
            f"column {column.name!r} holds {_KIND_WORDS[raw.kind]}, expected categories such as "
            f"those it was trained on ({known}); convert the column to text"
        )
    found = (numbers.get(cell, UNSEEN_CODE) for cell in raw.values.tolist())
    codes = np.fromiter(found, dtype=np.int32, count=len(raw.values))
    codes[missing] = MISSING_CODE
    return codes


def compile_circuit(circuit: Circuit, level: str = "") -> Program:
    """Make the native program of a circuit, for the best or a named instruction-set level."""
    assert _NATIVE_PROGRAM is not None
    literals = circuit.literals
    choices = [x.categories if isinstance(x, Among) else () for x in literals]
    nodes = np.array(
        [(node.gate.code, node.a, node.b) for node in circuit.nodes], dtype=np.int32
    ).reshape(-1, 3)
    return _NATIVE_PROGRAM(
        n_columns=len(circuit.columns),
        column_is_category=np.array([not c.is_numeric for c in circuit.columns], dtype=np.uint8),
        literal_kind=np.array([_LITERAL_KINDS[type(x)] for x in literals], dtype=np.uint8),
        literal_column=np.array([x.column for x in literals], dtype=np.int32),
        literal_cutoff=np.array(
            [x.cutoff if isinstance(x, Above) else 0.0 for x in literals], dtype=np.float64
        ),
        category_start=np.cumsum([0, *map(len, choices)], dtype=np.int64),
        category_code=np.array([code for choice in choices for code in choice], dtype=np.int32),
        gate_code=nodes[:, 0].astype(np.uint8),
        gate_a=nodes[:, 1],
        gate_b=nodes[:, 2],
        rule_wire=np.array([rule.wire for rule in circuit.rules], dtype=np.int32),
        rule_votes=np.array([rule.votes for rule in circuit.rules], dtype=np.int32).reshape(
            -1, circuit.n_classes
        ),
        base_votes=np.array(circuit.base_votes, dtype=np.int32),
        level=level,
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
