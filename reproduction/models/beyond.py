"""Models that the paper does not have, with the same folds and number of trials.

A random forest without the paper's size limits, gradient boosting (LightGBM), explainable boosting
(interpret) and FIGS (imodels). The paper has no cost formula for the last three. Boosting also
with its default parameters: nothing is searched.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scipy.stats import loguniform, randint
from sklearn.ensemble import RandomForestClassifier

from dln import ExtraMissingError
from reproduction.models.classic import MEMBERS, Default, Searched


def _make(package: str, module: str, name: str, **options: Any) -> Any:
    """Import an optional library and create one of its classifiers."""
    try:
        classifier = getattr(import_module(module), name)
    except ImportError as error:
        raise ExtraMissingError.for_packages(name, package) from error
    return classifier(**options)


free_forest = Searched(
    lambda seed: RandomForestClassifier(class_weight="balanced", random_state=seed),
    {
        "n_estimators": MEMBERS,
        "min_samples_leaf": randint(1, 21),
        "max_features": ["sqrt", 0.3, 0.6],
    },
)


def _lightgbm(seed: int) -> Any:
    return _make(
        "lightgbm",
        "lightgbm",
        "LGBMClassifier",
        class_weight="balanced",
        random_state=seed,
        n_jobs=1,
        verbose=-1,
    )


def _explainable_boosting(seed: int) -> Any:
    return _make(
        "interpret-core",
        "interpret.glassbox",
        "ExplainableBoostingClassifier",
        random_state=seed,
        n_jobs=1,
    )


lightgbm = Searched(
    _lightgbm,
    {
        "n_estimators": MEMBERS,
        "learning_rate": loguniform(0.01, 0.3),
        "num_leaves": randint(2, 64),
        "min_child_samples": randint(2, 50),
        "subsample": [0.7, 1.0],
        "subsample_freq": [1],
        "colsample_bytree": [0.5, 0.8, 1.0],
    },
    counted=False,
)
default_lightgbm = Default(_lightgbm)
explainable_boosting = Searched(
    _explainable_boosting,
    {
        "learning_rate": loguniform(0.005, 0.1),
        "max_leaves": randint(2, 5),
        "interactions": [0, 5, 10],
        "outer_bags": [4],
    },
    counted=False,
    balanced=True,
)
default_explainable_boosting = Default(_explainable_boosting, balanced=True)
figs = Searched(
    lambda seed: _make("imodels", "imodels", "FIGSClassifier", random_state=seed),
    {"max_rules": randint(3, 40), "max_trees": [None, 1, 3, 5]},
    counted=False,
    balanced=True,
)
