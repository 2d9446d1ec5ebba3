"""Decide between more than two classes: base votes, and weights of classes by their leads."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dln.core.calibration import leads_of
from dln.decisions.goal import Goal
from dln.decisions.points import Decision, Floats, Points
from dln.decisions.shares import Shares, fit_shares
from dln.decisions.table import make_table, short_decimal
from dln.decisions.two import MANY_TIES

MAX_FACTOR = 4
"""Votes are multiplied by at most this to rank classes that tie."""

MAX_LINES = 20
"""The most lines of a table."""
_SMALL = 3e-5
"""The table begins where a class so far behind has about this probability."""


def decide_several(
    points: Points,
    goal: Goal,
    shares: Floats,
    most: int,
    *,
    may_multiply: bool = True,
    keep_votes: bool = False,
) -> Decision:
    """Choose base votes, unless votes are kept, and make the table of weights.

    `most` is a bound on the leads of the circuit, before the choice.
    """
    factor, added = 1, np.zeros(len(shares))
    if may_multiply and not keep_votes:
        factor, added = _break_ties(points)
    counts = points.counts(shares)
    # Without a shift of frequencies all classes share one table, and it agrees with the decision.
    shift = np.log(np.maximum(shares, 1e-6)) - np.log(np.maximum(points.masses, 1e-6))
    expected = shift if np.abs(shift - shift.mean()).max() > 1e-3 else None
    missed: tuple[tuple[int, float, float], ...] = ()
    if keep_votes:
        pass
    elif goal.costs is not None:
        plain = fit_shares(_leads(points.votes), points.target, counts, shift)
        costs = plain.probabilities(_leads(points.votes)) @ np.array(goal.costs)
        added = _cheapest(factor * points.votes, added, costs * counts[:, None])
        expected = shift
    elif goal.sensitivity:
        added, missed = _sensitive(factor * points.votes, added, points, goal)
        expected = shift
    leads = _leads(factor * points.votes + added)
    fitted = fit_shares(leads, points.target, counts, expected)
    bound = factor * most + int(added.max() - added.min())
    low = _first_lead(fitted, max(math.floor(leads.min()), -bound))
    high = max(min(math.ceil(leads.max()), bound), 1)
    at_tie = short_decimal(float(fitted(np.zeros(1), 0)[0]))

    def limit(lead: int, value: float) -> float:
        """Keep a winner above a tie, so that the most votes mean the largest probability."""
        if expected is not None:
            return value
        return max(value, min(at_tie + 0.001, (1 + at_tie) / 2)) if lead > 0 else value

    numbers = range(len(shares) if expected is not None else 1)
    table = make_table(
        [partial(fitted, number=number) for number in numbers],
        low,
        high,
        fixed=(0, 1),
        limit=limit,
        # The differences of all classes behind add up, and all have the same sign.
        scale=lambda lead: fitted.pair(lead) / (len(shares) - 1),
        max_lines=MAX_LINES,
    )
    return Decision(factor, tuple(int(vote) for vote in added), table, missed)


def _first_lead(fitted: Shares, least: int) -> int:
    """Return the first lead of the table."""
    leads = np.arange(min(least, -1), 0, dtype=np.float64)
    likely = fitted(leads, int(np.argmax(fitted.log_scales))) / fitted.pair(leads) >= _SMALL
    return int(leads[np.argmax(likely)]) if likely.any() else -1


def _leads(votes: Floats) -> Floats:
    found: Floats = leads_of(votes)  # type: ignore[arg-type, assignment]
    return found


def _break_ties(points: Points) -> tuple[int, Floats]:
    """Return a factor of all votes, and fewer votes than that for each class, which rank ties.

    A class gets more if it is more often right among the rows in which it ties.
    """
    votes, weight = points.votes, points.weight
    n_classes = votes.shape[1]
    ordered = np.sort(votes, axis=1)
    tied = ordered[:, -1] - ordered[:, -2] < 0.5
    nothing = np.zeros(n_classes)
    if points.rows[tied].sum() < MANY_TIES * points.rows.sum():
        return 1, nothing
    at_top = tied[:, None] & (ordered[:, -1:] - votes < 0.5)
    own = at_top & (points.target[:, None] == np.arange(n_classes))
    mass = (at_top * weight[:, None]).sum(axis=0)
    right = (own * weight[:, None]).sum(axis=0)
    strength = (right + 1e-9) / (mass + 2e-9)
    factor = min(n_classes, MAX_FACTOR)
    # The first of equally strong classes wins, as before.
    order = np.argsort(-strength, kind="stable")
    added = nothing.copy()
    added[order] = np.arange(n_classes)[::-1] * factor // n_classes

    def accuracy(counted: Floats) -> float:
        return float(weight @ (counted.argmax(axis=1) == points.target))

    if accuracy(factor * votes + added) < accuracy(votes):
        return 1, nothing
    return factor, added


def _cheapest(votes: Floats, added: Floats, costs: Floats) -> Floats:
    """Change the votes of one class after another while the expected costs (n, n_classes) fall."""
    rows = np.arange(len(votes))

    def total(given: Floats) -> float:
        return float(costs[rows, (votes + given).argmax(axis=1)].sum())

    best, lowest = added, total(added)
    size = 2 ** max(0, math.ceil(math.log2(max(1.0, float(np.abs(_leads(votes)).mean())))))
    while size >= 1:
        improved = True
        while improved:
            improved = False
            for number in range(votes.shape[1]):
                for step in (size, -size):
                    tried = best.copy()
                    tried[number] += step
                    cost = total(tried)
                    if cost < lowest - 1e-12 * abs(lowest):
                        best, lowest, improved = tried, cost, True
        size //= 2
    return best


def _sensitive(
    votes: Floats, added: Floats, points: Points, goal: Goal
) -> tuple[Floats, tuple[tuple[int, float, float], ...]]:
    """Add votes to classes until the asked sensitivities are reached, or no more can be."""
    levels = dict(goal.sensitivity)
    best = added.copy()
    for _ in range(10 * len(levels)):
        lacking = {
            number: level
            for number, level in levels.items()
            if _sensitivity(votes + best, points, number) < level
        }
        if not lacking:
            break
        for number, level in lacking.items():
            best[number] += _needed(votes + best, points, number, level)
    reached = {number: _sensitivity(votes + best, points, number) for number in levels}
    missed = [(k, level, reached[k]) for k, level in levels.items() if reached[k] < level]
    return best - best.min(), tuple(missed)


def _sensitivity(votes: Floats, points: Points, number: int) -> float:
    own = points.target == number
    won: NDArray[np.bool_] = votes.argmax(axis=1) == number
    return float(points.weight[own & won].sum() / points.weight[own].sum())


def _needed(votes: Floats, points: Points, number: int, level: float) -> int:
    """Return the votes that a class needs to win enough of its rows, at least 0."""
    own = points.target == number
    behind = -_leads(votes[own])[:, number]
    # Votes are whole numbers; one more than needed wins over a class that is listed before.
    needs = np.floor(behind) + 1
    order = np.argsort(needs)
    reached = np.cumsum(points.weight[own][order]) / points.weight[own].sum()
    place = min(int(np.searchsorted(reached, level - 1e-12)), len(order) - 1)
    return max(0, int(needs[order][place]))
