"""Curves of probabilities: ascending, close to the truth, and close to their tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dln.decisions.curve import fit_curve, logistic
from dln.decisions.points import Points
from dln.decisions.shares import fit_shares
from dln.decisions.table import MAX_LINES, make_table, short_decimal


@given(
    leads=st.lists(st.integers(-40, 40), min_size=2, max_size=60),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.01, 1.0, 1000.0]),
)
@settings(max_examples=60, deadline=None)
def test_a_curve_ascends_and_stays_inside(leads: list[int], seed: int, scale: float) -> None:
    own = np.random.default_rng(seed).random(len(leads)) < 0.5
    curve = fit_curve(np.array(leads, dtype=np.float64), own, np.full(len(leads), scale))
    found = curve(np.arange(-60.0, 61.0))
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_a_curve_finds_the_true_probabilities() -> None:
    rng = np.random.default_rng(0)
    leads = rng.integers(-30, 31, size=4000).astype(np.float64)
    true = 0.1 + 0.8 * logistic(0.3 * (leads - 5))  # not logistic: it needs the steps
    curve = fit_curve(leads, rng.random(4000) < true, np.ones(4000))
    assert np.abs(curve(leads) - true).mean() < 0.025


@pytest.mark.parametrize("slope", [0.02, 0.3, 4.0])
def test_a_table_is_close_to_its_curve_and_has_few_lines(slope: float) -> None:
    table = make_table([lambda lead: logistic(slope * lead - 0.5)], -80, 120, fixed=(0, 1))
    leads = np.arange(-90, 130)
    exact = logistic(slope * np.clip(leads, -80, 120) - 0.5)
    assert np.abs(table.look_up(leads, 0) - exact).max() < 0.02
    assert len(table.leads) <= MAX_LINES
    assert {0, 1} <= set(table.leads)


@given(p=st.floats(0, 1))
def test_short_decimals_are_close_and_inside(p: float) -> None:
    short = short_decimal(p)
    assert 0 < short < 1
    assert abs(short - p) <= max(0.0006, 1e-6)
    assert len(repr(short)) <= 9


def test_weights_find_the_true_probabilities_of_more_classes() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 20, size=(6000, 3)).astype(np.float64)
    odds = np.exp(0.25 * votes)
    true = odds / odds.sum(axis=1, keepdims=True)
    target = (true.cumsum(axis=1) > rng.random((6000, 1))).argmax(axis=1)
    ordered = np.sort(votes, axis=1)
    leads = votes - np.where(votes == ordered[:, -1:], ordered[:, -2:-1], ordered[:, -1:])
    found = fit_shares(leads, target, np.ones(6000), None).probabilities(leads)
    assert np.abs(found - true).mean() < 0.03
    # The same votes where the second class is four times as frequent.
    shifted = true * [1, 4, 1] / (true * [1, 4, 1]).sum(axis=1, keepdims=True)
    weight = np.array([1.0, 4.0, 1.0])[target]
    found = fit_shares(leads, target, weight, np.log([1.0, 4.0, 1.0])).probabilities(leads)
    assert np.abs(found - shifted).mean() < 0.03


def test_counts_restore_class_frequencies() -> None:
    target = np.array([0, 0, 0, 1])
    points = Points(np.zeros((4, 2)), target, np.array([1.0, 1, 1, 3]), np.ones(4))
    assert points.masses.tolist() == [0.5, 0.5]
    assert points.counts(np.array([0.75, 0.25])).tolist() == [1, 1, 1, 1]
