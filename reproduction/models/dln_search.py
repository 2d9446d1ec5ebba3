"""The DLN columns, all through `DLNSearchCV`.

`paper` and `program` are the paper's search and fit, with the text of the paper and with what the
authors' program does. `best` and `small` are two choices from our own search: the
trial with the highest score, and the smallest circuit within one standard error of it. `small` is
then pruned as far as the accuracy on the training rows does not drop; this rule was chosen on
validation rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any
from typing import Literal as OneOf

from dln import Circuit, DLNSearchCV, cost, prune, simplify
from reproduction.models.outcome import Budget, Outcome, percent
from reproduction.protocol import Task

SpaceName = OneOf["default", "paper", "program"]

_MOST_PRUNED = 40_000_000
"""Limit for gates x rows x classes; up to here, pruning takes about a minute."""


def paper(task: Task, budget: Budget) -> Outcome:
    """Search as the paper does; fit on 80 % of the rows and keep the best epoch."""
    search = _search(task, budget, "paper")
    return _test(task, _fit(task, search, search.best_index_))


def program(task: Task, budget: Budget) -> Outcome:
    """Search and fit as the authors' program does."""
    search = _search(task, budget, "program")
    return _test(task, _fit(task, search, search.best_index_))


def best(task: Task, budget: Budget) -> Outcome:
    """Search our own space and fit the best trial on all training rows; also return `small`."""
    search = _search(task, budget, "default")
    chosen, smallest = search.best_index_, search.small_index_
    fit = _fit(task, search, chosen)
    small_fit = fit if smallest == chosen else _fit(task, search, smallest)
    return replace(_test(task, fit), siblings={"dln-small": _test(task, _prune(task, small_fit))})


def small(task: Task, budget: Budget) -> Outcome:
    """Take the smallest circuit within one standard error of the best; also return `best`."""
    found = best(task, budget)
    return replace(found.siblings["dln-small"], siblings={"dln": replace(found, siblings={})})


def _search(task: Task, budget: Budget, space: SpaceName) -> DLNSearchCV:
    return DLNSearchCV(
        space=space,
        n_trials=budget.trials,
        refit=False,
        simplify="quick",
        engine=budget.engine,
        random_state=task.seed,
        n_jobs=budget.threads,
    ).fit(*task.train)


@dataclass(frozen=True)
class _Fit:
    """A trial and its simplified circuit, the seconds of each step, and a note for the tables."""

    score: float
    params: Mapping[str, Any]
    circuit: Circuit
    seconds: Mapping[str, float]
    note: str = ""


def _fit(task: Task, search: DLNSearchCV, number: int) -> _Fit:
    trial = search.trials_[number]
    start = perf_counter()
    model = search.fit_trial(number, *task.train)
    fitted = perf_counter()
    circuit = simplify(model.circuit_, "normal", prove=True)
    seconds = {
        "search": search.search_time_,
        "fit": fitted - start,
        "simplify": perf_counter() - fitted,
    }
    return _Fit(trial.score, trial.params, circuit, seconds)


def _prune(task: Task, fit: _Fit) -> _Fit:
    """Prune a circuit without losing training accuracy, unless it is too large for that."""
    circuit = fit.circuit
    if not circuit.literals:
        return fit
    if circuit.n_gates * len(task.rows[0]) * circuit.n_classes > _MOST_PRUNED:
        return replace(fit, note="not pruned: too many gates x rows x classes")
    start = perf_counter()
    smaller = prune(circuit, *task.train, tolerance=0.0).circuit
    pruned = simplify(smaller, "normal", prove=True)
    taken = fit.seconds["simplify"] + perf_counter() - start
    return replace(fit, circuit=pruned, seconds={**fit.seconds, "simplify": taken})


def _test(task: Task, fit: _Fit) -> Outcome:
    return Outcome(
        accuracy=percent(task.arrays.test_target, fit.circuit.winners(task.test_table)),
        validation=100.0 * fit.score,
        params=fit.params,
        cost=cost(fit.circuit),
        seconds=fit.seconds,
        note=fit.note,
    )
