"""Random training jobs, options to train them with, and invalid networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.gates import PRIORITY
from dln.core.literals import LiteralKind
from dln.encode.bits import LiteralSet
from dln.train.jobs import Job, TrainingRows
from dln.train.losses import SQUARED, Loss
from dln.train.network import Network, Shape, build_network, draw_weights, no_limits
from dln.train.options import TrainOptions
from dln.train.settings import Alternating, Annealing, Freezing, Pruning

UNIFIED = TrainOptions(phases="unified")
TOGETHER = {
    "unified": UNIFIED,
    "mixture": replace(UNIFIED, gate_gradient="mixture", grad_factor=1.3),
    "program": replace(
        UNIFIED, vote_gradient="hard", last_batch="drop", validation_score="both", batch_size=60
    ),
    "temperature": replace(UNIFIED, temperature=Annealing(2.0, 0.5)),
    "fixed thresholds": replace(UNIFIED, threshold_rate=0.0),
    "inputs first": replace(UNIFIED, freezing=Freezing(0.3)),
    "outputs first": replace(UNIFIED, freezing=Freezing(0.3, "outputs-first")),
    "pruning": replace(UNIFIED, pruning=Pruning(0.2, 0.9, convergence=0.9, least=0.3)),
    "pruning what is not frozen": replace(
        UNIFIED, freezing=Freezing(0.0), pruning=Pruning(0.25, 0.75, convergence=0.9, least=0.4)
    ),
    "pruning before frozen votes": replace(
        UNIFIED,
        freezing=Freezing(0.0, "outputs-first"),
        pruning=Pruning(0.25, 0.75, convergence=0.9, least=0.4),
    ),
    "all": replace(
        UNIFIED,
        freezing=Freezing(0.6),
        pruning=Pruning(0.1, 0.5, convergence=0.9),
        temperature=Annealing(1.0, 0.3),
    ),
}
"""Options with which engines give the same results for a few epochs."""

IN_TURN = {
    "batches": TrainOptions(phases="batches"),
    "epochs": TrainOptions(phases="epochs"),
    "alternating": TrainOptions(phases=Alternating(2)),
}
"""Options with which some runs differ, because a gradient is 0 except for rounding."""

BROKEN: list[tuple[str, Any, Any, str]] = [
    ("link_wires", (0, 0, 0), 10_000, "does not point backwards"),
    ("link_wires", (3, 1, 2), -1, "does not point backwards"),
    ("literal_column", 0, 99, "a literal reads a column that"),
    ("literal_kind", 0, 7, "unknown kind of literal"),
    ("cutoffs", 0, np.nan, "cutoff or slope"),
    ("slopes", 0, -1.0, "slope is not positive"),
    ("link_logits", (0, 0), np.nan, "link logit"),
    ("link_logits", (0, 0), -np.inf, "are masked"),
    ("gate_logits", (0, 0), np.inf, "gate logit"),
    ("gate_logits", (0, 0), np.nan, "gate logit"),
    ("gate_logits", 0, -np.inf, "all functions of a gate are masked"),
    ("gate_choices", 0, 16, "unknown gate"),
    ("rule_wires", 0, 1_000, "rule reads a wire"),
    ("vote_logits", (0, 0), np.nan, "vote logit"),
]
"""Invalid networks: an array, an index, an invalid value, and the expected message."""


def draw_mask(rng: np.random.Generator, n_gates: int, n_choices: int) -> NDArray[np.bool_]:
    """Draw the functions that each gate may learn (gates, 16): at least one of the choices."""
    allowed = rng.random((n_gates, 16)) < rng.choice([0.1, 0.5, 0.9])
    codes = np.array([gate.code for gate in PRIORITY[:n_choices]])
    allowed[np.arange(n_gates), rng.choice(codes, n_gates)] = True
    return allowed


def random_job(
    seed: int,
    *,
    n_rows: int = 100,
    shape: Shape | None = None,
    n_classes: int = 2,
    options: TrainOptions | None = None,
    vote_threshold: float = 0.8,
    allowed_gates: NDArray[np.bool_] | None = None,
) -> Job:
    """Draw a job with every kind of literal, missing values and different weights."""
    rng = np.random.default_rng(seed)
    cells = rng.random((n_rows, 4)).astype(np.float32)
    cells[:, 3] = rng.integers(0, 3, n_rows)
    cells[rng.random(cells.shape) < 0.1] = np.nan
    target = rng.integers(0, n_classes, n_rows).astype(np.int32)
    data = TrainingRows(cells, target, rng.uniform(0.5, 2.0, n_rows).astype(np.float32))
    literals = LiteralSet(
        np.array(
            [LiteralKind.ABOVE] * 6 + [LiteralKind.AMONG] * 2 + [LiteralKind.MISSING],
            dtype=np.uint8,
        ),
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
        allowed_gates=allowed_gates,
    )
    network = replace(network, vote_threshold=vote_threshold)
    return Job(network, data, np.arange(n_rows), options or TrainOptions(epochs=3, seed=seed))


def with_offset(job: Job, seed: int) -> Job:
    """Draw votes that the rows of a job have beforehand, in quarters, so that sums are exact."""
    rng = np.random.default_rng([seed, 2])
    shape = len(job.data.target), len(job.network.vote_logits)
    offset = rng.integers(-8, 9, shape) / np.float32(4)
    return replace(job, data=replace(job.data, offset=offset.astype(np.float32)))


SIGNS = ((-np.inf, np.inf), (0.0, np.inf), (-np.inf, 0.0), (0.0, 0.0), (-0.05, 0.1))
"""Limits of a weight: none, a sign, masked, and an interval."""


def number_job(seed: int, loss: Loss = SQUARED, **settings: Any) -> Job:
    """Draw a job of `random_job`, with a number to predict."""
    return as_number(random_job(seed, **settings), seed, loss)


def as_number(job: Job, seed: int, loss: Loss) -> Job:
    """Draw a number to predict for the rows of a job, and weights in place of its votes.

    Jobs of odd seeds have an offset and limits of weights. Targets are positive if the link is a
    logarithm.
    """
    rng = np.random.default_rng([seed, 1])
    n_rows, n_rules = len(job.rows), len(job.network.rule_wires)
    target = rng.gamma(2.0, 0.5, n_rows) if loss.link == "log" else rng.normal(size=n_rows)
    offset, limits = None, no_limits(n_rules + 1)
    weights = 2 * draw_weights(n_rules, rng)
    if seed % 2:
        offset = rng.normal(0.0, 0.3, (n_rows, 1)).astype(np.float32)
        limits = np.array(SIGNS, dtype=np.float32)[rng.integers(0, len(SIGNS), n_rules + 1)].T
        limits = np.ascontiguousarray(limits)
    network = replace(
        job.network,
        vote_logits=np.empty((0, n_rules), dtype=np.float32),
        weights=np.clip(weights, *limits),
        weight_limits=limits,
    )
    data = replace(job.data, target=target.astype(np.float32), offset=offset)
    return replace(job, network=network, data=data, loss=loss)


def assert_within_limits(network: Network) -> None:
    low, high = network.weight_limits
    assert np.all((low <= network.weights) & (network.weights <= high))
