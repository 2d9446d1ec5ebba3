"""Votes of networks on rows that they were not trained on -> points for a calibration.

A circuit adds up the votes of several networks, and a row may have been left out by fewer of them.
Sums of fewer networks vary more, and so separate classes less. Votes are therefore scaled down to
what the votes of the circuit would say: by the ratio of the variances of their leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dln.decisions.points import Floats, Points
from dln.train.jobs import Job
from dln.train.network import Network
from dln.train.problem import Problem
from dln.train.votes import count_votes

_LEAST_SCALE = 0.3
_MAX_ROWS = 2_000
"""Number of training rows that show how much networks differ."""


class HeldOut(NamedTuple):
    """Votes (n, n_classes) of a network, or of a chain, on rows that it was not trained on (n,)."""

    rows: NDArray[np.int64]
    votes: NDArray[np.int64]


def held_out(jobs: Sequence[Job], numbers: NDArray[np.int64]) -> HeldOut:
    """Count the votes of a trained network, or of several together, on their validation rows.

    `numbers` are the numbers, in the whole table, of the rows that the jobs know.
    """
    rows = jobs[0].valid_rows
    assert rows is not None
    votes = count_votes([job.network for job in jobs], jobs[0].data.cells[rows])
    return HeldOut(numbers[rows], votes)


def points_of(
    votes: Floats, rows: NDArray[np.int64], problem: Problem, surplus: float = 0.0
) -> Points:
    """Make points of the votes (n, n_classes) of a whole model on rows (n,).

    `surplus` is the variance that these votes have more than those of the circuit.
    """
    centred = votes - votes.mean(axis=1, keepdims=True)
    total = float((centred**2).sum() / len(votes))
    scale = np.clip((total - surplus) / total, _LEAST_SCALE, 1.0) if total > 0 else 1.0
    weight = problem.weight[rows].astype(np.float64)
    target = problem.target[rows].astype(np.int64)
    return Points(votes * scale, target, weight, np.ones(len(rows)))


def network_noise(
    parts: Sequence[HeldOut], networks: Sequence[Network], cells: NDArray[np.float32]
) -> float:
    """Return the variance of the votes of one row between networks."""
    if not parts:
        empty = np.empty(0, dtype=np.int64)
        return _noise(np.empty((0, 0)), empty, empty, networks, cells)
    rows, votes = _sorted(parts)
    _, start, count = np.unique(rows, return_index=True, return_counts=True)
    return _noise(votes, start, count, networks, cells)


def make_points(
    parts: Sequence[HeldOut],
    problem: Problem,
    networks: Sequence[Network],
    cells: NDArray[np.float32],
    factor: int = 1,
    before: Floats | None = None,
) -> Points | None:
    """Make points for a circuit of some networks, trained on `cells`; None if a class has none.

    The circuit has `factor` times the votes of the networks, and the votes (n_rows, n_classes) that
    rows have `before`.
    """
    n_networks = len(networks)
    rows, votes = _sorted(parts)
    known, start, count = np.unique(rows, return_index=True, return_counts=True)
    if set(np.unique(problem.target)) != set(np.unique(problem.target[known])):
        return None
    # As many networks of a row are added up as the circuit has, or all if there are fewer.
    size = np.minimum(count, n_networks)
    turn = np.arange(len(rows)) - np.repeat(start, count)
    group = turn // np.repeat(size, count)
    used = group < np.repeat(count // size, count)
    ids = np.cumsum((turn % np.repeat(size, count) == 0) & used)[used] - 1
    sums = np.zeros((ids[-1] + 1, votes.shape[1]))
    np.add.at(sums, ids, votes[used])
    first = np.searchsorted(ids, np.arange(ids[-1] + 1))
    row = rows[used][first]
    place = np.searchsorted(known, row)
    n_added = size[place].astype(np.float64)
    means = sums / n_added[:, None]
    noise = _noise(votes, start, count, networks, cells)
    scale = _scales(means, n_added, noise, n_networks)
    share = 1.0 / (count // size)[place]
    return Points(
        means * (factor * n_networks * scale)[:, None] + (0.0 if before is None else before[row]),
        problem.target[row].astype(np.int64),
        problem.weight[row].astype(np.float64) * share,
        share,
    )


def _sorted(parts: Sequence[HeldOut]) -> tuple[NDArray[np.int64], Floats]:
    """Join parts, ordered by row; only differences between classes count."""
    rows = np.concatenate([part.rows for part in parts])
    votes = np.concatenate([part.votes for part in parts]).astype(np.float64)
    votes -= votes.mean(axis=1, keepdims=True)
    order = np.argsort(rows, kind="stable")
    return rows[order], votes[order]


def _noise(
    votes: Floats,
    start: NDArray[np.int64],
    count: NDArray[np.int64],
    networks: Sequence[Network],
    cells: NDArray[np.float32],
) -> float:
    """Return the variance of the votes of one row between networks."""
    several = count > 1
    if several.any():
        means = np.add.reduceat(votes, start) / count[:, None]
        apart = (votes - np.repeat(means, count, axis=0)) ** 2
        return float(apart[np.repeat(several, count)].sum() / (count[several] - 1).sum())
    if len(networks) < 2:
        return 0.0
    some = cells[:: -(-len(cells) // _MAX_ROWS)]
    each = np.stack([count_votes([network], some) for network in networks]).astype(np.float64)
    each -= each.mean(axis=2, keepdims=True)
    return float(each.var(axis=0, ddof=1).sum() / len(some))


def _scales(means: Floats, n_added: Floats, noise: float, n_networks: int) -> Floats:
    """Return the ratio of variances of each point: of the circuit's votes and of its own."""
    found = np.ones(len(means))
    for size in np.unique(n_added):
        own = n_added == size
        total = float((means[own] ** 2).sum() / own.sum())
        expected = total - noise / size + noise / n_networks
        if size < n_networks and total > 0:
            found[own] = np.clip(expected / total, _LEAST_SCALE, 1.0)
    return found
