"""Options of the command line -> the estimator for classes or for a number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import dln
from dln._util.option import options_of
from dln.core.circuit import Circuit, Task
from dln.core.score import Score
from dln.errors import OptionError
from dln.estimators.parameters import NumberParameters

AnyModel = dln.DLNClassifier | dln.DLNRegressor
AnySearch: TypeAlias = "dln.DLNSearchCV | dln.DLNRegressorSearchCV"


def make_model(task: Task, given: dict[str, Any], of_number: dict[str, Any]) -> AnyModel:
    """Make an estimator.

    Parameters
    ----------
    task
        What it predicts.
    given
        Parameters by name. Those of classifiers alone must be at their default for a number.
    of_number
        Parameters of regressors alone, which must be at their default for classes.
    """
    regressor = dln.DLNRegressor()
    if task == "classes":
        _check_defaults(of_number, regressor.get_params(), "a number", "classes are predicted")
        return dln.DLNClassifier(**given)
    known = options_of(NumberParameters)
    others = {name: value for name, value in given.items() if name not in known}
    _check_defaults(others, dln.DLNClassifier().get_params(), "classes", "a number is predicted")
    shared = {name: value for name, value in given.items() if name in known}
    return dln.DLNRegressor(**shared, **of_number)


def make_search(task: Task, given: dict[str, Any], of_number: dict[str, Any]) -> AnySearch:
    """Make a search; the parameters are those of `make_model`."""
    numbers = dln.DLNRegressorSearchCV().get_params()
    if task == "classes":
        _check_defaults(of_number, numbers, "a number", "classes are predicted")
        return dln.DLNSearchCV(**given)
    others = {name: value for name, value in given.items() if name not in numbers}
    _check_defaults(others, dln.DLNSearchCV().get_params(), "classes", "a number is predicted")
    shared = {name: value for name, value in given.items() if name in numbers}
    return dln.DLNRegressorSearchCV(**shared, **of_number)


def _check_defaults(
    given: dict[str, Any], defaults: dict[str, Any], used_for: str, found: str
) -> None:
    for name, value in given.items():
        if value != defaults[name]:
            raise OptionError(f"{name} is for {used_for}, but {found}; leave it out, or set --task")


def name_target(circuit: Circuit, target: str) -> Circuit:
    """Name the number that a circuit predicts after its column."""
    if isinstance(circuit.readout, Score):
        return replace(circuit, readout=replace(circuit.readout, name=target))
    return circuit
