"""Parts of the fit of a number: losses, refits, rounding, folds, cutoffs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dln import DLNRegressor, TableError
from dln.encode.cutoffs import nested_cutoffs
from dln.encode.screen import best_split_scores
from dln.train.folds import draw_number_folds
from dln.train.number_fit import TOLERANCE
from dln.train.number_loss import NumberBoosting, NumberLoss, weighted_quantile
from dln.train.points import round_coefficients
from dln.train.refit import fit_coefficients
from tests.support.strategies import law

LOSSES = [
    NumberLoss("squared"),
    NumberLoss("absolute"),
    NumberLoss("quantile", 0.9),
    NumberLoss("poisson"),
    NumberLoss("gamma"),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def rows(seed: int, n_rows: int = 60) -> tuple[Any, Any, Any]:
    """Return bits after a constant column, positive targets and whole weights."""
    rng = np.random.default_rng(seed)
    fires = np.hstack([np.ones((n_rows, 1)), rng.random((n_rows, 3)) > 0.5]).astype(np.float64)
    return fires, rng.gamma(2.0, 1.0, n_rows) + 0.1, rng.integers(1, 4, n_rows)


# -- losses ---------------------------------------------------------------------------------------


@every_loss
def test_the_gradient_is_that_of_the_loss(loss: NumberLoss) -> None:
    rng = np.random.default_rng(0)
    target, scores = rng.gamma(2.0, 1.0, 50), rng.normal(size=50)
    step = 1e-6
    slope = (loss.each(scores - step, target) - loss.each(scores + step, target)) / (2 * step)
    # The gradient of "absolute" is that of the quantile loss: half as steep.
    factor = 2.0 if loss.name == "absolute" else 1.0
    assert_allclose(factor * loss.pulls(scores, target), slope, atol=1e-6)


@every_loss
def test_no_constant_is_better_than_the_best(loss: NumberLoss) -> None:
    _, target, weight = rows(0)
    best = loss.constant(target, weight.astype(np.float32))

    def mean(score: float) -> float:
        return loss.mean(np.full(len(target), score), target, weight)

    assert mean(best) <= min(mean(best + step) for step in (-0.1, -0.01, 0.01, 0.1)) + 1e-9
    assert loss.deviance(np.full(len(target), best), target, weight) > 0


@every_loss
def test_a_step_of_each_leaf_lowers_the_loss(loss: NumberLoss) -> None:
    fires, target, weight = rows(1)
    leaf = fires[:, 1].astype(np.int64)
    points = np.full((len(target), 1), 0.3)
    weights = weight / weight.mean()
    steps = NumberBoosting(loss, target).steps(points, leaf, 2, weights)
    after = points + 0.5 * steps[leaf]
    assert loss.mean(after[:, 0], target, weight) < loss.mean(points[:, 0], target, weight)


@law
@given(
    values=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 3)), min_size=1, max_size=20),
    level=st.sampled_from([0.05, 0.25, 0.5, 0.9]),
)
def test_a_weighted_quantile_is_that_of_repeated_values(
    values: list[tuple[int, int]], level: float
) -> None:
    numbers = np.array([value for value, _ in values], dtype=np.float64)
    weight = np.array([count for _, count in values], dtype=np.float32)
    repeated = np.sort(np.repeat(numbers, weight.astype(int)))
    expected = repeated[int(np.ceil(level * len(repeated) - 1e-9)) - 1]
    assert weighted_quantile(numbers, weight, level) == expected


# -- refits ---------------------------------------------------------------------------------------


@every_loss
def test_weights_count_as_repeated_rows_in_a_refit(loss: NumberLoss) -> None:
    fires, target, weight = rows(2)
    start = np.zeros(fires.shape[1])
    share = weight / weight.sum()
    weighted = fit_coefficients(loss, fires, target, share, 0.01, start, 30)
    many, numbers = np.repeat(fires, weight, axis=0), np.repeat(target, weight)
    equal = np.full(len(numbers), 1.0 / len(numbers))
    assert_allclose(weighted, fit_coefficients(loss, many, numbers, equal, 0.01, start, 30))


@every_loss
def test_a_refit_is_a_minimum(loss: NumberLoss) -> None:
    fires, target, weight = rows(3)
    share, ridge = weight / weight.sum(), 0.01
    found = fit_coefficients(loss, fires, target, share, ridge, np.zeros(fires.shape[1]), 200)

    def total(coefficients: Any) -> float:
        shrink = ridge * float((coefficients[1:] ** 2).sum())
        # The quadratic bound halves "absolute".
        factor = 0.5 if loss.name == "absolute" else 1.0
        return factor * float(share @ loss.each(fires @ coefficients, target)) + 0.5 * shrink

    rng = np.random.default_rng(0)
    near = [found + 0.1 * rng.normal(size=len(found)) for _ in range(50)]
    assert total(found) <= min(map(total, near)) + 2e-3


# -- points ---------------------------------------------------------------------------------------


@law
@given(
    coefficients=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6),
    offset=st.floats(-1e3, 1e3),
    power=st.integers(-4, 3),
)
def test_rounding_keeps_scores_within_the_tolerance_with_the_fewest_decimals(
    coefficients: list[float], offset: float, power: int
) -> None:
    fires = np.random.default_rng(0).random((40, len(coefficients))) > 0.5
    exact, tolerance = np.array(coefficients), 10.0**power

    def apart(digits: int) -> float:
        unit = 10.0**-digits
        change = fires @ (np.rint(exact / unit) * unit - exact)
        change = change + (np.rint(offset / unit) * unit - offset)
        return float(np.sqrt(np.mean(change**2)))

    found = round_coefficients(exact, offset, lambda own: np.asarray(fires @ own), tolerance)
    assert apart(found.digits) <= tolerance * (1 + 1e-9)
    assert apart(found.digits - 1) > tolerance or found.digits <= -int(power) - 6
    assert_array_equal(found.points, np.rint(exact * 10.0**found.digits))


def test_sums_of_points_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TableError, match=r"varies too little around 1e\+12"):
        round_coefficients(np.ones(1), 1e12, lambda own: own, 1e-3)


def test_a_fit_is_rounded_within_the_stated_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = 50.0 * X[:, 0] * X[:, 1] + rng.normal(size=200)
    model = DLNRegressor(layers=(8,), n_networks=1, epochs=10, n_trees=25, random_state=0)
    rounded = model.fit(X, y).predict(X)
    monkeypatch.setattr("dln.train.number_fit.TOLERANCE", 1e-7)
    exact = model.fit(X, y).predict(X)
    difference = np.sqrt(np.mean((rounded - exact) ** 2))
    assert 0 < difference <= TOLERANCE * y.std()


# -- folds and cutoffs ----------------------------------------------------------------------------


@law
@given(n_rows=st.integers(1, 40), seed=st.integers(0, 99))
def test_folds_have_nearly_equal_sizes_and_targets(n_rows: int, seed: int) -> None:
    target = np.random.default_rng(seed).normal(size=n_rows)
    fold = draw_number_folds(target, 4, np.random.default_rng(seed))
    if n_rows == 1:
        assert len(fold) == 0
        return
    counts = np.bincount(fold, minlength=min(4, n_rows))
    assert counts.max() - counts.min() <= 1
    order = np.argsort(target)
    for start in range(0, n_rows - 3, 4):  # of four neighbours, one is in each fold
        assert len(set(fold[order[start : start + 4]])) == 4


def test_folds_keep_groups_together() -> None:
    groups = np.repeat(np.arange(9), 5)
    target = np.random.default_rng(0).normal(size=45)
    fold = draw_number_folds(target, 4, np.random.default_rng(0), groups)
    assert all(len(set(fold[groups == own])) == 1 for own in range(9))


def test_cutoffs_separate_means() -> None:
    cells = np.linspace(0, 1, 30, dtype=np.float32)
    target = np.where(cells > 0.7, 5.0, np.where(cells > 0.3, 0.0, 1.0)).astype(np.float32)
    found = nested_cutoffs(cells, target, np.ones(30, dtype=np.float32), (1, 2))
    assert found[0] == pytest.approx([0.7], abs=0.04)
    assert found[1] == pytest.approx([0.3, 0.7], abs=0.04)


def test_screening_scores_are_variances_that_splits_remove() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((80, 2)).astype(np.float32)
    target = (3.0 * (values[:, 1] > 0.5)).astype(np.float32)
    scores = best_split_scores(values, target, np.ones(80, dtype=np.float32))
    assert scores[1] == pytest.approx(float(target.var()), rel=1e-5)
    assert scores[0] < 0.2 * scores[1]
