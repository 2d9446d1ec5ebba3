"""Cutoffs on numbers -> cutoffs on the integers that stand for them.

A circuit compares float64. Where a target reads integers (an integer column, a date in
microseconds, a number in fixed point), `x > cutoff` becomes a comparison of integers with the same
result for every integer of that type. Integers beyond 2**53 compare as the nearest float64, as they
do in the circuit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dln.core.literals import Column

Meaning = Callable[[int], float]
"""Maps an integer to the number that it stands for. It never decreases."""


def integer_cutoff(cutoff: float, meaning: Meaning, low: int, high: int) -> int:
    """Return the largest integer whose meaning is not above the cutoff.

    The result is `low - 1` if all integers from `low` to `high` are above the cutoff.

    >>> integer_cutoff(54.5, float, -(2**63), 2**63 - 1), integer_cutoff(300.0, float, -128, 127)
    (54, 127)
    >>> integer_cutoff(2.0**53, float, -(2**63), 2**63 - 1) - 2**53
    1
    """
    below, above = low - 1, high + 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if meaning(middle) <= cutoff else (below, middle)
    return below


def fixed_point(fraction_bits: int) -> Meaning:
    """Read integers as fixed-point numbers with this many bits after the binary point."""
    return lambda value: math.ldexp(float(value), -fraction_bits)


def microseconds(value: int) -> float:
    """Read an integer as microseconds since 1970: the seconds that dates are compared as."""
    return float(value) / 1e6


def meaning_of(column: Column, fraction_bits: int = 0) -> Meaning:
    """Return the function from the integers of a column to the numbers that they stand for."""
    if column.kind == "date":
        return microseconds
    return fixed_point(fraction_bits) if column.kind == "number" else float
