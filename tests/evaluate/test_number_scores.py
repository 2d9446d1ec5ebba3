"""Errors of numbers: compared with scikit-learn and with resampling."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import dln
from dln.evaluate.number_scores import NumberTally, error_by_prediction, tally_numbers
from tests.support.strategies import law


def sample(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    predicted = rng.gamma(2.0, 3.0, n) + 100.0
    return predicted + rng.normal(0.0, 1.0, n) * (predicted - 98.0) / 3, predicted


@law
@given(st.integers(2, 60), st.integers(0, 1000))
def test_figures_are_those_of_scikit_learn(n: int, seed: int) -> None:
    target, predicted = sample(n, seed)
    tally = tally_numbers(
        target, predicted, levels=[0.1, 0.5], deviances=["poisson", "gamma"], centre=90.0
    )
    expected = {
        "r2": metrics.r2_score(target, predicted),
        "mae": metrics.mean_absolute_error(target, predicted),
        "rmse": np.sqrt(metrics.mean_squared_error(target, predicted)),
        "mean_error": (predicted - target).mean(),
        "pinball_0.1": metrics.mean_pinball_loss(target, predicted, alpha=0.1),
        "pinball_0.5": metrics.mean_pinball_loss(target, predicted, alpha=0.5),
        "poisson_deviance": metrics.mean_poisson_deviance(target, predicted),
        "gamma_deviance": metrics.mean_gamma_deviance(target, predicted),
    }
    assert tally.estimates.keys() == expected.keys()
    for name, found in tally.estimates.items():
        assert found.value == pytest.approx(expected[name], rel=1e-7, abs=1e-9)
        assert found.low <= found.value <= found.high


@law
@given(st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_tallies_of_parts_add_up(sizes: list[int]) -> None:
    target, predicted = sample(sum(sizes))
    parts: list[NumberTally] = []
    for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True):
        rows = slice(end - size, end)
        parts.append(tally_numbers(target[rows], predicted[rows], centre=105.0, levels=[0.9]))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    whole = tally_numbers(target, predicted, centre=105.0, levels=[0.9])
    for name, found in whole.estimates.items():
        assert total.estimates[name].low == pytest.approx(found.low, rel=1e-6)
        assert total.estimates[name].value == pytest.approx(found.value, rel=1e-6)


@pytest.mark.parametrize("name", ["r2", "mae", "rmse", "mean_error"])
def test_intervals_contain_the_true_figure_about_as_often_as_stated(name: str) -> None:
    truth = tally_numbers(*sample(200_000, 1)).estimates[name].value
    found = [tally_numbers(*sample(300, seed)).estimates[name] for seed in range(200)]
    hits = sum(estimate.low <= truth <= estimate.high for estimate in found)
    assert 180 <= hits <= 200


def test_equal_targets_have_no_r2_and_perfect_ones_no_doubt() -> None:
    same = tally_numbers(np.full(5, 0.1), np.arange(5.0))
    assert same.r2 is None
    assert "r2" not in same.estimates
    perfect = tally_numbers(np.arange(5.0), np.arange(5.0))
    assert perfect.r2 is not None
    assert (perfect.r2.low, perfect.mae.value, perfect.rmse.high) == (1.0, 0.0, 0.0)
    one = tally_numbers(np.array([1.0]), np.array([2.0]))
    assert (one.r2, one.mae.value, one.mae.to_dict()["high"]) == (None, 1.0, None)


@law
@given(st.lists(st.integers(0, 5), min_size=1, max_size=80))
def test_groups_by_prediction_are_in_order_and_complete(numbers: list[int]) -> None:
    predicted = np.array(numbers, dtype=float)
    target = np.arange(len(numbers), dtype=float)
    groups = error_by_prediction(target, predicted)
    assert sum(group.n_rows for group in groups) == len(numbers)
    assert len(groups) <= 10
    for group, after in pairwise(groups):
        assert group.highest < after.lowest
    total = sum(group.n_rows * group.mae for group in groups)
    assert total == pytest.approx(np.abs(predicted - target).sum())


@pytest.mark.parametrize(
    ("target", "predicted", "how", "message"),
    [
        ([], [], {}, "the table has 0 rows; at least one is needed"),
        ([1], [1], {"levels": [1.0]}, "the level of a quantile is 1.0, expected a number between"),
        ([1], [0], {"deviances": ["gamma"]}, "the gamma deviance needs predictions above 0"),
        ([0], [1], {"deviances": ["gamma"]}, "the gamma deviance needs targets above 0"),
        ([-1], [1], {"deviances": ["poisson"]}, "the poisson deviance needs targets of at least 0"),
    ],
)
def test_losses_that_are_not_defined_are_refused(
    target: Any, predicted: Any, how: Any, message: str
) -> None:
    with pytest.raises(dln.DlnError, match=message):
        tally_numbers(np.array(target, dtype=float), np.array(predicted, dtype=float), **how)
