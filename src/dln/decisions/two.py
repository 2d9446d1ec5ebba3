"""Decide between two classes: the vote lead from which the second wins, and its probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dln.decisions.curve import Curve, fit_curve
from dln.decisions.goal import Goal
from dln.decisions.points import Bools, Decision, Floats, Points
from dln.decisions.table import make_table

MANY_TIES = 0.02
"""From this share of ties on, votes are doubled so that no row ties."""

_LEAST = 1e-6
_SURE = 2.0
"""The standard errors by which another cut must be more accurate."""


@dataclass(frozen=True)
class Grid:
    """The leads that a circuit can have.

    They are `start` plus multiples of `spacing`, from at least `least` to at most `most`.
    """

    start: int
    spacing: int
    least: int
    most: int

    def above(self, cut: float) -> int:
        """Return the first lead above a number."""
        return self.start + self.spacing * (math.floor((cut - self.start) / self.spacing) + 1)


def decide_two(
    points: Points,
    goal: Goal,
    shares: Floats,
    grid: Grid,
    *,
    may_double: bool = True,
    keep_votes: bool = False,
) -> Decision:
    """Choose the lead from which the second class wins, and make the table of probabilities.

    With `keep_votes` the second class wins from the first lead above 0, as it does now.
    """
    leads, own = points.votes[:, 1] - points.votes[:, 0], points.target == 1
    curve = fit_curve(leads, own, points.counts(shares))
    threshold = _threshold(goal, points, shares)
    cut = 0.0
    if not keep_votes:
        cut = _default_cut(leads, own, points.weight, curve, threshold)
    missed: tuple[tuple[int, float, float], ...] = ()
    if goal.sensitivity and not keep_votes:
        cut, missed = _sensitive_cut(goal, leads, own, points.weight, grid, cut)
    elif goal.decides and not keep_votes:
        cut = _crossing(curve, threshold, leads)
    first = grid.above(cut)  # the smallest lead of a row that is predicted as the second class
    total = points.rows.sum()
    near = np.abs(leads - (first - grid.spacing)) < grid.spacing / 2
    ties = float(points.rows[near].sum() / total)
    factor = 2 if may_double and grid.spacing == 1 and ties >= MANY_TIES else 1
    added = 1 - factor * first
    if keep_votes:
        factor, added = 1, 0
    after = factor * first + added
    before = after - factor * grid.spacing
    if goal.sensitivity or keep_votes:
        middle = np.array([first - grid.spacing / 2.0])
        threshold = float(np.clip(curve(middle)[0], _LEAST, 1 - _LEAST))
    low = grid.above(min(max(leads.min(), grid.least), first - grid.spacing) - 0.5)
    high = grid.above(max(min(leads.max(), grid.most), first) - 0.5)
    below, above = _around(threshold)
    table = make_table(
        [lambda lead: curve((lead - added) / factor)],
        factor * low + added,
        factor * high + added,
        fixed=(before, after),
        spacing=factor * grid.spacing,
        limit=lambda lead, value: max(value, above) if lead >= after else min(value, below),
    )
    return Decision(factor, (0, added), table, missed)


def _threshold(goal: Goal, points: Points, shares: Floats) -> float:
    """Return the probability from which the second class is to be predicted."""
    if goal.threshold is not None:
        return goal.threshold
    if goal.costs is not None:
        (right_first, false_second), (false_first, right_second) = goal.costs
        too_far = false_second - right_first
        return too_far / (too_far + false_first - right_second)
    # Both classes are equally likely with the class weights of the decision.
    second, first = points.masses[1] / shares[1], points.masses[0] / shares[0]
    return float(np.clip(first / (first + second), _LEAST, 1 - _LEAST))


def _default_cut(
    leads: Floats, own: Bools, weight: Floats, curve: Curve, threshold: float
) -> float:
    """Return the number above which leads mean the second class, for the best accuracy.

    Ties go to the class that has more weight among them. Another cut must be better by more than
    two standard errors.
    """
    tied = np.abs(leads) < 0.5
    gain = float(weight[tied & own].sum() - weight[tied & ~own].sum())
    cut = -0.5 if gain > 0 else 0.0
    other = _crossing(curve, threshold, leads)
    changed = (leads > cut) != (leads > other)
    right = (leads > other) == own
    gained = float(weight[changed & right].sum() - weight[changed & ~right].sum())
    error = math.sqrt(float((weight[changed] ** 2).sum()))
    return other if gained > _SURE * error else cut


def _crossing(curve: Curve, threshold: float, leads: Floats) -> float:
    """Find the lead at which a curve reaches a threshold, by bisection."""
    low, high = float(leads.min()) - 1, float(leads.max()) + 1
    for _ in range(60):
        middle = (low + high) / 2
        if curve(np.array([middle]))[0] < threshold:
            low = middle
        else:
            high = middle
    return low


def _sensitive_cut(
    goal: Goal, leads: Floats, own: Bools, weight: Floats, grid: Grid, cut: float
) -> tuple[float, tuple[tuple[int, float, float], ...]]:
    """Return the cut nearest to another at which the asked sensitivities are reached."""
    levels = dict(goal.sensitivity)
    low, high = grid.above(float(leads.min()) - 1), grid.above(float(leads.max()) + 1)
    firsts = np.arange(low, high + 1, grid.spacing)

    def reached(first: int) -> dict[int, float]:
        second = leads >= first
        return {
            1: float(weight[own & second].sum() / weight[own].sum()),
            0: float(weight[~own & ~second].sum() / weight[~own].sum()),
        }

    usual = grid.above(cut)
    ranked = sorted(firsts.tolist(), key=lambda first: abs(first - usual))
    lacks = {first: reached(first) for first in ranked}
    short = {
        first: sum(max(0.0, level - lacks[first][number]) for number, level in levels.items())
        for first in ranked
    }
    best = min(ranked, key=lambda first: short[first])
    missed = tuple(
        (number, level, lacks[best][number])
        for number, level in levels.items()
        if lacks[best][number] < level
    )
    return best - grid.spacing / 2, missed


def _around(threshold: float) -> tuple[float, float]:
    """Return the nearest short decimals below and above a threshold."""
    digits = max(3, 1 - math.floor(math.log10(min(threshold, 1 - threshold))))
    unit = 10**digits
    below = round((math.ceil(threshold * unit - 1e-9) - 1) / unit, digits)
    above = round((math.floor(threshold * unit + 1e-9) + 1) / unit, digits)
    return max(below, threshold / 2), min(above, (1 + threshold) / 2)
