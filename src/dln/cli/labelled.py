"""Rows of a table -> the class of each, for an existing model.

Rows without a class are left out, and a note says how many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dln.cli.arrow import Frame
from dln.cli.labels import NO_CLASS, class_numbers
from dln.cli.read import Source
from dln.core.circuit import Circuit
from dln.errors import TableError


@dataclass(frozen=True)
class Labelled:
    """The classes of some rows.

    Attributes
    ----------
    known
        Which rows have a class.
    classes
        The class number of each of these rows.
    """

    known: NDArray[np.bool_]
    classes: NDArray[np.int64]


def find_classes(written: Frame, source: Source, circuit: Circuit, target: str) -> Labelled:
    """Find the class of each row as read from the file; raises for a value that is not a class."""
    words = source.words_for(circuit).everywhere if source.is_text else ()
    classes = class_numbers(written.column(target), circuit, target, words)
    known = classes != NO_CLASS
    return Labelled(known, classes[known])


def rows_without_class(target: str, n_left_out: int, n_rows: int) -> str:
    """Describe rows that are left out because their class is missing; "" where there are none.

    Raises `TableError` where no row has a class.

    >>> rows_without_class("sex", 1, 344)
    "The target 'sex' has no value in 1 of 344 rows, which is left out."
    """
    if n_left_out == n_rows:
        raise TableError(f"the target {target!r} has no value in any of {n_rows:,} rows")
    if not n_left_out:
        return ""
    verb = "is" if n_left_out == 1 else "are"
    return (
        f"The target {target!r} has no value in {n_left_out:,} of {n_rows:,} rows, "
        f"which {verb} left out."
    )
