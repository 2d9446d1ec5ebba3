"""Tools of scikit-learn that look into a model work, also with integers and text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence, permutation_importance

from dln import DLNClassifier, DLNRegressor

SMALL: dict[str, Any] = {
    "layers": (8, 4),
    "n_networks": 1,
    "n_trees": 0,
    "epochs": 20,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": draw.integers(20, 80, 200),
            "dose": draw.random(200).round(2),
            "ward": draw.choice(["north", "south"], 200),
        }
    )


@pytest.fixture(scope="module", params=[DLNClassifier, DLNRegressor])
def model(request: pytest.FixtureRequest, table: pd.DataFrame) -> DLNClassifier | DLNRegressor:
    """Learn a risk of 0 or 1 from the age, as a class or as a number."""
    return request.param(**SMALL).fit(table, target_of(request.param, table))


def target_of(kind: type, table: pd.DataFrame) -> np.ndarray:
    high = table["age"] > 50
    return np.where(high, "ill", "healthy") if kind is DLNClassifier else high.astype(float)


def test_permutation_importance_names_the_column_that_matters(
    table: pd.DataFrame, model: DLNClassifier | DLNRegressor
) -> None:
    target = target_of(type(model), table)
    found = permutation_importance(model, table, target, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 0
    assert found.importances_mean[0] > 0.3


def test_partial_dependence_of_numbers_and_categories(
    table: pd.DataFrame, model: DLNClassifier | DLNRegressor
) -> None:
    found = partial_dependence(model, table, ["dose"], grid_resolution=5)
    assert found["average"].shape == (1, 5)
    found = partial_dependence(model, table, ["ward"], categorical_features=["ward"])
    assert found["average"].shape == (1, 2)


def test_partial_dependence_of_integers_rises_with_the_risk(
    table: pd.DataFrame, model: DLNClassifier | DLNRegressor
) -> None:
    # scikit-learn wants floats, because its grid lies between the values.
    found = partial_dependence(model, table.astype({"age": float}), ["age"], grid_resolution=9)
    average = found["average"][0]
    assert average[-1] - average[0] > 0.3
    assert (np.diff(average) >= -0.05).all()


def test_feature_importances_are_shares_of_the_columns_that_rules_read(
    model: DLNClassifier | DLNRegressor,
) -> None:
    shares = model.feature_importances_
    assert shares.shape == (3,)
    assert shares.sum() == pytest.approx(1.0)
    assert set(np.flatnonzero(shares)) == set(model.circuit_.logic.used_columns)


@pytest.mark.parametrize("kind", [DLNClassifier, DLNRegressor])
def test_a_model_that_is_not_fitted_has_no_importances(kind: type) -> None:
    assert not hasattr(kind(), "feature_importances_")
