"""The most readable number in a gap."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from dln.literals import ColumnKind


def readable_cutoff(low: float, high: float, kind: ColumnKind) -> float:
    """Choose t with low <= t < high, so that `x > t` is false for low and true for high.

    The shortest decimal is chosen, the one nearest to the middle among equally short ones; for an
    integer column an integer; for dates the roundest moment (a year, a month, a day, …).

    >>> readable_cutoff(0.4471, 0.4602, "number"), readable_cutoff(54.0, 58.0, "integer")
    (0.45, 56.0)
    """
    if kind == "boolean" and low < 0.5 < high:
        return 0.5
    if kind == "date":
        return _round_moment(low, high)
    if math.isinf(low):
        low = -float(np.finfo(np.float64).max)
    if math.isinf(high):
        high = float(np.finfo(np.float64).max)
    smallest = 0 if kind == "integer" else -400
    largest = max(abs(low), abs(high))
    exponent = math.frexp(largest)[1] * 30103 // 100000 + 1
    lowest, highest = Decimal(low), Decimal(high)
    middle = (lowest + highest) / 2
    while exponent >= smallest:
        found = _multiple(lowest, highest, middle, Decimal(1).scaleb(exponent))
        if found is not None and low <= found < high:
            return found
        if Decimal(1).scaleb(exponent) * 1_000 < highest - lowest:
            break
        exponent -= 1
    return low


def _multiple(low: Decimal, high: Decimal, middle: Decimal, step: Decimal) -> float | None:
    """Find the multiple of `step` in [low, high) that is nearest to the middle."""
    first = math.ceil(low / step)
    last = math.ceil(high / step) - 1
    if first > last:
        return None
    nearest = min(max(round(middle / step), first), last)
    return float(nearest * step)


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
