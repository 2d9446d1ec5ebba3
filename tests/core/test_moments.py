"""Moments: ticks on either side of some seconds, and moments in a gap."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from dln.core.conditions import least_above
from dln.core.moments import (
    FIRST_TICK,
    LAST_TICK,
    Moment,
    last_tick,
    moment_at,
    next_moment,
    seconds_at,
)
from dln.data.table import read_table
from tests.support.strategies import law

TICKS = st.integers(FIRST_TICK, LAST_TICK)
SECONDS = st.one_of(TICKS.map(seconds_at), st.floats(-1e13, 1e13), st.floats(-1e11, 1e11))


def read_seconds(moment: Moment) -> float:
    """Read a moment as a table does."""
    column = read_table(np.array([[moment]], dtype="datetime64[us]")).read(0)
    return float(column.values[0])


@law
@given(TICKS)
def test_a_table_reads_a_tick_as_its_seconds(tick: int) -> None:
    assert read_seconds(moment_at(tick)) == seconds_at(tick)


@law
@given(SECONDS)
@example(10792556466.014595)  # the microsecond at these seconds is read as a larger number
def test_the_last_tick_is_not_above_and_the_next_one_is(seconds: float) -> None:
    tick = last_tick(seconds)
    assert tick < FIRST_TICK or seconds_at(tick) <= seconds
    assert tick == LAST_TICK or seconds_at(tick + 1) == least_above(seconds, "date") > seconds


@law
@given(st.one_of(SECONDS, st.integers(-(10**6), 10**6).map(float)), st.floats(0, 1e6))
def test_the_next_moment_is_in_the_gap(low: float, width: float) -> None:
    after = last_tick(low) + 1
    high = max(low + width, seconds_at(after))
    if after <= LAST_TICK and math.isfinite(high):
        assert low < read_seconds(next_moment(low, high)) <= high
