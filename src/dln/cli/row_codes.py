"""Rows of a table -> the codes of their values and the sketch of a training table.

Promise: equal values have equal codes in every file format and in every spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.cli.arrow import Column, Frame, pa, pc
from dln.cli.kinds import Reading, reading_kind
from dln.cli.labels import Targets
from dln.cli.read import typed
from dln.core.circuit import Circuit
from dln.core.literals import Column as Feature
from dln.core.row_sketch import Hashes, RowSketch, derive_key, number_codes, row_hashes, text_codes
from dln.data.table import read_table
from dln.errors import ColumnTypeError


def sketch_rows(
    X: Frame,
    circuit: Circuit,
    targets: Targets,
    rows: NDArray[np.int64],
    test_rows: NDArray[np.int64],
    seed: int,
) -> RowSketch:
    """Return hashes of the rows that a circuit was trained on, and of its test rows.

    Parameters
    ----------
    X, targets
        The whole table, read as its kinds, and the class number or the number of each row.
    rows, test_rows
        Places of the training rows and of the test rows.
    """
    # The table is typed: words for missing values are already replaced.
    readings = [Reading(reading_kind(feature), ()) for feature in circuit.columns]
    codes = value_codes(X, circuit.columns, readings, targets)
    key = derive_key(codes, seed)
    hashes = row_hashes(codes, key)
    return RowSketch.of(hashes[rows], hashes[test_rows], key)


def value_codes(
    frame: Frame,
    columns: Sequence[Feature],
    readings: Sequence[Reading],
    targets: Targets,
) -> list[Hashes]:
    """Return a code for every value, column by column, and those of the targets last."""
    codes = [
        _column_codes(frame.select([feature.name]), feature.name, reading)
        for feature, reading in zip(columns, readings, strict=True)
    ]
    is_number = targets.dtype.kind == "f"
    return [*codes, number_codes(targets) if is_number else targets.astype(np.uint64)]


def _column_codes(frame: Frame, name: str, reading: Reading) -> Hashes:
    try:
        frame = typed(frame, {name: reading})
        cells = frame.column(0)
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(pa.string())
        if not pa.types.is_string(cells.type):
            return number_codes(read_table(frame).read(0).values)
    except ColumnTypeError:  # in a column that the circuit does not read
        return _mixed_codes(frame, name, reading)
    packed = cells.combine_chunks().dictionary_encode()
    values = text_codes([*packed.dictionary.to_pylist(), None])
    return _looked_up(values, packed)


def _mixed_codes(frame: Frame, name: str, reading: Reading) -> Hashes:
    """Return codes of a column in which some values are not of its kind; these are read as text."""
    cells: Column = frame.column(0)
    try:
        packed = pc.cast(cells, pa.string()).combine_chunks().dictionary_encode()
    except pa.ArrowException:
        return text_codes([str(value) for value in cells.to_pylist()])
    values = []
    for text in packed.dictionary.to_pylist():
        single = pa.table({name: pa.array([text], pa.string())})
        try:
            single = typed(single, {name: reading})
            values.append(number_codes(read_table(single).read(0).values)[0])
        except ColumnTypeError:
            values.append(text_codes([text])[0])
    return _looked_up(np.array([*values, *text_codes([None])], dtype=np.uint64), packed)


def _looked_up(codes: Hashes, packed: Any) -> Hashes:
    """Return the code of each row of a dictionary array; the last code is for missing values."""
    places: NDArray[np.int64] = packed.indices.fill_null(len(codes) - 1).to_numpy()
    return codes[places]
