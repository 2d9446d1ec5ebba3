"""Budgets with probabilities and decisions: both are fitted on the votes of folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import DLNClassifier
from dln.paths.fit import _class_votes
from dln.paths.whole_votes import MOST_POINTS
from tests.support.strategies import law


def noisy_table(n_rows: int = 400) -> tuple[pd.DataFrame, Any]:
    """Make a table in which some rows are ill, with a known probability for each row."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.integers(0, 2, n_rows) for name in "abc"})
    odds = 4.0 * X["a"] + 3.0 * X["b"] + 2.0 * X["c"] - 6.0
    ill = rng.random(n_rows) < 1 / (1 + np.exp(-odds))
    return X, np.where(ill, "ill", "healthy")


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, Any]:
    return noisy_table()


def test_probabilities_are_those_of_rows(table: tuple[pd.DataFrame, Any]) -> None:
    X, y = table
    model = DLNClassifier(max_rules=3, random_state=0).fit(X, y)
    assert model.path_ is not None
    assert all(point.circuit.readout.calibration is not None for point in model.path_)
    mean = model.predict_proba(X)[:, 1].mean()
    assert mean == pytest.approx((y == "ill").mean(), abs=0.05)
    # Probabilities alone do not change the rules, the votes or what is predicted.
    plain = DLNClassifier(max_rules=3, random_state=0, probabilities="votes").fit(X, y)
    assert plain.circuit_.readout.calibration is None
    assert plain.circuit_.rules == model.circuit_.rules
    assert_array_equal(plain.predict(X), model.predict(X))


def test_decisions_keep_the_budget(table: tuple[pd.DataFrame, Any]) -> None:
    X, y = table
    ill = y == "ill"
    found = {}
    for asked in (0.5, 0.9):
        model = DLNClassifier(max_rules=3, sensitivity_at_least={"ill": asked}, random_state=0)
        found[asked] = (model.fit(X, y).predict(X)[ill] == "ill").mean()
        assert len(model.circuit_.rules) <= 3
    assert found[0.9] >= max(0.85, found[0.5])
    shares = []
    for threshold in (0.2, 0.8):
        model = DLNClassifier(max_rules=3, decision_threshold=threshold, random_state=0)
        shares.append((model.fit(X, y).predict(X) == "ill").mean())
    assert shares[0] > shares[1]


@law
@given(
    votes=st.integers(2, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(-9, 9), min_size=n if n > 2 else 1, max_size=n if n > 2 else 1),
            min_size=1,
            max_size=4,
        )
    )
)
def test_votes_for_classes_keep_all_leads(votes: list[list[int]]) -> None:
    whole = np.array(votes, dtype=np.float64)
    n_classes = 2 if whole.shape[1] == 1 else whole.shape[1]
    given = np.array(_class_votes(whole, n_classes))
    assert given[0].min() == 0
    if n_classes == 2:
        assert given.min() == 0
        assert_array_equal(given[1:, 1] - given[1:, 0], whole[1:, 0])
    else:
        assert_array_equal(given - given[:, :1], whole - whole[:, :1])
    assert np.abs(given[1:]).max(initial=0) <= MOST_POINTS
