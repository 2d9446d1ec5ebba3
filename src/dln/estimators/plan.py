"""An estimator's parameters -> the plan of its fit, for the estimator and for searches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dln._util.option import options_of
from dln.core.labels import Label
from dln.decisions.goal import Goal, read_goal
from dln.errors import OptionError
from dln.estimators.parameters import NumberParameters, Parameters, read_levels
from dln.estimators.presets import apply_preset, suit_classes
from dln.paths.budget import Budget
from dln.shrink.simplify.simplify import choose_effort
from dln.train.fit import FitPlan
from dln.train.number_fit import NumberPlan
from dln.train.number_loss import NumberLoss
from dln.train.number_recipe import make_growths, make_recipe
from dln.train.options import FitOptions
from dln.train.problem import NumberProblem, Problem
from dln.train.recipe import growth_from_circuit, make_candidates

if TYPE_CHECKING:
    from dln.estimators.classifier import DLNClassifier
    from dln.estimators.regressor import DLNRegressor

T = TypeVar("T", bound=Parameters)


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
    if parameters.init is not None:
        candidates = replace(candidates, growth=growth_from_circuit(parameters))
    return FitPlan(
        candidates,
        parameters.validation_fraction,
        parameters.validation_every,
        goal_of(parameters, problem.classes),
        parameters.init,
    )


def plan_number_fit(
    parameters: NumberParameters, loss: NumberLoss, problem: NumberProblem
) -> NumberPlan:
    """Plan what to train and what to grow for a target of numbers."""
    recipe = make_recipe(parameters, len(problem.target), problem.table.n_columns)
    is_open = parameters.layers == parameters.n_networks == "auto"
    return NumberPlan(loss, recipe, make_growths(parameters), alone=is_open)


def goal_of(parameters: Parameters, classes: tuple[Label, ...]) -> Goal:
    """Return what to decide, and what probabilities mean."""
    return read_goal(
        classes,
        parameters.probabilities,
        parameters.decision_threshold,
        parameters.costs,
        parameters.sensitivity_at_least,
    )


_WITH_A_BUDGET = ("effort", "gates")
"""Options of training that may be given with a budget, although it trains no network."""

_WITH_INIT = ("effort", "n_trees", "n_cutoffs", "scaling", "screening", "gates")
"""Options of training that may be given with `init`, although it trains no network."""


def budget_of(parameters: Parameters) -> Budget:
    """Return the limits on the circuit."""
    return Budget(
        max_rules=parameters.max_rules,
        max_literals=parameters.max_literals,
        max_literals_per_rule=parameters.max_literals_per_rule,
        max_columns=parameters.max_columns,
        column_costs=parameters.column_costs or {},
        max_cost=parameters.max_cost,
    )


def _check_budget(parameters: Parameters) -> None:
    """Raise `OptionError` for limits that cannot be kept, and for parameters of networks beside."""
    budget = budget_of(parameters)
    if budget.is_limited:
        why = f"a fit with a budget ({budget.describe()})"
        _refuse_networks(parameters, _WITH_A_BUDGET, why, "the budget")
        if parameters.init is not None:
            raise OptionError(f"init is given, but {why} starts anew; leave out one of the two")


def _refuse_networks(
    parameters: Parameters, allowed: tuple[str, ...], why: str, instead: str
) -> None:
    """Raise `OptionError` for parameters of networks beside what trains none."""
    for name in ("preset", *options_of(FitOptions), "validation_fraction"):
        given = getattr(parameters, name)
        if name not in allowed and given != options_of(Parameters)[name].default:
            raise OptionError(
                f"{name} is {given!r}, but {why} trains no network; leave out {name} or {instead}"
            )


def read_parameters(model: DLNClassifier) -> Parameters:
    """Read a classifier's parameters, completed by its preset.

    Raises `OptionError` for a parameter out of its range.
    """
    given = {name: getattr(model, name) for name in options_of(Parameters)}
    options_of(Parameters)["preset"].read(given["preset"])
    return _checked(Parameters(**apply_preset(given["preset"], given, Parameters)))


def read_number_parameters(model: DLNRegressor) -> NumberParameters:
    """Read a regressor's parameters; raises `OptionError` for one out of its range."""
    given = {name: getattr(model, name) for name in options_of(NumberParameters)}
    given["quantile"] = read_levels(given["quantile"])
    return _checked(NumberParameters(**given))


def _checked(parameters: T) -> T:
    if parameters.simplify is not None:
        choose_effort(parameters.simplify)  # raises an error if a package is missing
    _check_budget(parameters)
    if parameters.init is not None:
        _refuse_networks(parameters, _WITH_INIT, "a fit with init", "init")
    if parameters.engine == "torch" and parameters.selection_fits == "auto":
        # PyTorch trains networks one by one, which is too slow to compare hundreds of them.
        parameters = replace(parameters, selection_fits=0)
    return parameters
