"""Cutoffs on numbers -> cutoffs on the integers that stand for them.

Integers stand for numbers in columns of integers, in dates (microseconds) and in fixed point.
`x > cutoff` becomes a comparison of integers with the same result for every integer. Integers
beyond 2**53 compare as the nearest float64, as they do in a circuit.
"""

from __future__ import annotations

from collections.abc import Callable

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
