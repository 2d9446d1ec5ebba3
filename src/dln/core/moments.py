"""Moments that a table can hold: whole microseconds, compared as seconds since 1970.

A *tick* is a number of microseconds since 1970. Far from 1970, many ticks are the same float64.
"""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

import numpy as np

from dln.core.decimals import readable_cutoff
from dln.core.integers import integer_cutoff

Moment = datetime.datetime | np.datetime64

FIRST_TICK, LAST_TICK = -(2**63) + 1, 2**63 - 1
"""The first and the last tick that a table can hold."""

_EPOCH = datetime.datetime(1970, 1, 1)
_DAY = 86400.0
_TWO_YEARS = 2 * 366 * _DAY


def seconds_at(tick: int) -> float:
    """Return the seconds since 1970 that a tick is compared as."""
    return tick / 1e6


def last_tick(seconds: float) -> int:
    """Find the last tick that is not above some seconds; one before the first if none is."""
    return integer_cutoff(seconds, seconds_at, FIRST_TICK, LAST_TICK)


def moment_at(tick: int) -> Moment:
    """Return the moment at a tick."""
    try:
        return _EPOCH + datetime.timedelta(microseconds=tick)
    except OverflowError:  # before year 1 or after year 9999
        return np.datetime64(tick, "us")


def moment_of(seconds: float) -> Moment:
    """Return the moment that tables read as these seconds.

    >>> moment_of(86400.5)
    datetime.datetime(1970, 1, 2, 0, 0, 0, 500000)
    """
    return moment_at(round(Fraction(seconds) * 10**6))


def next_moment(low: float, high: float) -> Moment:
    """Find a moment just above `low` and not above `high`, with the same roundness as `low`.

    >>> next_moment(86400.0, math.inf), next_moment(1.0, math.inf)
    (datetime.datetime(1970, 1, 3, 0, 0), datetime.datetime(1970, 1, 1, 0, 0, 2))
    """
    if abs(low) < seconds_at(LAST_TICK) - _DAY:
        for unit in (_DAY, 1.0):
            if low % unit == 0 and low + unit <= high:
                return moment_of(low + unit)
    return moment_at(last_tick(low) + 1)


def readable_moment(least: float, low: float, high: float) -> Moment:
    """Choose the roundest moment above `low` and not above `high`; `least` is the first."""
    start, end = least, min(high, seconds_at(LAST_TICK))
    if math.isinf(high):
        end = _TWO_YEARS if math.isinf(low) else least + _TWO_YEARS
    if math.isinf(low):
        start = max(least, end - _TWO_YEARS)
    seconds = readable_cutoff(start, math.nextafter(end, math.inf), "date")
    tick = _first_tick(seconds)
    if tick > LAST_TICK or seconds_at(tick) != seconds:  # tables cannot hold this moment
        tick = _first_tick(least)
    return moment_at(tick)


def _first_tick(seconds: float) -> int:
    """Find the first tick that is not below some seconds."""
    return last_tick(math.nextafter(seconds, -math.inf)) + 1
