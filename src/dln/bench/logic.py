"""The DLN in three columns, through `DLNSearchCV`.

`paper` is the paper's search and fit, `best` and `small` the two choices of one search of ours: the
highest score, and the smallest circuit within one standard error of it. The small one is pruned
without losing accuracy on the training rows, which was chosen on validation rows.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from dln.bench.outcome import Budget, Outcome, percent
from dln.bench.protocol import Task
from dln.cost.circuit import cost
from dln.prune.prune import prune_within
from dln.search.estimator import DLNSearchCV
from dln.search.presets import SpaceName
from dln.search.trial import CHOICES, Choice
from dln.simplify.simplify import simplify
from dln.table import read_table

_MOST_PRUNED = 40_000_000
"""Gates times rows times classes up to which pruning takes a minute or so."""


def paper(task: Task, budget: Budget) -> Outcome:
    """Search as the paper does, and keep the best epoch of a fit on four fifths of the rows."""
    return _outcome(task, _search(task, budget, "paper"), "best")


def best(task: Task, budget: Budget) -> Outcome:
    """Search our own space, and fit the best on all training rows; `small` comes with it."""
    search = _search(task, budget, "default")
    small_outcome = _outcome(task, search, "small")
    return replace(_outcome(task, search, "best"), siblings={"dln-small": small_outcome})


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


def _outcome(task: Task, search: DLNSearchCV, choice: Choice) -> Outcome:
    """Fit a trial, simplify its circuit and test it."""
    train, test = task.rows
    X, y = task.dataset.X, task.dataset.y
    trial = CHOICES[choice](search.trials_)
    start = perf_counter()
    model = search.fit_trial(trial.number, X.iloc[train], y.iloc[train])
    fitted = perf_counter()
    circuit = simplify(model.circuit_)
    note = ""
    if choice == "small" and circuit.literals:
        if circuit.n_gates * len(train) * circuit.n_classes > _MOST_PRUNED:
            note = "not pruned: gates times rows times classes are too many"
        else:
            pruned = prune_within(circuit, X.iloc[train], y.iloc[train], tolerance=0.0)
            circuit = simplify(pruned)
    seconds = {
        "search": search.search_time_,
        "fit": fitted - start,
        "simplify": perf_counter() - fitted,
    }
    winners = circuit.winners(read_table(X.iloc[test]))
    return Outcome(
        accuracy=percent(task.arrays.test_target, winners),
        validation=100.0 * trial.score,
        params=trial.params,
        cost=cost(circuit),
        seconds=seconds,
        note=note,
    )
