"""Find the most readable number in an interval."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from dln.core.literals import ColumnKind

_LARGEST = sys.float_info.max
_MOST_DECIMALS = 345


def readable_cutoff(low: float, high: float, kind: ColumnKind) -> float:
    """Choose t with low <= t < high, so that `x > t` is false for low and true for high.

    The decimal with the fewest digits is chosen; 0 is preferred, then the one nearest to the
    middle. Integer columns get an integer. Dates get the roundest moment (a year, a month, a day,
    …). If one end is infinite, the number is near the other end.

    >>> readable_cutoff(0.4471, 0.4602, "number"), readable_cutoff(54.0, 58.0, "integer")
    (0.45, 56.0)
    """
    if kind == "boolean" and low < 0.5 < high:
        return 0.5
    if kind == "date":
        return _round_moment(low, high)
    low, high = _finite_ends(float(low), float(high))
    if low <= 0 < high:
        return 0.0
    smallest = 0 if kind == "integer" else -_MOST_DECIMALS
    return next((t for t in _short_decimals(low, high, smallest) if low <= t < high), low)


def _short_decimals(low: float, high: float, smallest: int) -> Iterator[float]:
    """Yield decimals in [low, high), those with the fewest digits first, down to 10**smallest.

    They are floats, so rounding may move one past an end.
    """
    lowest, highest = Decimal(repr(low)), Decimal(repr(high))  # the ends as people write them
    middle = (lowest + highest) / 2
    # Start at the power of ten above both ends: the coarsest step has the fewest digits.
    largest = math.frexp(max(abs(low), abs(high)))[1] * 30103 // 100000 + 1
    for exponent in range(largest, smallest - 1, -1):
        step = Decimal(1).scaleb(exponent)
        found = _nearest_multiple(lowest, highest, middle, step)
        if found is None:
            continue
        # With one digit found, a finer step may give another decimal of one digit.
        if abs(found) < 10 * step and exponent > smallest:
            finer = _nearest_multiple(lowest, highest, middle, step / 10)
            if finer is not None and abs(finer) < step:
                found = min(found, finer, key=lambda number: abs(number - middle))
        yield float(found)


def _finite_ends(low: float, high: float) -> tuple[float, float]:
    """Replace an infinite end; its distance to the other end is the other end's distance to 0."""
    if math.isinf(low) and math.isinf(high):
        return -1.0, 1.0
    if math.isinf(high):
        high = min(low + max(abs(low), 1.0), _LARGEST)
    if math.isinf(low):
        low = max(high - max(abs(high), 1.0), -_LARGEST)
    return low, high


def _nearest_multiple(
    low: Decimal, high: Decimal, middle: Decimal, step: Decimal
) -> Decimal | None:
    """Find the multiple of `step` in [low, high) that is nearest to the middle."""
    first = math.ceil(low / step)
    last = math.ceil(high / step) - 1
    if first > last:
        return None
    return min(max(round(middle / step), first), last) * step


def _round_moment(low: float, high: float) -> float:
    """Find the roundest moment (seconds since 1970) in [low, high)."""
    if math.isfinite(low) and math.isfinite(high) and max(abs(low), abs(high)) < 2e11:
        start = np.datetime64(math.ceil(low), "s")
        for unit in ("Y", "M", "D", "h", "m", "s"):
            moment = start.astype(f"datetime64[{unit}]")
            if moment.astype("datetime64[s]") < start:
                moment = moment + 1
            seconds = float(moment.astype("datetime64[s]").astype(np.int64))
            if low <= seconds < high:
                return seconds
    return low
