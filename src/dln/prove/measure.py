"""Conditions and ranges -> the share of each atom in uniformly distributed values of its column.

Numbers and dates are uniform between their limits, whole numbers and categories are all equally
likely. The limits are those of a condition, else those of the training rows, which the model file
keeps, else those of given rows. Missing values and unknown categories do not occur, unless a
condition asks for missing values.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.conditions import Atom, Gap
from dln.core.literals import Column
from dln.data.codes import encode_cells, places_of
from dln.data.table import read_table
from dln.errors import OptionError
from dln.prove.region import bounds_of, categories_of, members
from dln.prove.search import Search

Weights = NDArray[np.float64]


def atom_weights(
    search: Search, where: Mapping[str, Any], data: Any = None, hidden: Collection[str] = ()
) -> Weights:
    """Return the share of each atom in the values of its column; 0 for atoms of hidden columns."""
    weights = np.zeros(search.starts[-1])
    for place, name in enumerate(search.names):
        if name not in hidden:
            own = weights[search.starts[place] : search.starts[place + 1]]
            own[:] = _weights(search, place, where, data)
            own /= own.sum()
    return weights


def _weights(search: Search, place: int, where: Mapping[str, Any], data: Any) -> Weights:
    index, found = search.variables.read[place], search.variables.atoms[place]
    column = search.circuit.columns[index]
    if column.name in where and where[column.name] is None:
        first = np.zeros(len(found.atoms))
        first[0] = 1.0  # missing values are in the first atom
        return first
    given = where.get(column.name)
    if not column.is_numeric:
        wanted = column.categories if given is None else categories_of(given, column)
        known = members(search.circuit.logic, index, found)
        counts = [float(sum(category in wanted for category in each)) for each in known]
        if not column.categories:  # every value is unknown
            counts[-1] = 1.0
        return np.array(counts)
    low, high = (
        bound if bound is not None and math.isfinite(bound) else None
        for bound in bounds_of(given, column)
    )
    if column.kind == "boolean" or (column.binary and low is None and high is None):
        low, high = (0.0 if low is None else low), (1.0 if high is None else high)
    if low is None or high is None:
        lowest, highest = _limits(search, index, data)
        low, high = (lowest if low is None else low), (highest if high is None else high)
    sizes = np.array([_size(atom, column, low, high) for atom in found.atoms])
    if not sizes.any():
        raise OptionError(
            f"{column.name!r} has no value from {low:g} to {high:g}; give both limits in where"
        )
    return sizes


def _limits(search: Search, index: int, data: Any) -> tuple[float, float]:
    """Return the smallest and largest value of a column in training, or else in the data."""
    column = search.circuit.columns[index]
    if column.range is not None and column.range.quantiles:
        return column.range.quantiles[0], column.range.quantiles[-1]
    if data is not None:
        table = read_table(data)
        place = places_of(table, search.circuit.columns, [index])[index]
        numbers = np.asarray(encode_cells(table.read(place), column), dtype=np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers):
            return float(numbers.min()), float(numbers.max())
    raise OptionError(
        f"the range of {column.name!r} is not known: the model file has none; give its limits in "
        "where, or rows in data"
    )


def _size(atom: Atom, column: Column, low: float, high: float) -> float:
    """Return how many whole numbers of a gap are between two limits, or how long that part is."""
    if not isinstance(atom, Gap):
        return 0.0
    if column.kind == "boolean" or column.binary:
        return float(sum(low <= bit <= high and atom.low < bit <= atom.high for bit in (0, 1)))
    if low == high:
        return float(atom.low < low <= atom.high)
    end = min(atom.high, high)
    if column.kind != "integer":
        return max(0.0, end - max(atom.low, low))
    start = max(math.ceil(low) - 1, -math.inf if math.isinf(atom.low) else math.floor(atom.low))
    return max(0.0, float(math.floor(end) - start))
