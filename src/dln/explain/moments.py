"""Seconds since 1970 <-> moments that a table can hold: whole microseconds."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import numpy as np

from dln.core.conditions import FIRST_TICK, LAST_TICK, moment_at

_DAY = 86400.0

Moment = datetime.datetime | np.datetime64


def moment_of(seconds: float) -> Moment:
    """Return the moment that tables read as these seconds.

    >>> moment_of(86400.5)
    datetime.datetime(1970, 1, 2, 0, 0, 0, 500000)
    """
    return moment_at(round(Fraction(seconds) * 10**6))


def last_moment(high: float) -> Moment:
    """Find the last moment not above a cutoff."""
    return moment_at(_last_tick(high))


def next_moment(low: float, high: float) -> Moment:
    """Find a moment just above `low` and not above `high`, with the same roundness as `low`.

    >>> next_moment(86400.0, math.inf), next_moment(1.0, math.inf)
    (datetime.datetime(1970, 1, 3, 0, 0), datetime.datetime(1970, 1, 1, 0, 0, 2))
    """
    if abs(low) < LAST_TICK / 1e6 - _DAY:
        for unit in (_DAY, 1.0):
            if low % unit == 0 and low + unit <= high:
                return moment_of(low + unit)
    return moment_at(_last_tick(low) + 1)


def seconds_above(low: float) -> float:
    """Find the first moment above a cutoff, in seconds as tables read it."""
    return (_last_tick(low) + 1) / 1e6


def seconds_up_to(high: float) -> float:
    """Find the last moment not above a cutoff, in seconds as tables read it."""
    return _last_tick(high) / 1e6


def _last_tick(high: float) -> int:
    """Find the last microsecond that is read as at most `high`; one before the first if none is."""
    tick = min(max(math.floor(Fraction(high) * 10**6), FIRST_TICK - 1), LAST_TICK)
    # Far from 1970, thousands of microseconds are read as the same float64.
    while tick < LAST_TICK and (tick + 1) / 1e6 <= high:
        tick += 1
    return tick
