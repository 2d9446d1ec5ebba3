"""Random training jobs, for the tests of the engines."""

from __future__ import annotations

import numpy as np

from dln.encode.bits import ABOVE, EQUALS, MISSING, LiteralSet
from dln.train.jobs import Job, TrainingRows
from dln.train.network import Shape, build_network
from dln.train.options import TrainOptions


def random_job(
    seed: int,
    *,
    n_rows: int = 100,
    shape: Shape | None = None,
    n_classes: int = 2,
    options: TrainOptions | None = None,
) -> Job:
    """Draw a job with every kind of literal, missing cells and uneven weights."""
    rng = np.random.default_rng(seed)
    cells = rng.random((n_rows, 4)).astype(np.float32)
    cells[:, 3] = rng.integers(0, 3, n_rows)
    cells[rng.random(cells.shape) < 0.1] = np.nan
    target = rng.integers(0, n_classes, n_rows).astype(np.int32)
    data = TrainingRows(cells, target, rng.uniform(0.5, 2.0, n_rows).astype(np.float32))
    literals = LiteralSet(
        np.array([ABOVE] * 6 + [EQUALS] * 2 + [MISSING], dtype=np.uint8),
        np.array([0, 0, 1, 1, 2, 2, 3, 3, 1], dtype=np.int32),
        np.array([0.2, 0.6, 0.3, 0.7, 0.4, 0.5, 0, 2, 0], dtype=np.float32),
    )
    network = build_network(
        literals,
        shape or Shape((9, 7), n_links=5),
        n_classes=n_classes,
        slope=8.0,
        vote_threshold=0.8,
        vote_density=0.5,
        rng=rng,
    )
    return Job(network, data, np.arange(n_rows), options or TrainOptions(epochs=3, seed=seed))
