"""Table of numbers + budget -> the path of circuits within it, each size with its validated R².

The search is that of classes, with another loss. Coefficients are rounded to few decimals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dln.core.builder import TRUE, CircuitBuilder
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.limits import Limits, make_limits
from dln.core.score import Score
from dln.paths.beam import Search, State
from dln.paths.budget import Budget
from dln.paths.fit import FittedPath
from dln.paths.formula import build, evaluate
from dln.paths.given import StatedRules, most_left
from dln.paths.loss import Floats
from dln.paths.number_loss import NumberPathLoss
from dln.paths.path import CircuitPath, PathPoint, best_place
from dln.paths.searches import (
    SEARCH_ROWS,
    Stop,
    increasing,
    longest,
    n_folds,
    run_searches,
)
from dln.train.balance import balance
from dln.train.candidates import CandidateTests, find_tests
from dln.train.folds import draw_number_folds
from dln.train.given import Given
from dln.train.jobs import OnInterrupt
from dln.train.number_loss import NumberLoss
from dln.train.points import Points, round_coefficients
from dln.train.problem import NumberProblem
from dln.train.standard import Standard

TOLERANCE = 0.02
"""Rounding changes predictions of training rows by at most this (root mean square).

In units of the standard deviation of the target; with a log link, relative to the prediction. It is
larger than for a fit without limits: short decimals are easier to read.
"""

_NO_RULES = StatedRules()


def fit_number_path(
    problem: NumberProblem,
    budget: Budget,
    loss: NumberLoss,
    constraints: Constraints | None = None,
    *,
    stated: StatedRules = _NO_RULES,
    rng: np.random.Generator,
    n_threads: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> FittedPath:
    """Search for the best circuits of every size within a budget, and validate each size.

    The arguments are those of `dln.paths.fit.fit_path`.
    """
    names = problem.table.column_names()
    budget.check_columns(names)
    limits = None
    if constraints is not None:
        limits = make_limits(constraints, names, problem.outputs)
    stated.check_budget(budget)
    problem = problem.kept()
    seed = int(rng.integers(2**31))
    folds = draw_number_folds(
        problem.target, n_folds(len(problem.target)), np.random.default_rng(seed), problem.groups
    )
    parts: list[tuple[NumberProblem, NumberProblem | None]] = [(problem, None)]
    for number in range(int(folds.max(initial=-1)) + 1):
        train, rest = np.flatnonzero(folds != number), np.flatnonzero(folds == number)
        if np.ptp(problem.target[train]) > 0:
            parts.append((problem.take(train), problem.take(rest)))

    def search(part: tuple[NumberProblem, NumberProblem | None], stop: Stop) -> _Found:
        given = stated.with_amounts(part[0], loss, budget)
        return _search(*part, budget, loss, limits, given, seed, stop)

    searched = run_searches(search, parts, n_threads, on_progress, on_interrupt)
    complete, *validated = searched.found
    points = []
    for size in sorted(complete.states):
        scores = np.array([part.score_at(size) for part in validated])
        mean = float(scores.mean()) if len(scores) else np.nan
        error = float(scores.std() / np.sqrt(len(scores))) if len(scores) else np.nan
        circuit = balance(complete.circuit(size, loss, problem.name), problem, loss)
        points.append(PathPoint(replace(circuit, constraints=constraints), mean, error))
    points = increasing(points)
    for point in points:
        assert budget.allows(point.size), (budget, point.size)
    path = CircuitPath(tuple(points), best_place(tuple(points)), loss.measure)
    return FittedPath(path, searched.interrupted)


@dataclass(frozen=True, eq=False)
class _Found:
    """The rules of each number of literals with rounded coefficients, and their validated score.

    The `given` rules are part of every size.
    """

    tests: CandidateTests
    states: dict[int, tuple[State, Points]]
    scores: dict[int, float]
    given: Given | None

    def score_at(self, size: int) -> float:
        """Return the score of the largest circuit that is not larger."""
        return self.scores[max(own for own in self.scores if own <= size)]

    def circuit(self, size: int, loss: NumberLoss, name: str) -> Circuit:
        """Build the circuit of a size."""
        state, (points, offset, digits) = self.states[size]
        builder = CircuitBuilder(self.tests.columns, Score((), (0,), digits, loss.link, name))
        builder.vote(TRUE, (offset,))
        for formula, own in zip(state.rules, points.tolist(), strict=True):
            if own:
                builder.vote(build(formula, self.tests, builder), (own,))
        learned = builder.finish()
        return learned if self.given is None else self.given.join(learned)


def _search(
    problem: NumberProblem,
    validation: NumberProblem | None,
    budget: Budget,
    loss: NumberLoss,
    limits: Limits | None,
    given: Given | None,
    seed: int,
    stop: Stop,
) -> _Found:
    sample = problem
    if len(problem.target) > SEARCH_ROWS:
        rng = np.random.default_rng(seed)
        sample = problem.take(np.sort(rng.permutation(len(problem.target))[:SEARCH_ROWS]))
    tests = find_tests(sample, 0 if limits is None else limits.unused)
    standard = Standard.of(sample, loss)
    states = Search(
        tests,
        tests.evaluate(sample.table),
        _loss_of(sample, loss, standard, given),
        budget,
        limits,
        longest=longest(budget),
        most_literals=most_left(budget, given),
        seed=seed,
        stop=stop,
        given=given,
    ).run()
    if len(sample.target) < len(problem.target):
        states = _refitted(states, tests, problem, _loss_of(problem, loss, standard, given))
    rounded = {size: (state, _rounded(state, standard)) for size, state in states.items()}
    scores = {} if validation is None else _validate(tests, rounded, validation, loss, given)
    return _Found(tests, rounded, scores, given)


def _loss_of(
    problem: NumberProblem, loss: NumberLoss, standard: Standard, given: Given | None
) -> NumberPathLoss:
    weight = problem.weight.astype(np.float64)
    start = 0.0 if given is None else given.scores(problem.table) / standard.unit
    return NumberPathLoss(loss, standard.targets(problem.target), weight / weight.sum(), start)


def _refitted(
    states: dict[int, State],
    tests: CandidateTests,
    problem: NumberProblem,
    own: NumberPathLoss,
) -> dict[int, State]:
    """Fit the coefficients again on all rows, of which the search used some."""
    bits = tests.evaluate(problem.table)
    found = {}
    for size, state in states.items():
        fires = _fires(state, bits)
        votes = own.fit(fires, state.votes, 6, state.bounds)
        total = own.total(fires @ votes, votes)
        found[size] = replace(state, fires=fires, votes=votes, loss=total)
    return found


def _fires(state: State, bits: NDArray[np.float32]) -> Floats:
    always = np.ones(len(bits))
    return np.stack([always, *(evaluate(formula, bits) for formula in state.rules)], axis=1)


def _rounded(state: State, standard: Standard) -> Points:
    unit = standard.unit
    base, *coefficients = state.votes[:, 0].tolist()
    fires = state.fires[:, 1:]
    return round_coefficients(
        np.array(coefficients) * unit,
        standard.offset(base),
        lambda own: np.asarray(fires @ own),
        TOLERANCE * unit,
    )


def _validate(
    tests: CandidateTests,
    states: dict[int, tuple[State, Points]],
    validation: NumberProblem,
    loss: NumberLoss,
    given: Given | None,
) -> dict[int, float]:
    """Return the share of the loss of a constant that each size removes on validation rows."""
    bits = tests.evaluate(validation.table)
    before = 0.0 if given is None else given.scores(validation.table)
    scores = {}
    for size, (state, (points, offset, digits)) in states.items():
        score = (_fires(state, bits)[:, 1:] @ points + offset) * 10.0**-digits + before
        scores[size] = loss.explained(score, validation.target, validation.weight)
    return scores
