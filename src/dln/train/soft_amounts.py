"""Soft rules of a number -> the conditions and amounts that the rows support.

The amounts of all soft rules and the start are fitted to the rows together. The stated amount
counts as much as a few rows. An amount does not change its sign: it becomes 0 instead, and the rule
is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.parts import Rule
from dln.train.number_fit import TOLERANCE
from dln.train.number_loss import Floats, NumberLoss
from dln.train.points import round_coefficients
from dln.train.problem import NumberProblem
from dln.train.refit import fit_coefficients
from dln.train.soft_conditions import (
    Bits,
    SoftFit,
    adapt_conditions,
    candidates_for,
    fires_of,
    sampled,
)
from dln.train.standard import Standard

_PRIOR_ROWS = 5.0
"""A stated amount counts as much as this number of rows that the rule applies to."""

_STEPS = 20
"""Steps of a fit, for losses without a closed solution."""

_LEAST_NOISE = 1e-6
"""The noise of a target that rules predict exactly."""


def learn_soft_amounts(rules: Circuit, problem: NumberProblem, loss: NumberLoss) -> Circuit:
    """Return soft rules with learned conditions and amounts; rules that add nothing are left out.

    `rules` are soft rules alone, over the columns of the problem. The scores that rows have
    beforehand stay.
    """
    few, many = sampled(problem, len(rules.rules))
    standard = Standard.of(many, loss)
    rows = _SoftAmounts.of(rules, few, loss, standard)
    rules = adapt_conditions(rules, few.table, candidates_for(rules, few), rows)
    fires = fires_of(rules, many.table)
    rows = _SoftAmounts.of(rules, many, loss, standard)
    amounts = rows.fit(fires).factors * rows.stated[:, 0] * standard.unit
    points, _, digits = round_coefficients(
        amounts, 0.0, lambda own: np.asarray(fires @ own), TOLERANCE * standard.unit
    )
    kept = tuple(
        Rule(rule.wire, (own,))
        for rule, own in zip(rules.rules, points.tolist(), strict=True)
        if own
    )
    readout = replace(rules.number_readout.with_rules(kept, (0,)), digits=digits)
    return replace(rules, readout=readout)


@dataclass(frozen=True)
class _SoftAmounts:
    """Rows with standardised targets, see `SoftRows`.

    `before` (n,) are scores that rows have beforehand, `weight` (n,) is 1 on average. Losses are
    divided by `noise`, so that they are logarithms of probabilities.
    """

    stated: Floats
    loss: NumberLoss
    target: Floats
    weight: NDArray[np.float32]
    before: Floats
    noise: float = 1.0
    expected: float = 1.0

    @classmethod
    def of(
        cls, rules: Circuit, problem: NumberProblem, loss: NumberLoss, standard: Standard
    ) -> _SoftAmounts:
        """Estimate the noise from what the rules as they are leave."""
        score = rules.number_readout
        points = np.array([rule.votes for rule in rules.rules], dtype=np.int64)
        stated = score.scores(points)[:, None] / standard.unit
        given = 0.0 if problem.given is None else problem.given / standard.unit
        before = np.broadcast_to(given, problem.target.shape)
        weight = (problem.weight / problem.weight.mean(dtype=np.float64)).astype(np.float32)
        rows = cls(stated, loss, standard.targets(problem.target), weight, before)
        left = rows.fit(fires_of(rules, problem.table)).points[:, 0]
        noise = 2.0 * loss.deviance(left, rows.target, weight)  # the variance, for squared errors
        return replace(rows, noise=max(noise, _LEAST_NOISE))

    def fit(self, fires: Bits) -> SoftFit:
        """Fit the amounts of rules and the start."""
        stated, n_rows = self.stated[:, 0], len(fires)
        before = self.before + fires @ stated
        start = np.zeros(1 + len(stated))
        start[0] = self.loss.constant(self.target, self.weight, before)
        change = fit_coefficients(
            self.loss,
            np.hstack([np.ones((n_rows, 1)), fires]),
            self.target,
            self.weight.astype(np.float64) / n_rows,
            _PRIOR_ROWS / n_rows,
            start,
            _STEPS,
            (
                np.append(-np.inf, np.where(stated > 0, -stated, -np.inf)),
                np.append(np.inf, np.where(stated < 0, -stated, np.inf)),
            ),
            before,
        )
        factors = np.maximum(1.0 + change[1:] / stated, 0.0)
        points = (before + change[0] + fires @ change[1:])[:, None]
        prior = sum(self.prior(rule, factor) for rule, factor in enumerate(factors.tolist()))
        return SoftFit(factors, points, float(self.losses(points).sum()) + prior)

    def losses(self, points: Floats) -> Floats:
        """Return the weighted loss of each row, in units of the noise."""
        return self.weight * self.loss.each(points[:, 0], self.target) / self.noise

    def prior(self, rule: int, factor: float) -> float:
        """Return minus the logarithm of the prior probability of a factor."""
        change = float(self.stated[rule, 0]) * (factor - 1.0)
        return 0.5 * _PRIOR_ROWS * change**2 / self.noise
