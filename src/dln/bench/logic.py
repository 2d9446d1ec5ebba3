"""The three DLN columns, all through `DLNSearchCV`.

`paper` is the paper's search and fit. `best` and `small` are two choices from our own search: the
trial with the highest score, and the smallest circuit within one standard error of it. `small` is
then pruned as far as the accuracy on the training rows does not drop; this rule was chosen on
validation rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from dln.bench.outcome import Budget, Outcome, percent
from dln.bench.protocol import Task
from dln.circuit import Circuit
from dln.cost.circuit import cost
from dln.prune.prune import prune_within
from dln.search.estimator import DLNSearchCV
from dln.search.presets import SpaceName
from dln.search.trial import CHOICES, Trial
from dln.simplify.simplify import simplify
from dln.table import read_table

_MOST_PRUNED = 40_000_000
"""Limit for gates x rows x classes; up to here, pruning takes about a minute."""


def paper(task: Task, budget: Budget) -> Outcome:
    """Search as the paper does; fit on 80 % of the rows and keep the best epoch."""
    search = _search(task, budget, "paper")
    return _test(task, _fit(task, search, CHOICES["best"](search.trials_)))


def best(task: Task, budget: Budget) -> Outcome:
    """Search our own space and fit the best trial on all training rows; also return `small`."""
    search = _search(task, budget, "default")
    chosen, smallest = (CHOICES[choice](search.trials_) for choice in ("best", "small"))
    fit = _fit(task, search, chosen)
    small_fit = fit if smallest.number == chosen.number else _fit(task, search, smallest)
    return replace(_test(task, fit), siblings={"dln-small": _test(task, _prune(task, small_fit))})


def small(task: Task, budget: Budget) -> Outcome:
    """Take the smallest circuit within one standard error of the best; also return `best`."""
    found = best(task, budget)
    return replace(found.siblings["dln-small"], siblings={"dln": replace(found, siblings={})})


def _search(task: Task, budget: Budget, space: SpaceName) -> DLNSearchCV:
    train = task.rows[0]
    return DLNSearchCV(
        space=space,
        n_trials=budget.trials,
        refit=False,
        simplify="quick",
        engine=budget.engine,
        random_state=task.seed,
        n_jobs=budget.threads,
    ).fit(task.dataset.X.iloc[train], task.dataset.y.iloc[train])


@dataclass(frozen=True)
class _Fit:
    """A trial's simplified circuit, the seconds of each step, and a note for the tables."""

    trial: Trial
    circuit: Circuit
    seconds: Mapping[str, float]
    note: str = ""


def _fit(task: Task, search: DLNSearchCV, trial: Trial) -> _Fit:
    train = task.rows[0]
    start = perf_counter()
    model = search.fit_trial(trial.number, task.dataset.X.iloc[train], task.dataset.y.iloc[train])
    fitted = perf_counter()
    circuit = simplify(model.circuit_, "normal", prove=True)
    seconds = {
        "search": search.search_time_,
        "fit": fitted - start,
        "simplify": perf_counter() - fitted,
    }
    return _Fit(trial, circuit, seconds)


def _prune(task: Task, fit: _Fit) -> _Fit:
    """Prune a circuit without losing training accuracy, unless it is too large for that."""
    train, circuit = task.rows[0], fit.circuit
    if not circuit.literals:
        return fit
    if circuit.n_gates * len(train) * circuit.n_classes > _MOST_PRUNED:
        return replace(fit, note="not pruned: too many gates x rows x classes")
    start = perf_counter()
    X, y = task.dataset.X.iloc[train], task.dataset.y.iloc[train]
    pruned = simplify(prune_within(circuit, X, y, tolerance=0.0), "normal", prove=True)
    taken = fit.seconds["simplify"] + perf_counter() - start
    return replace(fit, circuit=pruned, seconds={**fit.seconds, "simplify": taken})


def _test(task: Task, fit: _Fit) -> Outcome:
    winners = fit.circuit.winners(read_table(task.dataset.X.iloc[task.rows[1]]))
    return Outcome(
        accuracy=percent(task.arrays.test_target, winners),
        validation=100.0 * fit.trial.score,
        params=fit.trial.params,
        cost=cost(fit.circuit),
        seconds=fit.seconds,
        note=fit.note,
    )
