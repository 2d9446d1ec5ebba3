"""Training rows -> the range of each column that a circuit reads.

Numbers are rounded, so that no exact value of a single row is saved: the minimum downwards, the
maximum upwards, the other quantiles to the nearest step. A step is the largest of 1, 2 or 5 times a
power of ten that is at most a tenth of the distance from minimum to maximum; at least 1 for
integers, and in days for dates that are at least ten days apart. Columns that no literal reads get
no range, since no example shows them: what is not needed is not disclosed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.literals import ColumnKind
from dln.core.value_range import LEVELS, ValueRange
from dln.data.coded import count_missing
from dln.data.table import RawColumn, Table

_DAY = Decimal(86_400)
_EXACT = Context(prec=700)
"""Enough digits for every quotient of two float64 that is rounded here."""


def ranges_of(table: Table) -> Callable[[Circuit], Circuit]:
    """Return a function that gives circuits on the columns of a table the ranges of its rows.

    Each column is measured once, however many circuits there are.
    """
    measured: dict[int, ValueRange] = {}

    def with_ranges(circuit: Circuit) -> Circuit:
        columns = list(circuit.columns)
        for index in circuit.logic.used_columns:
            if index not in measured:
                measured[index] = measure_range(table.read(index))
            found = measured[index]
            if not columns[index].is_numeric and found.quantiles:  # an earlier fit had categories
                found = replace(found, quantiles=())
            columns[index] = replace(columns[index], range=found)
        return replace(circuit, logic=replace(circuit.logic, columns=tuple(columns)))

    return with_ranges


def measure_range(raw: RawColumn) -> ValueRange:
    """Measure the values of a column.

    >>> measure_range(RawColumn("integer", np.array([29.0, 41.0, 55.0, np.nan, 77.0])))
    ValueRange(quantiles=(28.0, 28.0, 28.0, 40.0, 56.0, 76.0, 78.0), missing=True)
    """
    any_missing = count_missing(raw) > 0
    if raw.kind == "category":
        return ValueRange(missing=any_missing)
    values = np.array(raw.values, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        values = values[finite]
    return ValueRange(_quantiles(values, raw.kind), any_missing)


def _quantiles(values: NDArray[np.float64], kind: ColumnKind) -> tuple[float, ...]:
    """Return rounded quantiles of the values, which are reordered."""
    if not len(values):
        return ()
    # Values that occur, not means of two: a boolean is never 0.5.
    places = np.ceil(np.array(LEVELS) * len(values)).astype(np.int64).clip(1) - 1
    values.partition(places)
    exact = [Decimal(float(value)) for value in values[places]]
    step = _step(exact[-1] - exact[0], kind)
    if step == 0:  # every row has the same value
        return tuple(map(float, exact))
    ways = [ROUND_FLOOR, *[ROUND_HALF_EVEN] * (len(exact) - 2), ROUND_CEILING]
    return tuple(_rounded(value, step, way) for value, way in zip(exact, ways, strict=True))


def _step(span: Decimal, kind: ColumnKind) -> Decimal:
    """Return the step to which numbers are rounded; 0 if there is one value only."""
    unit = _DAY if kind == "date" and span >= 10 * _DAY else Decimal(1)
    tenth = span / unit / 10
    if not tenth:
        return tenth
    power = Decimal(1).scaleb(tenth.adjusted())
    step = next(factor * power for factor in (5, 2, 1) if factor * power <= tenth)
    return unit * (max(step, Decimal(1)) if kind in ("integer", "boolean") else step)


def _rounded(value: Decimal, step: Decimal, way: str) -> float:
    number = float(_EXACT.divide(value, step).to_integral_value(way, _EXACT) * step)
    return min(max(number, -sys.float_info.max), sys.float_info.max)
