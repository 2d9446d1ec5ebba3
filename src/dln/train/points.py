"""Coefficients of rules -> integer points and the number of decimals that they stand for.

Promise: on the given rows, the rounded score differs from the exact one by at most a tolerance
(root mean square), with as few decimals as that takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.core.parts import MAX_VOTES
from dln.core.score import MAX_DIGITS
from dln.errors import TableError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Points(NamedTuple):
    """Points of the rules (n_rules,) and the offset, in units of 10**-digits."""

    points: Ints
    offset: int
    digits: int


def round_coefficients(
    coefficients: Floats,
    offset: float,
    score: Callable[[Floats], Floats],
    tolerance: float,
) -> Points:
    """Round to the fewest decimals with which scores differ by at most a tolerance.

    Parameters
    ----------
    coefficients, offset
        What each rule adds, and what is added to every row.
    score
        Returns the sum (n_rows,) of the coefficients of the rules that are true, for given
        coefficients.
    tolerance
        Largest root mean square of the differences, on the scale of scores.
    """
    exact = score(coefficients) + offset
    # With one decimal fewer than this, the offset alone could be further off.
    first = max(-MAX_DIGITS, -int(np.floor(np.log10(tolerance))) - 6)
    best: Points | None = None
    for digits in range(first, MAX_DIGITS + 1):
        unit = 10.0**-digits
        whole, base = np.rint(coefficients / unit), np.rint(offset / unit)
        if np.abs(whole).sum() + abs(base) > MAX_VOTES:
            break
        best = Points(whole.astype(np.int64), int(base), digits)
        difference = score(whole * unit) + base * unit - exact
        if float(np.mean(difference**2)) <= tolerance**2:
            return best
    raise TableError(
        f"the target varies too little around {offset:.6g} for its size; "
        "subtract a constant from the target first"
    )
