"""Values of a target column -> numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dln.cli.arrow import Column, pa, pc
from dln.cli.kinds import reading_of
from dln.cli.missing import MissingWords
from dln.cli.read import typed
from dln.errors import TableError

INSTEAD_OF_NUMBER = "leave out --task number to predict classes"
"""What to do if the target of a training is not one of numbers."""


def read_numbers(
    cells: Column,
    name: str,
    words: MissingWords,
    *,
    is_text: bool,
    role: str = "target",
    instead: str = "name another column",
) -> Column:
    """Read a column of numbers as float64, with nulls where values are missing.

    `role` and `instead` say in messages what the column is, and what else to do. Raises
    `TableError` for a value that is not a finite number.
    """
    frame = pa.table({name: cells})
    if not is_text and not _is_number(frame.column(0).type):
        raise TableError(
            f"the {role} {name!r} holds {_type_text(frame.column(0).type)}, expected numbers; "
            f"{instead}"
        )
    if is_text:
        try:
            frame = typed(frame, {name: reading_of("number", words)}, first_row=1)
        except TableError as error:
            found = str(error).removeprefix("column ").partition(";")[0]
            raise TableError(f"the {role} {found}; correct the value, or {instead}") from None
    numbers = pc.cast(frame.column(0), pa.float64(), safe=False)
    numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    if pc.any(pc.is_inf(numbers)).as_py():
        row = pc.index(pc.is_inf(numbers), True).as_py() + 1
        raise TableError(
            f"the {role} {name!r} is infinite in row {row}; expected finite numbers, remove the row"
        )
    return numbers


def _type_text(kind: pa.DataType) -> str:
    is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return "yes and no" if pa.types.is_boolean(kind) else "dates" if is_date else str(kind)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def values_and_known(numbers: Column) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the numbers of the rows that have one, and which rows those are."""
    known = pc.is_valid(numbers).to_numpy().astype(bool)
    values: NDArray[np.float64] = numbers.drop_null().to_numpy().astype(np.float64)
    return values, known
