"""Networks that vote together in one circuit: from different starts, bagged or boosted.

Boosting gives weight to rows that are wrong, or lets each network learn from residual points: what
the earlier ones leave.

Promise: "sum" trains what `train_with_restarts` trains. Every member votes with a whole number of
votes, so that all of them become one circuit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dln.train.jobs import Job, Trained
from dln.train.options import Ensemble
from dln.train.restart import train_with_restarts
from dln.train.votes import count_all_votes, count_votes

Floats = NDArray[np.float64]

MOST_VOTES = 8
"""Maximum number of votes that a rule of a boosted network gives."""

LEAST_ERROR = 0.02
"""Weighted errors below this count as this, so that one network cannot outvote all others."""

RATE = 0.5
"""Part of the step that boosting takes when it changes the weights of rows."""

STEP = 0.5
"""Part of its votes with which a network counts that learns from residual points."""


@dataclass(frozen=True)
class Member:
    """A trained network, and the votes that each of its rules gives."""

    trained: Trained
    votes: int = 1


def train_members(
    ensemble: Ensemble,
    draw_job: Callable[[], Job],
    train: Callable[[Sequence[Job]], list[Trained]],
    n_networks: int,
    n_restarts: int,
    rng: np.random.Generator,
) -> list[Member]:
    """Train the networks of an ensemble.

    Parameters
    ----------
    draw_job
        Draws a network with its start; all have the same rows.
    rng
        Draws bootstrap samples; the other ensembles draw nothing from it.
    """
    if ensemble == "boosting":
        return _boost(draw_job, train, n_networks)
    if ensemble == "residuals":
        chain = train_chains(lambda: [draw_job()], train, n_networks)
        return [Member(result) for (result,) in chain]

    def draw() -> Job:
        job = draw_job()
        return replace(job, rows=_bag(job, rng)) if ensemble == "bagging" else job

    trained = train_with_restarts(
        lambda n: [draw() for _ in range(n)], train, n_networks, n_restarts
    )
    return [Member(result) for result in trained]


def temperature_of(ensemble: Ensemble, tau: float, votes: Sequence[int]) -> float:
    """Return the temperature of a circuit whose networks give these votes for each rule.

    Networks share one prediction, but those of residuals add to it, each with a part of its votes.
    """
    return tau / STEP if ensemble == "residuals" else tau * sum(votes)


def train_chains(
    draw_jobs: Callable[[], Sequence[Job]],
    train: Callable[[Sequence[Job]], list[Trained]],
    n_networks: int,
) -> list[list[Trained]]:
    """Train chains of networks: each learns from the points that the earlier ones leave.

    `draw_jobs` draws the next network of each chain. Return the networks of all chains, step by
    step. Chains do not influence each other.
    """
    found: list[list[Trained]] = []
    points: list[Floats] = []
    for _ in range(n_networks):
        jobs = list(draw_jobs())
        if points:
            jobs = [_start_from(job, own) for job, own in zip(jobs, points, strict=True)]
        found.append(train(jobs))
        if any(result.interrupted for result in found[-1]):
            break
        new: list[Floats] = [
            (STEP * count_votes([job.network], job.data.cells)).astype(np.float64) for job in jobs
        ]
        points = [a + b for a, b in zip(points, new, strict=True)] if points else new
    return found


def _start_from(job: Job, points: Floats) -> Job:
    """Add points to those that the rows of a job have beforehand."""
    before = 0.0 if job.data.offset is None else job.data.offset
    offset = np.asarray(before + points, dtype=np.float32)
    return replace(job, data=replace(job.data, offset=offset))


def _bag(job: Job, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a bootstrap sample of the rows of a job, with as many rows of each class."""
    classes = job.data.target[job.rows]
    parts = [job.rows[classes == number] for number in np.unique(classes)]
    return np.concatenate([rng.choice(part, len(part)) for part in parts])


def _boost(
    draw_job: Callable[[], Job], train: Callable[[Sequence[Job]], list[Trained]], n_networks: int
) -> list[Member]:
    """Train one network after another, with more weight on rows that the last one got wrong.

    The weights are those of SAMME (Zhu et al., 2009), with a smaller step. A network that is no
    better than chance changes no weight and has one vote.
    """
    found: list[tuple[Trained, float]] = []
    weight: NDArray[np.float32] | None = None
    for _ in range(n_networks):
        job = draw_job()
        if weight is not None:
            job = replace(job, data=replace(job.data, weight=weight))
        (result,) = train([job])
        strength, weight = _reweigh(job)
        found.append((result, strength))
        if result.interrupted:
            break
    return [Member(result, votes) for (result, _), votes in zip(found, _votes(found), strict=True)]


def _reweigh(job: Job) -> tuple[float, NDArray[np.float32]]:
    """Return the strength of a trained network, and the weights for the next one."""
    rows, data = job.rows, job.data
    n_classes = len(job.network.vote_logits)
    points = count_all_votes(job, rows)
    is_wrong = points.argmax(axis=1) != data.target[rows]
    own = data.weight[rows].astype(np.float64)
    error = max(LEAST_ERROR, float(own[is_wrong].sum() / own.sum()))
    strength = math.log((1 - error) / error) + math.log(n_classes - 1) if error < 1 else 0.0
    weight = data.weight.astype(np.float64)
    if strength > 0:
        weight[rows[is_wrong]] *= math.exp(RATE * strength)
        weight[rows] *= own.sum() / weight[rows].sum()
    return strength, weight.astype(np.float32)


def _votes(found: Sequence[tuple[Trained, float]]) -> list[int]:
    """Turn strengths into whole numbers of votes; the weakest network has one."""
    strengths = [max(strength, 0.0) for _, strength in found]
    least = min((strength for strength in strengths if strength > 0), default=1.0)
    return [min(MOST_VOTES, max(1, round(strength / least))) for strength in strengths]
