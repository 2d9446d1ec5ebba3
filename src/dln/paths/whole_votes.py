"""Votes -> small whole numbers with nearly the same loss.

Several scales are tried. The best of them are improved by changing one vote at a time by one point
while the loss falls. Few points are preferred to many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dln.paths.loss import Bounds, ClassLoss, Floats

MOST_POINTS = 9
"""The largest vote of a rule for a class."""
_N_SCALES = 18
_N_SMALL, _N_GOOD = 6, 3
"""Number of scales whose votes are improved: the smallest ones, and the best of the others."""
_FEWER = 1.01
"""Votes are as small as possible with a loss of at most this multiple of the lowest."""
_MOST_CHANGES = 25


class WholeVotes(NamedTuple):
    """Whole votes (n_rules, n_outputs), base votes first, and what one point is worth."""

    votes: Floats
    unit: float
    loss: float


def round_votes(
    loss: ClassLoss, fires: Floats, votes: Floats, bounds: Bounds | None = None
) -> WholeVotes:
    """Round votes to whole numbers from -9 to 9; the base votes may be larger.

    Bounds are 0 or infinite, so votes stay in them.
    """
    if len(votes) == 1 or not np.any(votes[1:]):
        return WholeVotes(np.sign(np.round(votes)), 1.0, loss.total(fires @ votes, votes))
    votes = _centred(votes, bounds)
    largest = np.abs(votes[1:]).max()
    scales = np.linspace(1.0, MOST_POINTS + 0.45, _N_SCALES)
    rounded: dict[bytes, tuple[float, Floats]] = {}
    for top in scales.tolist():
        whole = np.round(votes * (top / largest)) + 0.0
        rounded.setdefault(whole.tobytes(), (top, whole))
    found = []
    for top, whole in rounded.values():
        total, unit = _best_unit(loss, fires @ whole, whole, largest / top)
        found.append(WholeVotes(whole, unit, total))
    good = sorted(found[_N_SMALL:], key=lambda own: own.loss)[:_N_GOOD]
    improved = [_improved(loss, fires, own, bounds) for own in (*found[:_N_SMALL], *good)]
    enough = _FEWER * min(own.loss for own in improved)
    improved = [own for own in improved if own.loss <= enough]
    return min(improved, key=lambda own: (np.abs(own.votes[1:]).max(), own.loss))


def round_votes_at(
    loss: ClassLoss, fires: Floats, votes: Floats, unit: float, bounds: Bounds | None = None
) -> WholeVotes:
    """Round votes to whole numbers that are worth `unit` each, as those of given rules are."""
    whole = np.round(_centred(votes, bounds) / unit) + 0.0
    total = loss.total(fires @ whole * unit, whole * unit)
    return _improved(loss, fires, WholeVotes(whole, unit, total), bounds, may_scale=False)


def _centred(votes: Floats, bounds: Bounds | None) -> Floats:
    """Subtract the median vote of each rule, since only differences between classes count.

    Rules with bounded votes stay as they are.
    """
    if votes.shape[1] == 1:
        return votes
    middle = np.median(votes, axis=1, keepdims=True)
    if bounds is not None:
        middle[np.isfinite(bounds.low).any(axis=1) | np.isfinite(bounds.high).any(axis=1)] = 0
    return votes - middle


def _improved(
    loss: ClassLoss,
    fires: Floats,
    start: WholeVotes,
    bounds: Bounds | None,
    may_scale: bool = True,
) -> WholeVotes:
    """Change the vote that promises most by one point, while the loss falls."""
    best = start
    for _ in range(_MOST_CHANGES):
        scores = fires @ best.votes
        slopes = loss.slopes(scores * best.unit)
        first = fires.T @ slopes.first - loss.ridge * best.unit * best.votes
        second = (fires.T @ slopes.second)[:, None] + loss.ridge
        promise = np.abs(first) * best.unit - 0.5 * second * best.unit**2
        change = np.sign(first)
        promise[1:][np.abs(best.votes + change)[1:] > MOST_POINTS] = -1.0
        if bounds is not None:
            changed = best.votes + change
            promise[(changed < bounds.low) | (changed > bounds.high)] = -1.0
        better = None
        for place in np.argsort(-promise, axis=None, kind="stable")[:3].tolist():
            if promise.flat[place] <= 0:
                break
            votes = best.votes.copy()
            votes.flat[place] += change.flat[place]
            total = loss.total(fires @ votes * best.unit, votes * best.unit)
            if total < best.loss - 1e-7:
                better = WholeVotes(votes, best.unit, total)
                break
        if better is None:
            break
        best = better
    if not may_scale:
        return best
    total, unit = _best_unit(loss, fires @ best.votes, best.votes, best.unit)
    return WholeVotes(best.votes, unit, total)


def _best_unit(loss: ClassLoss, scores: Floats, votes: Floats, unit: float) -> tuple[float, float]:
    units = [unit * factor for factor in (1.0, 0.8, 0.9, 1.1, 1.25)]
    return min((loss.total(scores * own, votes * own), own) for own in units)
