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

AnyModel: TypeAlias = "dln.DLNClassifier | dln.DLNRegressor"
AnySearch: TypeAlias = "dln.DLNSearchCV | dln.DLNRegressorSearchCV"

RENAMED = {
    "column_costs": "column_cost",
    "costs": "cost",
    "forbidden_pairs": "forbidden_pair",
    "n_cutoffs": "cutoffs",
    "n_networks": "networks",
    "sensitivity_at_least": "sensitivity",
    "unused_columns": "unused",
}
"""Options of `dln train` with another name than their parameter."""

IN_FILES = {
    *("ensemble", "selection_fits", "validation_every", "validation_fraction", "validation_score"),
    *("vote_density", "vote_gradient", "vote_threshold"),
}
"""Parameters for one task that only a file of options can set."""


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
        _check_defaults(of_number, regressor.get_params(), "number")
        return dln.DLNClassifier(**given)
    known = options_of(NumberParameters)
    others = {name: value for name, value in given.items() if name not in known}
    _check_defaults(others, dln.DLNClassifier().get_params(), "classes")
    shared = {name: value for name, value in given.items() if name in known}
    return dln.DLNRegressor(**shared, **of_number)


def make_search(task: Task, given: dict[str, Any], of_number: dict[str, Any]) -> AnySearch:
    """Make a search; the parameters are those of `make_model`."""
    numbers = dln.DLNRegressorSearchCV().get_params()
    if task == "classes":
        _check_defaults(of_number, numbers, "number")
        return dln.DLNSearchCV(**given)
    others = {name: value for name, value in given.items() if name not in numbers}
    _check_defaults(others, dln.DLNSearchCV().get_params(), "classes")
    shared = {name: value for name, value in given.items() if name in numbers}
    return dln.DLNRegressorSearchCV(**shared, **of_number)


def _check_defaults(given: dict[str, Any], defaults: dict[str, Any], task: Task) -> None:
    used_for, found = "classes", "a number is predicted"
    if task == "number":
        used_for, found = "a number", "classes are predicted"
    for name, value in given.items():
        if value != defaults[name]:
            raise OptionError(
                f"{name_option(name)} is for {used_for}, but {found}; leave it out, or set "
                f"--task {task}"
            )


def name_option(parameter: str) -> str:
    """Return how users of the command line set a parameter.

    >>> name_option("decision_threshold"), name_option("vote_density")
    ('--decision-threshold', 'vote_density in the file of --options')
    """
    if parameter in IN_FILES:
        return f"{parameter} in the file of --options"
    return "--" + RENAMED.get(parameter, parameter).replace("_", "-")


def name_target(circuit: Circuit, target: str) -> Circuit:
    """Name the number that a circuit predicts after its column."""
    if isinstance(circuit.readout, Score):
        return replace(circuit, readout=replace(circuit.readout, name=target))
    return circuit
