"""The DLN in three columns, through `DLNSearchCV`.

`paper` is the paper's search and fit, `best` and `small` the two choices of one search of ours: the
highest score, and the smallest circuit within one standard error of it. The small one is pruned
without losing accuracy on the training rows, which was chosen on validation rows.
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
"""Gates times rows times classes up to which pruning takes a minute or so."""


def paper(task: Task, budget: Budget) -> Outcome:
    """Search as the paper does, and keep the best epoch of a fit on four fifths of the rows."""
    search = _search(task, budget, "paper")
    return _test(task, _fit(task, search, CHOICES["best"](search.trials_)))


def best(task: Task, budget: Budget) -> Outcome:
    """Search our own space, and fit the best on all training rows; `small` comes with it."""
    search = _search(task, budget, "default")
    chosen, smallest = (CHOICES[choice](search.trials_) for choice in ("best", "small"))
    fit = _fit(task, search, chosen)
    small_fit = fit if smallest.number == chosen.number else _fit(task, search, smallest)
    return replace(_test(task, fit), siblings={"dln-small": _test(task, _prune(task, small_fit))})


def small(task: Task, budget: Budget) -> Outcome:
    """Take the smallest within one standard error of the best; `best` comes with it."""
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
    """A trial's circuit, simplified; the seconds of its parts, and what is to be said of it."""

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
    """Prune a circuit without losing accuracy on the training rows, if that takes no hours."""
    train, circuit = task.rows[0], fit.circuit
    if not circuit.literals:
        return fit
    if circuit.n_gates * len(train) * circuit.n_classes > _MOST_PRUNED:
        return replace(fit, note="not pruned: gates times rows times classes are too many")
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
