"""A classifier's parameters -> the plan of its fit, for the classifier and for searches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dln._util.option import options_of
from dln.decisions.goal import read_goal
from dln.estimators.parameters import Parameters
from dln.estimators.presets import apply_preset, suit_classes
from dln.shrink.simplify.simplify import choose_effort
from dln.train.fit import FitPlan
from dln.train.problem import Problem
from dln.train.recipe import make_candidates

if TYPE_CHECKING:
    from dln.estimators.classifier import DLNClassifier


def plan_fit(model: DLNClassifier, problem: Problem) -> FitPlan:
    """Plan what to compare and what to train on a table."""
    parameters = read_parameters(model)
    if parameters.preset is not None:
        parameters = suit_classes(parameters, len(problem.classes))
    candidates = make_candidates(
        parameters,
        len(problem.target),
        len(problem.classes),
        problem.table.n_columns,
        problem.heaviest_class(),
    )
    goal = read_goal(
        problem.classes,
        parameters.probabilities,
        parameters.decision_threshold,
        parameters.costs,
        parameters.sensitivity_at_least,
    )
    return FitPlan(candidates, parameters.validation_fraction, parameters.validation_every, goal)


def read_parameters(model: DLNClassifier) -> Parameters:
    """Read a classifier's parameters, completed by its preset.

    Raises `OptionError` for a parameter out of its range.
    """
    given = {name: getattr(model, name) for name in options_of(Parameters)}
    options_of(Parameters)["preset"].read(given["preset"])
    parameters = Parameters(**apply_preset(given["preset"], given, Parameters))
    if parameters.simplify is not None:
        choose_effort(parameters.simplify)  # raises an error if a package is missing
    if parameters.engine == "torch" and parameters.selection_fits == "auto":
        # PyTorch trains networks one by one, which is too slow to compare hundreds of them.
        parameters = replace(parameters, selection_fits=0)
    return parameters
