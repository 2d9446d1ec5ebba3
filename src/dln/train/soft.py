"""Soft rules -> the votes that the rows support, starting from the stated votes.

All votes of a soft rule are multiplied by one factor. The factors are those of the largest
posterior probability: each is expected to be the one that suits all soft rules together, give or
take one unit of log odds. So a rule keeps about its stated votes if it applies to few rows, and
loses them if many rows contradict it. A rule without votes is dropped.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dln.core.circuit import Circuit
from dln.train.given import loss_with_base
from dln.train.problem import Problem
from dln.train.trees import Floats, softmax

SOFT_UNIT = 0.02
"""What one vote of a soft rule is worth at most, in log odds, if no locked rules determine it."""

_STARTS = 2.0 ** np.arange(-6.0, 0.01, 0.5)
"""Factors to expect, in log odds for each stated vote."""

_MAX_ROWS = 50_000
"""Number of rows that determine the votes."""

_STEPS = 30
_LARGEST_STEP = 1.0
"""Newton steps, and the maximum change of a factor or of the base of a class in one of them."""

_BASE_PENALTY = 1e-3
"""Keeps the base finite if a class has no rows."""


def learn_soft_votes(rules: Circuit, problem: Problem, unit: float) -> Circuit:
    """Return soft rules with learned votes, worth `unit` each; rules without votes are left out.

    `rules` are soft rules alone, over the columns and classes of the problem. The points that the
    rows have beforehand stay.
    """
    if len(problem.target) > _MAX_ROWS:
        problem = problem.take(np.linspace(0, len(problem.target) - 1, _MAX_ROWS).astype(np.int64))
    stated = np.array([rule.votes for rule in rules.rules], dtype=np.float64)
    evaluation = rules.evaluate(problem.table)
    bits = np.stack([evaluation.wire(rule.wire) for rule in rules.rules], axis=1)
    fires = bits.astype(np.float64)
    together = fires @ stated
    losses = [loss_with_base(start * together, problem) for start in _STARTS]
    factors = _fit_factors(fires, stated, problem, float(_STARTS[int(np.argmin(losses))]))
    votes = np.rint(np.maximum(factors, 0.0)[:, None] * stated / unit).astype(int)
    kept = tuple(
        rule._replace(votes=tuple(own))
        for rule, own in zip(rules.rules, votes.tolist(), strict=True)
        if len(set(own)) > 1
    )
    return replace(rules, readout=rules.readout.with_rules(kept, rules.base_votes))


def _fit_factors(fires: Floats, stated: Floats, problem: Problem, expected: float) -> Floats:
    """Return the factors (n_rules,) of the largest posterior probability, by Newton steps."""
    n_rules, n_classes = stated.shape
    # What each factor, and each base but that of the first class, adds to the points of a row.
    parts = np.zeros((len(fires), n_rules + n_classes - 1, n_classes))
    parts[:, :n_rules] = fires[:, :, None] * stated
    parts[:, n_rules:] = np.eye(n_classes)[1:]
    before = np.zeros((len(fires), n_classes)) if problem.given is None else problem.given
    weight = problem.weight / problem.weight.mean(dtype=np.float64)
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
    return np.asarray(found[:n_rules])
