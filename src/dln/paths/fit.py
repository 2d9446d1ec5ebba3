"""Table + budget -> the path of circuits within it, each size with its validated accuracy.

The search for rules runs on all training rows, and again on the training part of each fold, with
its own tests, so that nothing leaks. The circuits of a fold are scored on its other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dln.core.builder import CircuitBuilder
from dln.core.circuit import Circuit
from dln.core.constraints import Constraints
from dln.core.labels import Label
from dln.core.limits import Limits, make_limits
from dln.core.readout import Votes
from dln.decisions.goal import Goal
from dln.paths.beam import Search
from dln.paths.budget import Budget
from dln.paths.fold_votes import FoldRows
from dln.paths.formula import Formula, build, evaluate
from dln.paths.given import StatedRules, best_unit, most_left, votes_of
from dln.paths.loss import ClassLoss, Floats
from dln.paths.path import CircuitPath, PathPoint, best_place
from dln.paths.searches import (
    SEARCH_ROWS,
    Stop,
    increasing,
    longest,
    n_folds,
    n_repeats,
    run_searches,
)
from dln.paths.whole_votes import MOST_POINTS, WholeVotes, round_votes, round_votes_at
from dln.train.candidates import CandidateTests, find_tests
from dln.train.folds import make_folds
from dln.train.given import Given
from dln.train.jobs import OnInterrupt
from dln.train.problem import Problem

_ACCURACY = Goal()
"""The default: the most accurate decision, and calibrated probabilities."""

_NO_RULES = StatedRules()


@dataclass(frozen=True)
class FittedPath:
    """A path, whether Ctrl-C ended the search early, and sensitivities that were not reached."""

    path: CircuitPath
    interrupted: bool
    missed: tuple[tuple[int, float, float], ...] = ()


def fit_path(
    problem: Problem,
    budget: Budget,
    goal: Goal = _ACCURACY,
    constraints: Constraints | None = None,
    *,
    stated: StatedRules = _NO_RULES,
    rng: np.random.Generator,
    measure: str = "balanced accuracy",
    n_threads: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> FittedPath:
    """Search for the best circuits of every size within a budget, and validate each size.

    `stated` rules are part of every circuit and count in the budget; the others are learned around
    them. Probabilities, and base votes if `goal` states a decision, are fitted on the votes of the
    folds. The result depends on the seed alone, not on the number of threads.

    `on_progress` takes the number of searches that are complete and their total. With
    on_interrupt="keep", Ctrl-C ends the searches, and the path has what was found so far.
    """
    names = problem.table.column_names()
    budget.check_columns(names)
    limits = None
    if constraints is not None:
        limits = make_limits(constraints, names, problem.classes)
    stated.check_budget(budget)
    problem = problem.kept()
    seed = int(rng.integers(2**31))
    n_rows, n_classes = len(problem.target), len(problem.classes)
    repeats = n_repeats(n_rows, 1 if n_classes == 2 else n_classes)
    folds = [
        fold
        for number in range(repeats)
        for fold in make_folds(problem.target, n_folds(n_rows), seed + number, problem.groups)
    ]
    parts = [(problem, None), *((problem.take(train), problem.take(rest)) for train, rest in folds)]

    def search(part: tuple[Problem, Problem | None], stop: Stop) -> _Found:
        given = stated.with_votes(part[0], budget)
        return _search(*part, budget, limits, given, seed, stop)

    searched = run_searches(search, parts, n_threads, on_progress, on_interrupt)
    complete, *validated = searched.found
    left_out = FoldRows(problem, [rest for _, rest in folds], repeats)
    points, missed = [], []
    for size in complete.sizes:
        scores = np.array([part.score_at(size) for part in validated])
        # Repeated folds have the same rows, so they do not make the standard error smaller.
        error = scores.std() / np.sqrt(len(scores) / repeats) if len(scores) else np.nan
        mean = scores.mean() if len(scores) else np.nan
        mean = min(mean, 1.0)  # rounding of a mean of ones
        calibrated = left_out.calibrate(
            replace(complete.circuit(size, problem.classes), constraints=constraints),
            [part.votes_at(size) for part in validated],
            complete.rules[size][1].unit,
            goal,
        )
        points.append(PathPoint(calibrated.circuit, float(mean), float(error)))
        missed.append((points[-1].circuit, calibrated.missed))
    points = increasing(points)
    for point in points:
        assert budget.allows(point.size), (budget, point.size)
    path = CircuitPath(tuple(points), best_place(tuple(points)), measure)
    (missed_here,) = (own for circuit, own in missed if circuit is path.circuit)
    return FittedPath(path, searched.interrupted, missed_here)


# -- one search -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    """The rules and whole votes of each number of literals, and their validated accuracy.

    `votes` are those of the validation rows (n_rows, n_classes), times what a vote is worth. The
    `given` rules are part of every size.
    """

    tests: CandidateTests
    rules: dict[int, tuple[tuple[Formula, ...], WholeVotes]]
    scores: dict[int, float]
    votes: dict[int, Floats]
    given: Given | None

    @property
    def sizes(self) -> list[int]:
        return sorted(self.rules)

    def score_at(self, size: int) -> float:
        """Return the score of the largest circuit that is not larger."""
        return self.scores[max(own for own in self.scores if own <= size)]

    def votes_at(self, size: int) -> Floats:
        """Return the votes of the largest circuit that is not larger, on the validation rows."""
        return self.votes[max(own for own in self.votes if own <= size)]

    def circuit(self, size: int, classes: tuple[Label, ...]) -> Circuit:
        rules, whole = self.rules[size]
        builder = CircuitBuilder(
            self.tests.columns, Votes.without_rules(classes, 1.0 / max(whole.unit, 1e-6))
        )
        base, *votes = _class_votes(whole.votes, len(classes))
        for formula, own in zip(rules, votes, strict=True):
            if any(own):
                builder.vote(build(formula, self.tests, builder), own)
        circuit = builder.finish()
        readout = circuit.readout.with_rules(circuit.rules, base)
        learned = Circuit(logic=circuit.logic, readout=readout)
        return learned if self.given is None else self.given.join(learned)


def _search(
    problem: Problem,
    validation: Problem | None,
    budget: Budget,
    limits: Limits | None,
    given: Given | None,
    seed: int,
    stop: Stop,
) -> _Found:
    sample = _sample(problem, seed)
    tests = find_tests(sample, 0 if limits is None else limits.unused)
    bits = tests.evaluate(sample.table)
    n_classes = len(problem.classes)
    weight = sample.weight.astype(np.float64)
    loss = ClassLoss(sample.target, weight / weight.sum(), n_classes)
    unit = None
    if given is not None:
        scores = votes_of(given, sample.table, loss.n_outputs)
        unit = best_unit(loss, scores)
        loss = replace(loss, start=unit * scores)
    states = {}
    if n_classes > 1:
        states = Search(
            tests,
            bits,
            loss,
            budget,
            limits,
            longest=longest(budget),
            most_literals=most_left(budget, given),
            seed=seed,
            stop=stop,
            given=given,
        ).run()
    rules = {
        size: (
            state.rules,
            round_votes(loss, state.fires, state.votes, state.bounds)
            if unit is None
            else round_votes_at(loss, state.fires, state.votes, unit, state.bounds),
        )
        for size, state in states.items()
    }
    if not rules:
        rules = {0: ((), WholeVotes(np.zeros((1, loss.n_outputs)), 1.0, 0.0))}
    if validation is None:
        return _Found(tests, rules, {}, {}, given)
    return _Found(tests, rules, *_validate(tests, rules, validation, given), given)


def _validate(
    tests: CandidateTests,
    rules: dict[int, tuple[tuple[Formula, ...], WholeVotes]],
    validation: Problem,
    given: Given | None,
) -> tuple[dict[int, float], dict[int, Floats]]:
    """Return the weighted accuracy and the votes of each size on validation rows."""
    bits = tests.evaluate(validation.table)
    weight = validation.weight.astype(np.float64)
    scores, worth = {}, {}
    others = 0 if given is None else given.circuit.votes(validation.table)
    for size, (formulas, whole) in rules.items():
        always = np.ones(len(bits), dtype=np.float32)
        fires = [always, *(evaluate(formula, bits) for formula in formulas)]
        votes = np.array(_class_votes(whole.votes, len(validation.classes)))
        counted = np.stack(fires, axis=1) @ votes + others
        winners = counted.argmax(axis=1)
        worth[size] = counted * whole.unit
        scores[size] = float(weight[winners == validation.target].sum() / weight.sum())
    return scores, worth


def _class_votes(whole: NDArray[np.float64], n_classes: int) -> list[tuple[int, ...]]:
    """Return votes for each class, base votes first.

    With two classes, a rule votes for one of them. With more, votes against a class become votes
    for the others, unless that takes more than one additional vote.
    """
    numbers = whole.astype(np.int64)
    if n_classes == 2:
        lead = numbers[:, 0]
        numbers = np.stack([np.maximum(-lead, 0), np.maximum(lead, 0)], axis=1)
    shifted = numbers - numbers.min(axis=1, keepdims=True)
    more = np.count_nonzero(shifted, axis=1) - np.count_nonzero(numbers, axis=1)
    fits = (more <= 1) & (shifted.max(axis=1) <= MOST_POINTS)
    fits[0] = True  # base votes
    numbers = np.where(fits[:, None], shifted, numbers)
    return [tuple(row) for row in numbers.tolist()]


def _sample(problem: Problem, seed: int) -> Problem:
    """Take some rows of a large table, the same share of each class or all rows of a rare one."""
    n_rows = len(problem.target)
    if n_rows <= SEARCH_ROWS:
        return problem
    rng = np.random.default_rng(seed)
    counts = np.bincount(problem.target, minlength=len(problem.classes))
    fair = SEARCH_ROWS // (2 * max(1, int(np.count_nonzero(counts))))
    rows, factors = [], []
    for number in np.flatnonzero(counts):
        own = np.flatnonzero(problem.target == number)
        n_wanted: int = min(len(own), max(fair, SEARCH_ROWS * len(own) // n_rows))
        rows.append(rng.choice(own, n_wanted, replace=False))
        factors.append(np.full(n_wanted, len(own) / n_wanted))
    chosen = np.concatenate(rows)
    order = np.argsort(chosen)
    part = problem.take(chosen[order])
    weight = (part.weight * np.concatenate(factors)[order]).astype(np.float32)
    return replace(part, weight=weight)
