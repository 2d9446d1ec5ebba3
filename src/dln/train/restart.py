"""Train networks, and train those again that failed to learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dln.train.jobs import Job, Trained
from dln.train.votes import count_all_votes

MAX_ROWS = 5_000
"""Number of rows that show whether a network has learned."""


def train_with_restarts(
    draw_jobs: Callable[[int], list[Job]],
    train: Callable[[Sequence[Job]], list[Trained]],
    n_networks: int,
    n_restarts: int,
) -> list[Trained]:
    """Train networks; draw and train again those that never predict a class of their rows.

    After at most `n_restarts` restarts, the start that misses the fewest classes counts.
    """
    jobs = draw_jobs(n_networks)
    trained = train(jobs)
    if n_restarts == 0:
        return trained
    missed = [count_missed_classes(job) for job in jobs]
    for _ in range(n_restarts):
        failed = [place for place in range(n_networks) if missed[place]]
        if not failed or any(result.interrupted for result in trained):
            break
        jobs = draw_jobs(len(failed))
        for place, job, result in zip(failed, jobs, train(jobs), strict=True):
            still_missed = count_missed_classes(job)
            if still_missed < missed[place] and not result.interrupted:
                trained[place], missed[place] = result, still_missed
    return trained


def count_missed_classes(job: Job) -> int:
    """Count the classes of a job's rows that its network, as a circuit, never predicts."""
    rows = job.rows[:: -(-len(job.rows) // MAX_ROWS)]
    votes = count_all_votes(job, rows)
    return len(set(job.data.target[rows].tolist()) - set(votes.argmax(axis=1).tolist()))
