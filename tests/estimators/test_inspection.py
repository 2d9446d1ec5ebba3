"""Tools of scikit-learn that look into a model work, also with integers and text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence, permutation_importance

from dln import DLNClassifier

SMALL: dict[str, Any] = {
    "layers": (8, 4),
    "n_networks": 1,
    "n_trees": 0,
    "tau": 2.0,
    "epochs": 20,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": draw.integers(20, 80, 200),
            "dose": draw.random(200).round(2),
            "ward": draw.choice(["north", "south"], 200),
        }
    )
    return X, np.where(X["age"] > 50, "ill", "healthy")


@pytest.fixture(scope="module")
def model(table: tuple[pd.DataFrame, np.ndarray]) -> DLNClassifier:
    return DLNClassifier(**SMALL).fit(*table)


def test_permutation_importance_names_the_column_that_matters(
    table: tuple[pd.DataFrame, np.ndarray], model: DLNClassifier
) -> None:
    found = permutation_importance(model, *table, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() == 0
    assert found.importances_mean[0] > 0.3


def test_partial_dependence_of_numbers_and_categories(
    table: tuple[pd.DataFrame, np.ndarray], model: DLNClassifier
) -> None:
    X, _ = table
    found = partial_dependence(model, X, ["dose"], grid_resolution=5)
    assert found["average"].shape == (1, 5)
    found = partial_dependence(model, X, ["ward"], categorical_features=["ward"])
    assert found["average"].shape == (1, 2)


def test_partial_dependence_of_integers_rises_with_the_risk(
    table: tuple[pd.DataFrame, np.ndarray], model: DLNClassifier
) -> None:
    X, _ = table
    # scikit-learn wants floats, because its grid lies between the values.
    found = partial_dependence(model, X.astype({"age": float}), ["age"], grid_resolution=9)
    average = found["average"][0]
    assert average[-1] - average[0] > 0.3
    assert (np.diff(average) >= -0.05).all()


def test_feature_importances_are_shares_of_the_columns_that_rules_read(
    model: DLNClassifier,
) -> None:
    shares = model.feature_importances_
    assert shares.shape == (3,)
    assert shares.sum() == pytest.approx(1.0)
    assert set(np.flatnonzero(shares)) == set(model.circuit_.logic.used_columns)


def test_a_model_that_is_not_fitted_has_no_importances() -> None:
    assert not hasattr(DLNClassifier(), "feature_importances_")
