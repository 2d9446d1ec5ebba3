"""A cutoff stays in its gap and is the shortest number there."""

import math
import sys
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.decimals import readable_cutoff

LARGEST = sys.float_info.max
finite = st.floats(allow_nan=False, allow_infinity=False)
KINDS = ("number", "integer", "boolean", "date")


def n_digits(number: float) -> int:
    """Count the significant digits, as people write the number."""
    return len("".join(map(str, Decimal(repr(number)).normalize().as_tuple().digits)))


@pytest.mark.parametrize("kind", KINDS)
@given(a=finite, b=finite)
def test_a_cutoff_separates_the_two_values(kind: str, a: float, b: float) -> None:
    assume(a != b)
    low, high = sorted((a, b))
    cutoff = readable_cutoff(low, high, kind)
    assert math.isfinite(cutoff)
    assert low <= cutoff < high


@given(value=finite)
def test_a_cutoff_fits_between_neighbouring_floats(value: float) -> None:
    high = math.nextafter(value, math.inf)
    assume(math.isfinite(high))
    assert readable_cutoff(value, high, "number") == value


@pytest.mark.parametrize("kind", ["number", "integer"])
@given(value=finite)
def test_a_cutoff_beside_infinity_is_finite(kind: str, value: float) -> None:
    assert value <= readable_cutoff(value, math.inf, kind) < math.inf
    if value > -LARGEST:
        assert -math.inf < readable_cutoff(-math.inf, value, kind) < value


def test_a_cutoff_beside_infinity_stays_near_the_finite_end() -> None:
    assert readable_cutoff(0.9973, math.inf, "number") == 1.0
    assert readable_cutoff(-math.inf, -3.3, "number") == -5.0
    assert readable_cutoff(-math.inf, math.inf, "number") == 0.0
    assert readable_cutoff(LARGEST, math.inf, "number") == LARGEST


@given(low=st.integers(-(2**53), 2**53), width=st.integers(1, 10**6))
def test_the_cutoff_of_an_integer_column_is_an_integer(low: int, width: int) -> None:
    assume(low + width <= 2**53)
    assert readable_cutoff(float(low), float(low + width), "integer").is_integer()


@given(low=st.integers(-2000, 2000), width=st.integers(1, 400), places=st.integers(0, 3))
def test_no_shorter_decimal_lies_in_the_gap(low: int, width: int, places: int) -> None:
    unit = Decimal(1).scaleb(-places)
    ends = float(low * unit), float((low + width) * unit)
    cutoff = readable_cutoff(*ends, "number")
    grid = [float((10 * low + step) * unit / 10) for step in range(10 * width)]
    inside = [number for number in grid if ends[0] <= number < ends[1]]
    assert n_digits(cutoff) == min(map(n_digits, inside))


@given(low=st.integers(1, 2000), width=st.integers(1, 400))
def test_the_middle_one_of_equally_short_decimals_is_chosen(low: int, width: int) -> None:
    cutoff = readable_cutoff(float(low), float(low + width), "integer")
    middle = low + width / 2
    equally_short = [
        number for number in range(low, low + width) if n_digits(float(number)) == n_digits(cutoff)
    ]
    assert abs(cutoff - middle) == min(abs(number - middle) for number in equally_short)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.4471, 0.4602, 0.45),
        (-7.3, -7.2, -7.3),
        (-1.0, 5.0, 0.0),
        (0.0, 1e-9, 0.0),
        (0.01, 10.5, 5.0),
        (99.0, 101.0, 100.0),
        (1e22, 1.1e22, 1e22),
        (5e-324, 1e-323, 5e-324),
    ],
)
def test_readable_numbers(low: float, high: float, expected: float) -> None:
    assert readable_cutoff(low, high, "number") == expected


def test_the_cutoff_of_a_boolean_column_is_one_half() -> None:
    assert readable_cutoff(0.0, 1.0, "boolean") == 0.5


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("2020-05-03", "2022-07-01", "2021-01-01"),
        ("2020-05-03", "2020-09-30", "2020-06-01"),
        ("2020-05-03T10:00:00", "2020-05-09", "2020-05-04"),
        ("2020-05-03T10:20:30", "2020-05-03T14:10:00", "2020-05-03T11:00:00"),
        ("2020-05-03T10:20:30", "2020-05-03T10:29:00", "2020-05-03T10:21:00"),
        ("2020-05-03T10:20:30.500", "2020-05-03T10:20:32", "2020-05-03T10:20:31"),
        ("2020-01-01", "2020-01-02", "2020-01-01"),
        ("1900-05-05", "1999-01-01", "1901-01-01"),
    ],
)
def test_cutoffs_of_dates_are_round_moments(low: str, high: str, expected: str) -> None:
    assert readable_cutoff(moment(low), moment(high), "date") == moment(expected)


def test_numpy_floats_are_accepted() -> None:
    assert readable_cutoff(np.float64(0.44), np.float64(0.46), "number") == 0.45
