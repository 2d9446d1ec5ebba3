"""Soft rules of classes -> the conditions and votes that the rows support.

All votes of a soft rule are multiplied by one factor. The factors maximise the posterior
probability. The prior of each is centred on the factor that suits all soft rules together; the
votes of a rule then differ from it by a standard deviation of one unit of log odds. So a rule keeps
about its stated votes if it applies to few rows, and loses them if many rows contradict it. A rule
without votes is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dln.core.circuit import Circuit
from dln.train.given import loss_with_base
from dln.train.problem import Problem
from dln.train.soft_conditions import (
    Bits,
    SoftFit,
    adapt_conditions,
    candidates_for,
    fires_of,
    sampled,
)
from dln.train.trees import Floats, softmax

SOFT_UNIT = 0.02
"""What one vote of a soft rule is worth at most, in log odds, if no locked rules determine it."""

_STARTS = 2.0 ** np.arange(-6.0, 0.01, 0.5)
"""Factors to expect, in log odds for each stated vote."""

_STEPS = 30
_LARGEST_STEP = 1.0
"""Newton steps, and the maximum change of a factor or of the base of a class in one of them."""

_BASE_PENALTY = 1e-3
"""Keeps the base finite if a class has no rows."""


def learn_soft_votes(rules: Circuit, problem: Problem, unit: float) -> Circuit:
    """Return soft rules with learned conditions and votes, worth `unit` each.

    `rules` are soft rules alone, over the columns and classes of the problem. The points that the
    rows have beforehand stay. Rules without votes are left out.
    """
    few, many = sampled(problem, len(rules.rules))
    rules = adapt_conditions(
        rules, few.table, candidates_for(rules, few), _SoftVotes.of(rules, few)
    )
    rows = _SoftVotes.of(rules, many)
    factors = rows.fit(fires_of(rules, many.table)).factors
    votes = np.rint(factors[:, None] * rows.stated / unit).astype(int)
    kept = tuple(
        rule._replace(votes=tuple(own))
        for rule, own in zip(rules.rules, votes.tolist(), strict=True)
        if len(set(own)) > 1
    )
    return replace(rules, readout=rules.readout.with_rules(kept, rules.base_votes))


@dataclass(frozen=True)
class _SoftVotes:
    """Rows with classes, see `SoftRows`; points are log odds."""

    stated: Floats
    expected: float
    problem: Problem

    @classmethod
    def of(cls, rules: Circuit, problem: Problem) -> _SoftVotes:
        """Find the factor that suits all rules together."""
        stated = np.array([rule.votes for rule in rules.rules], dtype=np.float64)
        together = fires_of(rules, problem.table) @ stated
        losses = [loss_with_base(start * together, problem) for start in _STARTS]
        return cls(stated, float(_STARTS[int(np.argmin(losses))]), problem)

    def fit(self, fires: Bits) -> SoftFit:
        """Fit the factors of rules and the base of each class."""
        bits, factors = fires.astype(np.float64), np.zeros(len(self.stated))
        active = np.arange(len(factors))
        while True:  # factors below 0 become 0, and the others are fitted without them
            found, base = _fit_factors(
                bits[:, active], self.stated[active], self.problem, self.expected
            )
            if (found >= 0).all():
                break
            active = active[found >= 0]
        factors[active] = found
        points = bits @ (factors[:, None] * self.stated) + base + _before(self.problem)
        prior = sum(self.prior(rule, factor) for rule, factor in enumerate(factors.tolist()))
        return SoftFit(factors, points, float(self.losses(points).sum()) + prior)

    def losses(self, points: Floats) -> Floats:
        """Return the weighted log loss of each row."""
        problem = self.problem
        own = softmax(points)[np.arange(len(points)), problem.target]
        return np.asarray(_weights(problem) * -np.log(np.maximum(own, 1e-12)))

    def prior(self, rule: int, factor: float) -> float:
        """Return minus the logarithm of the prior probability of a factor."""
        return 0.5 * float(np.ptp(self.stated[rule]) * (factor - self.expected)) ** 2


def _weights(problem: Problem) -> Floats:
    """Return the weights of rows, 1 on average."""
    return np.asarray(problem.weight / problem.weight.mean(dtype=np.float64))


def _before(problem: Problem) -> Floats | float:
    """Return the points that rows have beforehand."""
    return 0.0 if problem.given is None else problem.given


def _fit_factors(
    fires: Floats, stated: Floats, problem: Problem, expected: float
) -> tuple[Floats, Floats]:
    """Return the factors (n_rules,) and the base (n_classes,) of the largest posterior probability.

    They are found by Newton steps. The base of the first class is 0.
    """
    n_rules, n_classes = stated.shape
    # What each factor, and each base but that of the first class, adds to the points of a row.
    parts = np.zeros((len(fires), n_rules + n_classes - 1, n_classes))
    parts[:, :n_rules] = fires[:, :, None] * stated
    parts[:, n_rules:] = np.eye(n_classes)[1:]
    before, weight = _before(problem), _weights(problem)
    penalty = np.append(np.ptp(stated, axis=1) ** 2, np.full(n_classes - 1, _BASE_PENALTY))
    expects = np.append(np.full(n_rules, expected), np.zeros(n_classes - 1))
    found = expects.copy()
    for _ in range(_STEPS):
        share = softmax(np.einsum("p,npc->nc", found, parts) + before)
        rest = np.eye(n_classes)[problem.target] - share
        pull = np.einsum("n,nc,npc->p", weight, rest, parts) - penalty * (found - expects)
        mean = np.einsum("nc,npc->np", share, parts)
        hold = np.einsum("n,nc,npc,nqc->pq", weight, share, parts, parts, optimize=True)
        hold -= np.einsum("n,np,nq->pq", weight, mean, mean, optimize=True)
        step = np.linalg.solve(hold + np.diag(penalty + 1e-9), pull)
        found = found + np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(found[:n_rules]), np.append(0.0, found[n_rules:])
