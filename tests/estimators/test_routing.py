"""Metadata routing of scikit-learn: weights and groups reach the fit inside its own tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from dln import DLNClassifier, DLNRegressor

SMALL: dict[str, Any] = {"layers": (4,), "n_networks": 1, "epochs": 20, "n_trees": 0}
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(90, 3))
TARGETS = {DLNClassifier: (X[:, 0] > 0).astype(int), DLNRegressor: X[:, 0] + X[:, 1]}
WEIGHTS = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
GROUPS = np.arange(90) // 3
MODELS = tuple(TARGETS)


@pytest.fixture(autouse=True)
def _routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("model", MODELS)
def test_a_request_must_be_made(model: Any) -> None:
    with pytest.raises(ValueError, match="not explicitly set as requested"):
        cross_validate(
            model(**SMALL),
            X,
            TARGETS[model],
            params={"sample_weight": WEIGHTS},
            error_score="raise",
        )


@pytest.mark.parametrize("model", MODELS)
def test_weights_and_groups_reach_the_fits_of_cross_validation(model: Any) -> None:
    y = TARGETS[model]
    asked = model(**SMALL, random_state=0).set_fit_request(sample_weight=True, groups=True)
    asked.set_score_request(sample_weight=True)
    splits = GroupKFold(3)
    found = cross_validate(
        asked,
        X,
        y,
        cv=splits,
        params={"sample_weight": WEIGHTS, "groups": GROUPS},
        return_estimator=True,
        error_score="raise",
    )
    for fitted, (train, test) in zip(found["estimator"], splits.split(X, y, GROUPS), strict=True):
        plain = model(**SMALL, random_state=0)
        plain.fit(X[train], y[train], sample_weight=WEIGHTS[train], groups=GROUPS[train])
        assert fitted.circuit_ == plain.circuit_
        score = plain.score(X[test], y[test], sample_weight=WEIGHTS[test])
        assert score in found["test_score"]


@pytest.mark.parametrize("model", MODELS)
def test_weights_reach_a_pipeline_inside_a_grid_search(model: Any) -> None:
    y = TARGETS[model]
    asked = model(**SMALL, random_state=0).set_fit_request(sample_weight=True, groups=False)
    # scikit-learn 1.7 does not pass weights to the score of a pipeline, only to a scorer.
    scorer = get_scorer("accuracy" if model is DLNClassifier else "r2")
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    search = GridSearchCV(
        Pipeline([("scale", scaler), ("rules", asked)]),
        {"rules__epochs": [10, 20]},
        scoring=scorer.set_score_request(sample_weight=True),
        cv=GroupKFold(3),
        error_score="raise",
    )
    search.fit(X, y, sample_weight=WEIGHTS, groups=GROUPS)
    plain = model(**SMALL, random_state=0).set_params(
        **{"epochs": search.best_params_["rules__epochs"]}
    )
    plain.fit(StandardScaler().fit_transform(X), y, sample_weight=WEIGHTS)
    assert search.best_estimator_[-1].circuit_ == plain.circuit_


def test_a_predictor_has_no_set_output() -> None:
    assert not hasattr(DLNClassifier(), "set_output")
    assert not hasattr(DLNRegressor(), "set_output")
