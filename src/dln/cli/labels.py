"""Cells of a target column -> the numbers of a circuit's classes.

A text table has no types, so classes are recognised by how they are spelled: 1, 1.0 and "1" are
the class 1, True and true the class True.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.circuit import Circuit
from dln.cli.arrow import Column, pc
from dln.cli.kinds import quoted
from dln.errors import TableError
from dln.wording import some


def first_missing(cells: Column, first_row: int = 1) -> str:
    """Name the first row whose cell is missing, where rows are counted from `first_row`."""
    return f"row {first_row + pc.index(pc.is_null(cells), True).as_py()} is the first"


def class_numbers(
    cells: Column, circuit: Circuit, name: str, first_row: int = 1
) -> NDArray[np.int64]:
    """Give the number of each row's class; raises where one is missing or not known."""
    packed = cells.combine_chunks().dictionary_encode()
    if packed.null_count:
        raise TableError(
            f"the target {name!r} is missing in {packed.null_count} of {len(cells)} rows "
            f"({first_missing(cells, first_row)}); drop those rows"
        )
    numbers = {_spelled(label, circuit): index for index, label in enumerate(circuit.classes)}
    found = packed.dictionary.to_pylist()
    strange = [value for value in found if _spelled(value, circuit) not in numbers]
    if strange:
        known = some([quoted(label) for label in circuit.classes])
        raise TableError(
            f"the target {name!r} holds {some([quoted(value) for value in strange])}, "
            f"but the classes of the model are {known}"
        )
    lookup = np.array([numbers[_spelled(value, circuit)] for value in found], dtype=np.int64)
    places: NDArray[np.int64] = packed.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return lookup[places]


def _spelled(value: Any, circuit: Circuit) -> str:
    """Spell a label the one way in which the circuit's classes are compared."""
    if all(isinstance(label, str) for label in circuit.classes):
        return str(value)
    if isinstance(value, bool) or str(value).strip().lower() in ("true", "false"):
        return str(value).strip().lower()
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return str(value.isoformat() if hasattr(value, "isoformat") else value).strip()
