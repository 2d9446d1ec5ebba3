"""An estimator's parameters -> the plan of its fit, for the estimator and for searches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dln._util.option import options_of
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints, read_constraints
from dln.core.labels import Label
from dln.core.limits import bits_of, make_limits
from dln.core.literals import Column
from dln.decisions.goal import Goal, read_goal
from dln.errors import OptionError
from dln.estimators.given import check_rules, read_given, read_given_numbers
from dln.estimators.parameters import CONSTRAINTS, NumberParameters, Parameters, read_levels
from dln.estimators.presets import apply_preset, suit_classes
from dln.paths.budget import Budget
from dln.paths.given import StatedRules
from dln.shrink.simplify.simplify import choose_effort
from dln.train.fit import FitPlan
from dln.train.given import GivenVotes, suit_unit
from dln.train.number_fit import NumberPlan
from dln.train.number_loss import NumberLoss
from dln.train.number_recipe import make_growths, make_recipe, may_leave_out_networks
from dln.train.options import FitOptions
from dln.train.problem import NumberProblem, Problem
from dln.train.recipe import Recipe, growth_from_circuit, make_candidates
from dln.train.soft_votes import SOFT_UNIT, learn_soft_votes

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
        candidates = replace(
            candidates, growth=growth_from_circuit(parameters, len(problem.target))
        )
    constraints = constraints_of(parameters, problem)
    if constraints is not None:
        candidates = candidates.within(
            make_limits(constraints, problem.table.column_names(), problem.classes)
        )
    given = _given_rules(parameters, problem, candidates.usual, constraints)
    if given is not None:
        candidates = suit_unit(candidates, given.worth)
    return FitPlan(
        candidates,
        parameters.validation_fraction,
        parameters.validation_every,
        goal_of(parameters, problem.classes),
        constraints,
        parameters.init,
        given,
    )


def stated_rules(
    parameters: Parameters, problem: Problem, constraints: Constraints | None
) -> StatedRules:
    """Read locked and soft rules of classes."""
    locked = read_given(parameters.rules, problem, constraints=constraints)
    columns = None if locked is None else locked.columns
    soft = read_given(parameters.soft_rules, problem, "soft_rules", columns, constraints)
    return StatedRules(locked, soft)


def stated_numbers(
    parameters: NumberParameters,
    loss: NumberLoss,
    problem: NumberProblem,
    constraints: Constraints | None,
) -> StatedRules:
    """Read locked and soft rules of a number."""
    link = loss.link
    locked = read_given_numbers(parameters.rules, problem, link, constraints=constraints)
    columns = None if locked is None else locked.columns
    soft = read_given_numbers(
        parameters.soft_rules, problem, link, "soft_rules", columns, constraints
    )
    return StatedRules(locked, soft)


def _given_rules(
    parameters: Parameters, problem: Problem, usual: Recipe, constraints: Constraints | None
) -> GivenVotes | None:
    """Return locked rules and learned soft rules, and what one vote is worth."""
    stated = stated_rules(parameters, problem, constraints)
    locked, soft = stated.locked, stated.soft
    if locked is None and soft is None:
        return None
    given = None if locked is None else GivenVotes(locked, unit=_unit_of(parameters.rules))
    unit = SOFT_UNIT
    if parameters.tau != "auto":  # one vote of a network is worth as much as a given one
        unit = 1.0 / (usual.options.tau * usual.n_networks)
    elif given is not None:
        unit = given.unit or given.best_unit(problem)
    if given is not None:
        given = replace(given, unit=unit)
        problem = replace(problem, given=given.points(problem.table))
    if soft is None:
        return given
    learned = learn_soft_votes(soft, problem, unit)
    if given is None:
        return GivenVotes(learned, 0, unit) if learned.rules else None
    return given.with_soft(learned)


def _unit_of(rules: str | Circuit) -> float | None:
    """Return what one vote of given rules is worth, if a trained circuit tells it."""
    if isinstance(rules, str) or rules.temperature == 1.0:
        return None
    return 1.0 / rules.temperature


_LEAST_GATES = 6
"""The first functions that include AND and OR, which rise with their inputs."""


def constraints_of(parameters: Parameters, problem: Problem | NumberProblem) -> Constraints | None:
    """Return what the circuit has to satisfy; None if nothing is asked for, now or by `init`.

    Raises `OptionError` for constraints that do not fit the table, or that no
    circuit can satisfy.
    """
    given = {name: getattr(parameters, name) for name in CONSTRAINTS}
    constraints: Constraints | None = read_constraints(problem.outputs, **given)
    if not constraints:  # an earlier circuit satisfies its own
        constraints = None if parameters.init is None else parameters.init.constraints
    if not constraints:
        return None
    names = problem.table.column_names()
    directed = {own.column for own in constraints.monotone}
    columns = [
        Column(name, problem.table.read(number).kind if name in directed else "number")
        for number, name in enumerate(names)
    ]
    constraints.check(columns, problem.outputs)
    if make_limits(constraints, names, problem.outputs).unused == bits_of(range(len(names))):
        raise OptionError(
            "the constraints leave no column that a rule may read; leave out some of them"
        )
    if directed and parameters.n_gates < _LEAST_GATES:
        raise OptionError(
            f"n_gates is {parameters.n_gates}, but monotone needs AND and OR: at least "
            f"{_LEAST_GATES}"
        )
    return constraints


def plan_number_fit(
    parameters: NumberParameters, loss: NumberLoss, problem: NumberProblem
) -> NumberPlan:
    """Plan what to train and what to grow for a target of numbers."""
    recipe = make_recipe(parameters, len(problem.target), problem.table.n_columns)
    constraints = constraints_of(parameters, problem)
    if constraints is not None:
        names = problem.table.column_names()
        recipe = recipe.within(make_limits(constraints, names, problem.outputs))
    alone = may_leave_out_networks(parameters)
    growths = make_growths(parameters)
    stated = stated_numbers(parameters, loss, problem, constraints)
    given = stated.with_amounts(problem, loss, Budget())
    return NumberPlan(loss, recipe, growths, alone, constraints, parameters.init, given)


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
    """Raise `OptionError` for limits that cannot be met, and for parameters of networks beside."""
    budget = budget_of(parameters)
    if budget.is_limited:
        why = f"a fit with a budget ({budget.describe()})"
        _refuse_networks(parameters, _WITH_A_BUDGET, why)
        if parameters.init is not None:
            raise OptionError(f"init is given, but {why} starts anew; leave out one of the two")
    elif parameters.rules is not None or parameters.soft_rules is not None:
        if parameters.init is not None:
            raise OptionError(
                "init is given, but a fit with given rules starts anew; leave out one of the two, "
                "or add the rules to init with dln.edit"
            )
        if parameters.ensemble == "boosting":
            raise OptionError(
                'ensemble is "boosting", whose networks have different votes, but a fit with given '
                'rules needs votes of one worth; use "sum" or "bagging"'
            )


def _refuse_networks(parameters: Parameters, allowed: tuple[str, ...], why: str) -> None:
    """Raise `OptionError` for parameters of networks beside what trains none."""
    for name in ("preset", *options_of(FitOptions), "validation_fraction"):
        given = getattr(parameters, name)
        if name not in allowed and given != options_of(Parameters)[name].default:
            raise OptionError(
                f"{name} is {given!r}, but {why} trains no network; leave out one of the two"
            )


def read_parameters(model: DLNClassifier) -> Parameters:
    """Read a classifier's parameters, completed by its preset.

    Raises `OptionError` for a parameter out of its range.
    """
    given = {name: getattr(model, name) for name in options_of(Parameters)}
    options_of(Parameters)["preset"].read(given["preset"])
    parameters = _checked(Parameters(**apply_preset(given["preset"], given, Parameters)))
    if parameters.engine == "torch" and parameters.selection_fits == "auto":
        # PyTorch trains networks one by one, which is too slow to compare hundreds of them.
        parameters = replace(parameters, selection_fits=0)
    return parameters


def read_number_parameters(model: DLNRegressor) -> NumberParameters:
    """Read a regressor's parameters; raises `OptionError` for one out of its range."""
    given = {name: getattr(model, name) for name in options_of(NumberParameters)}
    given["quantile"] = read_levels(given["quantile"])
    return _checked(NumberParameters(**given))


def _checked(parameters: T) -> T:
    if parameters.simplify is not None:
        choose_effort(parameters.simplify)  # raises an error if a package is missing
    check_rules(parameters.rules)
    check_rules(parameters.soft_rules, "soft_rules")
    _check_budget(parameters)
    if parameters.init is not None:
        _refuse_networks(parameters, _WITH_INIT, "a fit with init")
    return parameters
