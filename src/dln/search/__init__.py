"""Hyperparameter search: table -> parameters. Optuna proposes trials, populations train them."""

from dln.search.estimator import DLNSearchCV
from dln.search.importance import find_importance
from dln.search.number_estimator import DLNRegressorSearchCV
from dln.search.run import SearchState
from dln.search.space import Between
from dln.search.trial import Trial

__all__ = [
    "Between",
    "DLNRegressorSearchCV",
    "DLNSearchCV",
    "SearchState",
    "Trial",
    "find_importance",
]
