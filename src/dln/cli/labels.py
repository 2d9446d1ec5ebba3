"""Values of a target column -> the numbers of a circuit's classes, or the numbers themselves.

A text table has no types, so different spellings of one label are recognised: 1, 1.0 and "1" are
the class 1; True and true are the class True. Numbers are compared exactly, however large they are.
Rows without a class are left out, and a note says how many.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import list_names
from dln.cli.arrow import Column, Frame
from dln.cli.exposure import exposure_of, read_exposure
from dln.cli.kinds import quoted
from dln.cli.number_target import read_numbers, values_and_known
from dln.cli.read import Source
from dln.core.circuit import Circuit
from dln.core.labels import Label
from dln.errors import TableError

Targets = NDArray[np.int64] | NDArray[np.float64]
"""The number of each row's class, or each row's number."""

NO_CLASS = -1
"""The number of a missing class."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf", re.IGNORECASE | re.ASCII)
_MOST_DIGITS = 4000
"""Longer numbers are read as floats; Python refuses to read integers of more than 4,300 digits."""


@dataclass(frozen=True)
class Labelled:
    """The targets of some rows.

    Attributes
    ----------
    known
        Which rows have a target.
    targets
        For each of these rows the number of its class (int64), or its number (float64).
    """

    known: NDArray[np.bool_]
    targets: Targets


def find_targets(written: Frame, source: Source, circuit: Circuit, target: str) -> Labelled:
    """Find the target of each row as read from the file; raises for a value that is not one.

    A target with an exposure is divided by it. `target_columns` have to be in the frame.
    """
    words = source.words_for(circuit)
    cells = written.column(target)
    if circuit.task == "number":
        numbers, known = values_and_known(
            read_numbers(cells, target, words, is_text=source.is_text)
        )
        exposure = exposure_of(circuit, target)
        if exposure is not None:
            column = written.column(exposure)
            numbers /= read_exposure(column, exposure, words, is_text=source.is_text)[known]
        return Labelled(known, numbers)
    missing = words.everywhere if source.is_text else ()
    classes = class_numbers(cells, circuit, target, missing)
    known = classes != NO_CLASS
    return Labelled(known, classes[known])


def strata_of(targets: Targets) -> NDArray[np.int64]:
    """Return the classes of rows; rows with numbers are all alike."""
    if targets.dtype.kind == "f":
        return np.zeros(len(targets), dtype=np.int64)
    return targets.astype(np.int64)


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


def class_numbers(
    cells: Column, circuit: Circuit, name: str, missing: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the number of each row's class, `NO_CLASS` where it is missing.

    Words in `missing` are missing, unless they are classes of the circuit. Raises `TableError` for
    a value that is not a class.
    """
    packed = cells.combine_chunks().dictionary_encode()
    classes = _Classes(circuit.classes)
    found = packed.dictionary.to_pylist()
    numbers = [classes.find(value) for value in found]
    unknown = [
        value
        for value, number in zip(found, numbers, strict=True)
        if number is None and value not in missing
    ]
    if unknown:
        known = list_names(map(quoted, circuit.classes))
        raise TableError(
            f"the target {name!r} holds {list_names(map(quoted, unknown))}, "
            f"but the classes of the model are {known}"
        )
    lookup = np.array([NO_CLASS if n is None else n for n in (*numbers, None)], dtype=np.int64)
    places = packed.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
    chosen: NDArray[np.int64] = lookup[places]
    return chosen


class _Classes:
    """Finds classes by their spelling."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self._texts = {label: number for number, label in enumerate(labels) if type(label) is str}
        self._others: dict[Hashable, int] = {}
        for number, label in enumerate(labels):
            if not isinstance(label, str):
                self._others.setdefault(_meaning(label), number)

    def find(self, value: Any) -> int | None:
        """Return the number of the class with this spelling; text classes come first."""
        number = self._texts.get(str(value))
        if number is None and self._others:
            number = self._others.get(_meaning(value))
        return number


def _meaning(value: Any) -> Hashable:
    """Return a key that is equal for all spellings of one value."""
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in ("true", "false"):
            return ("boolean", text.lower() == "true")
        return ("number", _number(text)) if _NUMBER.fullmatch(text) else ("text", text)
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, (int, float)):
        return ("number", value)
    if isinstance(value, decimal.Decimal):
        return ("number", _number(str(value)))
    return ("text", str(value.isoformat() if hasattr(value, "isoformat") else value))


def _number(text: str) -> int | float:
    """Read a number: exactly where it is whole, as the nearest float otherwise.

    >>> _number("9007199254740993.0"), _number("1e3"), _number("0.10")
    (9007199254740993, 1000, 0.1)
    >>> _number("1" + 40 * "0" + "1") == 10**41 + 1
    True
    """
    exact = decimal.Decimal(text)
    is_short = exact.is_finite() and abs(exact.adjusted()) < _MOST_DIGITS
    is_whole = is_short and exact == exact.to_integral_value()
    return int(exact) if is_whole else float(text)
