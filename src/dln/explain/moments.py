"""Seconds since 1970 <-> moments that a table can hold: whole microseconds."""

from __future__ import annotations

import datetime
from fractions import Fraction

import numpy as np

from dln.core.conditions import LAST_TICK, first_tick, moment_at

_DAY = 86400.0

Moment = datetime.datetime | np.datetime64


def moment_of(seconds: float) -> Moment:
    """Return the moment that tables read as these seconds.

    >>> moment_of(86400.5)
    datetime.datetime(1970, 1, 2, 0, 0, 0, 500000)
    """
    return moment_at(round(Fraction(seconds) * 10**6))


def next_moment(low: float, high: float) -> Moment:
    """Find a moment just above `low` and not above `high`, with the same roundness as `low`.

    >>> next_moment(86400.0, 1e9), next_moment(1.0, 1e9)
    (datetime.datetime(1970, 1, 3, 0, 0), datetime.datetime(1970, 1, 1, 0, 0, 2))
    """
    if abs(low) < LAST_TICK / 1e6 - _DAY:
        for unit in (_DAY, 1.0):
            if low % unit == 0 and low + unit <= high:
                return moment_of(low + unit)
    return moment_at(first_tick(lambda tick: tick / 1e6 > low))


def last_moment(high: float) -> tuple[Moment, float]:
    """Find the last moment not above a cutoff, and its seconds as tables read it."""
    tick = first_tick(lambda tick: tick / 1e6 > high) - 1
    return moment_at(tick), tick / 1e6
