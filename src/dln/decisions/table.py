"""A curve over leads -> a table with few lines and short decimals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dln.core.calibration import Calibration

Floats = NDArray[np.float64]
CurveOfLeads = Callable[[Floats], Floats]

MAX_LINES = 14
"""The most lines of a table."""
_CLOSE = 0.004
"""A table is close enough to its curves if values differ by at most this."""
_MOST_LEADS = 2_001
_LEAST = 1e-6


def make_table(
    curves: Sequence[CurveOfLeads],
    low: int,
    high: int,
    fixed: Sequence[int] = (),
    limit: Callable[[int, float], float] = lambda lead, value: value,
    scale: CurveOfLeads = np.ones_like,
    max_lines: int = MAX_LINES,
    spacing: int = 1,
) -> Calibration:
    """Make the table of curves, one for each table, for leads from `low` to `high`.

    `fixed` leads get a line of their own. `limit` may correct a rounded value. Differences count
    relative to `scale`. Other leads than `low` plus multiples of `spacing` do not occur.
    """
    step = spacing * -(-(high - low + 1) // (_MOST_LEADS * spacing))
    some = np.unique([*range(low, high + 1, step), high, *(x for x in fixed if low <= x <= high)])
    exact = np.stack([curve(some.astype(np.float64)) for curve in curves])
    chosen = {0, len(some) - 1}
    chosen.update(int(np.searchsorted(some, x)) for x in fixed if low <= x <= high)
    while len(chosen) < min(max_lines, len(some)):
        places = sorted(chosen)
        tables = np.stack([np.interp(some, some[places], values[places]) for values in exact])
        worst = np.abs(exact - tables).max(axis=0) / _CLOSE / scale(some.astype(np.float64))
        if worst.max() <= 1:
            break
        chosen.add(int(np.argmax(worst)))
    places = sorted(chosen)
    leads = tuple(int(some[place]) for place in places)
    return Calibration(leads, tuple(_rounded(leads, values[places], limit) for values in exact))


def _rounded(
    leads: Sequence[int], values: Floats, limit: Callable[[int, float], float]
) -> tuple[float, ...]:
    found: list[float] = []
    for lead, value in zip(leads, values.tolist(), strict=True):
        short = limit(lead, short_decimal(value))
        found.append(max(short, found[-1]) if found else short)
    return tuple(found)


def short_decimal(p: float) -> float:
    """Round a probability: three decimals, or three digits of what is near 0, two near 1.

    >>> short_decimal(0.87312), short_decimal(0.0012345), short_decimal(0.99987)
    (0.873, 0.00123, 0.99987)
    """
    p = min(max(p, _LEAST), 1 - _LEAST)
    digits = max(3, 2 - math.floor(math.log10(p)), 1 - math.floor(math.log10(1 - p)))
    return min(max(round(p, digits), _LEAST), 1 - _LEAST)
