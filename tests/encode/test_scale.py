"""Scaling keeps the order of every two values, whatever they are."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln.core.literals import Column
from dln.data.table import RawColumn
from dln.encode.encoder import ColumnCode
from dln.encode.scale import Scale, fit_scale

LARGEST = sys.float_info.max
UGLY = [0.0, -0.0, 5e-324, 1e-310, -1e-310, 1.0, np.nextafter(1.0, 2.0), 1e308, LARGEST, -LARGEST]

any_value = st.floats(allow_nan=True, allow_infinity=True)
columns = st.lists(any_value | st.sampled_from([*UGLY, np.inf, -np.inf]), min_size=1, max_size=60)
n_knots = st.integers(2, 40)


@given(training=columns, others=columns, n_knots=n_knots)
def test_scaling_never_reorders_two_values(
    training: list[float], others: list[float], n_knots: int
) -> None:
    values = np.sort(np.array(training + others))  # NaN comes last
    scaled = fit_scale(np.array(training), n_knots).apply(values)
    known = ~np.isnan(values)
    assert scaled.dtype == np.float32
    assert (np.diff(scaled[known]) >= 0).all()


@given(training=columns, others=columns, n_knots=n_knots)
def test_scaled_values_lie_between_0_and_1_and_missing_ones_stay_missing(
    training: list[float], others: list[float], n_knots: int
) -> None:
    values = np.array(training + others)
    scaled = fit_scale(np.array(training), n_knots).apply(values)
    assert_array_equal(np.isnan(scaled), np.isnan(values))
    known = scaled[~np.isnan(scaled)]
    assert ((known >= 0) & (known <= 1)).all()


@given(start=st.floats(-1e6, 1e6), n_knots=n_knots)
def test_neighbouring_floats_keep_their_order(start: float, n_knots: int) -> None:
    values = [start]
    for _ in range(200):
        values.append(np.nextafter(values[-1], np.inf))
    training = np.array([*values[::7], start - 1.0, start + 1.0])
    scaled = fit_scale(training, n_knots).apply(np.array(values))
    assert (np.diff(scaled) >= 0).all()


@pytest.mark.parametrize("few", [[0.0, 1.0], [-3.0, 5e-324], [1e307, LARGEST], [-LARGEST, LARGEST]])
def test_two_values_are_distinguished(few: list[float]) -> None:
    column = np.array(few * 10)
    scaled = fit_scale(column, 33).apply(np.array(few))
    assert_array_equal(scaled, [0, 1])


def test_a_rare_value_is_distinguished_from_a_common_one() -> None:
    column = np.array([0.0] * 999 + [1.0])
    assert_array_equal(fit_scale(column, 33).apply(np.array([0.0, 1.0])), [0, 1])


@pytest.mark.parametrize("constant", [0.0, -7.5, LARGEST, -LARGEST, 5e-324])
def test_a_constant_column_has_one_level(constant: float) -> None:
    scaled = fit_scale(np.full(9, constant), 33).apply(np.array([constant, constant, np.nan]))
    assert np.isnan(scaled[2])
    assert scaled[0] == scaled[1]
    assert 0 <= scaled[0] <= 1


def test_infinite_values_are_distinguished_from_the_largest_finite_one() -> None:
    column = np.array([-np.inf, 0.0, 1.0, np.inf] * 5)
    levels = fit_scale(column, 33).apply(np.array([-np.inf, 0.0, 1.0, np.inf]))
    assert_array_equal(levels, np.unique(levels))
    assert_array_equal(levels[[0, -1]], [0, 1])


def test_only_infinite_values() -> None:
    column = np.array([-np.inf, np.inf, np.nan])
    assert_array_equal(fit_scale(column, 5).apply(column), [0, 1, np.nan])


def test_quantile_knots_make_a_skewed_column_uniform() -> None:
    column = np.exp(np.linspace(0, 20, 1001))
    scaled = fit_scale(column, 33).apply(column)
    assert abs(np.median(scaled) - 0.5) < 0.02


def test_two_knots_are_a_clipped_min_max_scaling() -> None:
    column = np.arange(1001.0)
    scale = fit_scale(column, 2)
    assert_array_equal(scale.knots, [5, 995])
    assert scale.apply(np.array([500.0]))[0] == np.float32(0.5)
    assert_array_equal(scale.apply(np.array([0.0, 1000.0])), [0, 1])


def test_a_value_beyond_the_training_rows_goes_to_the_end() -> None:
    scale = Scale(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert_array_equal(scale.apply(np.array([-9.0, 9.0])), [0, 1])


@given(
    st.lists(st.floats(-1e300, 1e300) | st.sampled_from([np.inf, -np.inf]), min_size=1),
    st.lists(st.floats(-0.125, 1.125, width=32) | st.just(np.inf), min_size=1),
    st.lists(st.floats(allow_nan=False)),
)
def test_the_first_number_above_a_cutoff_separates_all_numbers(
    training: list[float], cutoffs: list[float], values: list[float]
) -> None:
    scale = fit_scale(np.array(training), 5)
    wanted = np.array(cutoffs, dtype=np.float32)
    scaled = scale.apply(np.array([*training, *values]))
    for cutoff, first in zip(wanted, scale.first_above(wanted), strict=True):
        assert_array_equal(scaled > cutoff, np.array([*training, *values]) >= first)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9)
    | st.lists(st.integers(-20, 20), min_size=20)
)
def test_integers_are_scaled_as_numbers(values: list[int]) -> None:
    column = np.array(values, dtype=np.int64)
    scale = fit_scale(column, 5)
    code = ColumnCode(Column("x", "integer"), scale)
    expected = scale.apply(column.astype(np.float64))
    assert_array_equal(code.encode(RawColumn("integer", column)), expected)
