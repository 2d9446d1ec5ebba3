"""Circuit + rows -> wires and votes -> classes or numbers.

The compiled program does the work. `numpy_evaluate` computes the same in a few lines of NumPy.
Tests compare the two. NumPy is used if the extension is missing or the circuit is too large to
compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from numpy.typing import NDArray

from dln._util.cores import count_cores
from dln.core.literals import Above, Among, Missing
from dln.core.readout import Votes
from dln.core.score import Score
from dln.data.arrow import read_rows
from dln.data.codes import MISSING_CODE, NATIVE_FLOATS, encode_cells, native_numbers, places_of
from dln.errors import OptionError
from dln.evaluate.evaluation import Evaluation

if TYPE_CHECKING:
    from dln._native import Program
    from dln.core.circuit import Circuit


def _find_native() -> type[Program] | None:
    try:
        from dln._native import Program
    except ImportError:  # a machine without the compiled extension
        return None
    return Program


_NATIVE_PROGRAM = _find_native()
_ROWS_PER_THREAD = 65536
_NUMPY_VALUES = 1 << 24
"""Number of wires and votes that NumPy holds at once; more rows are evaluated in parts."""
_ROWS_PER_BYTE = 8

_Computed = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Packed wires (n_kept, n_bytes) and votes (n_rows, n_outputs)."""


class Predictor:
    """A circuit prepared for prediction; created once per circuit and kept."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._columns = circuit.columns
        self._used = circuit.logic.used_columns
        # A matrix of numbers can hold these columns as they are: no categories and no dates.
        self._all_numbers = all(
            circuit.columns[index].kind not in ("category", "date") for index in self._used
        )
        self._program = _try_to_compile(circuit)
        self._words: NDArray[np.uint64] | None = None
        if isinstance(circuit.readout, Votes):
            labels = circuit.readout.labels
            # The program writes labels of eight bytes itself, which saves a second pass.
            if labels.dtype.str[1:] in ("i8", "f8"):
                self._words = labels.view(np.uint64)

    def evaluate(self, X: Any, wires: Iterable[int] | None = None) -> Evaluation:
        """Compute the votes and some wires, by default all, in one pass over the rows."""
        kept = _chosen(wires, self._circuit.n_wires)
        if kept:
            packed, votes = self._wires_and_votes(*self._source(X), kept)
        else:
            packed, votes = np.empty((0, 0), dtype=np.uint8), self.votes(X)
        return Evaluation(self._circuit, len(votes), kept, packed, votes)

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Count votes or points: (n_rows, n_outputs)."""
        source, n_rows = self._source(X)
        if self._program is None:
            return self._numpy_wires_and_votes(source, n_rows, ())[1]
        return self._program.votes(source, _threads(n_rows), n_rows).astype(np.int64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class or number of each row."""
        readout = self._circuit.readout
        if isinstance(readout, Score):
            return readout.predictions(self._scores(readout, X))
        if self._words is None or self._program is None:
            return readout.labels[self.winners(X)]
        source, n_rows = self._source(X)
        out = np.empty(n_rows, dtype=readout.labels.dtype)
        self._program.classify_into(
            source, self._words, out.view(np.uint64), n_threads=_threads(n_rows), n_rows=n_rows
        )
        return out

    def _scores(self, readout: Score, X: Any) -> NDArray[np.float64]:
        """Return the scores of a circuit that predicts a number: (n_rows,)."""
        if self._program is None:
            return readout.scores(self.votes(X))
        source, n_rows = self._source(X)
        # The program scales the points itself, which saves two passes.
        return self._program.scores(source, *readout.scale, _threads(n_rows), n_rows)

    def winners(self, X: Any) -> NDArray[np.int64]:
        """Return the index of the class with the most votes; ties go to the first class."""
        readout = self._circuit.class_readout
        if self._program is None:
            return readout.winners(self.votes(X))
        source, n_rows = self._source(X)
        return self._program.classify(source, n_threads=_threads(n_rows), n_rows=n_rows)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities: (n_rows, n_classes)."""
        return self._circuit.class_readout.probabilities(self.votes(X))

    def _wires_and_votes(self, source: Any, n_rows: int, kept: Sequence[int]) -> _Computed:
        if self._program is None:
            return self._numpy_wires_and_votes(source, n_rows, kept)
        wires = np.array(kept, dtype=np.int32)
        try:
            words, votes = self._program.evaluate(source, wires, _threads(n_rows), n_rows)
        except OverflowError:  # the plan of all wires is larger than the one of the votes
            return self._numpy_wires_and_votes(source, n_rows, kept)
        # The lowest byte of a word holds the first rows.
        return words.astype("<u8", copy=False).view(np.uint8), votes.astype(np.int64)

    def _numpy_wires_and_votes(self, source: Any, n_rows: int, kept: Sequence[int]) -> _Computed:
        """Evaluate with NumPy in parts, so that memory stays bounded."""
        wanted = np.array(kept, dtype=np.intp)
        per_row = self._circuit.n_wires + self._circuit.readout.n_outputs
        step = max(1, _NUMPY_VALUES // per_row // _ROWS_PER_BYTE) * _ROWS_PER_BYTE
        packed, counts = [], []
        for first in range(0, max(n_rows, 1), step):
            last = min(first + step, n_rows)
            part = (
                source[first:last]
                if isinstance(source, np.ndarray)
                else [None if column is None else column[first:last] for column in source]
            )
            wires, votes = numpy_evaluate(self._circuit, part, last - first)
            packed.append(np.packbits(wires[wanted], axis=1, bitorder="little"))
            counts.append(votes)
        return np.concatenate(packed, axis=1), np.concatenate(counts)

    def _source(self, X: Any) -> tuple[Any, int]:
        """Return what the program reads: one numeric array, or an array for each used column."""
        columns = self._columns
        if (  # a shortcut for the common case
            type(X) is np.ndarray
            and X.dtype in NATIVE_FLOATS
            and X.ndim == 2
            and X.shape[1] == len(columns)
            and self._all_numbers
        ):
            return X, len(X)
        table = read_rows(X)
        places = places_of(table, columns, self._used)
        if table.matrix is not None and self._all_numbers and table.names is None:
            return native_numbers(table.matrix), table.n_rows
        source: list[NDArray[Any] | None] = [None] * len(columns)
        for index in self._used:
            source[index] = encode_cells(table.read(places[index]), columns[index])
        return source, table.n_rows


def _chosen(wires: Iterable[int] | None, n_wires: int) -> Sequence[int]:
    """Return the wires to keep, ascending."""
    if wires is None:
        return range(n_wires)
    chosen = sorted(set(wires))
    wrong = [wire for wire in chosen if wire not in range(n_wires)]
    if wrong:
        raise OptionError(
            f"wires holds {wrong[0]!r}, but the circuit has {n_wires} wires; "
            f"expected numbers from 0 to {n_wires - 1}"
        )
    return chosen


def _threads(n_rows: int) -> int:
    if n_rows < 2 * _ROWS_PER_THREAD:
        return 1
    return min(count_cores(), n_rows // _ROWS_PER_THREAD)


def _try_to_compile(circuit: Circuit) -> Program | None:
    """Compile a circuit; return None without the extension or if the circuit is too large."""
    if _NATIVE_PROGRAM is None:
        return None
    try:
        return compile_circuit(circuit)
    except OverflowError:  # its plan would take too much memory
        return None


def compile_circuit(circuit: Circuit, level: str = "") -> Program:
    """Create the native program of a circuit, for the best or a named instruction-set level."""
    assert _NATIVE_PROGRAM is not None
    return _NATIVE_PROGRAM(**native_arguments(circuit), level=level)


def native_arguments(circuit: Circuit) -> dict[str, Any]:
    """Return the circuit as arrays, by the names of the arguments of the native program."""
    literals = circuit.literals
    choices = [x.categories for x in literals]
    nodes = np.array(
        [(node.gate.code, node.a, node.b) for node in circuit.nodes], dtype=np.int32
    ).reshape(-1, 3)
    return {
        "n_columns": len(circuit.columns),
        "column_is_category": np.array([not c.is_numeric for c in circuit.columns], dtype=np.uint8),
        "literal_kind": np.array([x.kind for x in literals], dtype=np.uint8),
        "literal_column": np.array([x.column for x in literals], dtype=np.int32),
        "literal_cutoff": np.array(
            [max(x.cutoffs, default=0.0) for x in literals], dtype=np.float64
        ),
        "category_start": np.cumsum([0, *map(len, choices)], dtype=np.int64),
        "category_code": np.array([code for choice in choices for code in choice], dtype=np.int32),
        "gate_code": nodes[:, 0].astype(np.uint8),
        "gate_a": nodes[:, 1],
        "gate_b": nodes[:, 2],
        "rule_wire": np.array([rule.wire for rule in circuit.rules], dtype=np.int32),
        "rule_votes": np.array([rule.votes for rule in circuit.rules], dtype=np.int32).reshape(
            -1, circuit.readout.n_outputs
        ),
        "base_votes": np.array(circuit.base_votes, dtype=np.int32),
    }


def numpy_evaluate(
    circuit: Circuit, source: Any, n_rows: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Compute wires (n_wires, n_rows) and votes (n_rows, n_outputs) with NumPy alone.

    `source` is a numeric array or a list of columns.
    """
    cells = source.T if isinstance(source, np.ndarray) else source
    wires = np.empty((circuit.n_wires, n_rows), dtype=bool)
    for number, literal in enumerate(circuit.literals):
        column = cells[literal.column]
        match literal:
            case Above():
                wires[number] = np.asarray(column, dtype=np.float64) > literal.cutoff
            case Among():
                wires[number] = np.isin(column, literal.categories)
            case Missing() if circuit.columns[literal.column].is_numeric:
                wires[number] = np.isnan(np.asarray(column, dtype=np.float64))
            case Missing():
                wires[number] = column == MISSING_CODE
            case _:
                assert_never(literal)
    for number, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        wires[number] = np.array(gate.table, dtype=bool)[2 * wires[a].astype(np.intp) + wires[b]]
    votes = np.tile(np.array(circuit.base_votes, dtype=np.int64), (n_rows, 1))
    for wire, weights in circuit.rules:
        votes += np.outer(wires[wire], np.array(weights, dtype=np.int64))
    return wires, votes
