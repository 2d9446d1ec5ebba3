"""What every engine promises about gate functions that are masked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from dln.train.jobs import Engine, Job
from dln.train.live import hard_codes
from dln.train.network import Shape
from dln.train.options import TrainOptions
from tests.support.jobs import draw_mask, random_job

LAYERS = (12, 9)
N_GATES = sum(LAYERS)


def masked_job(
    seed: int, options: TrainOptions, allowed: NDArray[np.bool_] | None, n_choices: int
) -> Job:
    """Draw a job that differs from others of its seed only in its mask."""
    concatenation: Any = ("separate", "shared", "none")[seed % 3]
    shape = Shape(LAYERS, n_links=6, n_gates=n_choices, concatenation=concatenation)
    options = replace(options, epochs=6, eval_every=2, keep_best=seed % 2 == 0, seed=seed)
    job = random_job(
        seed, n_rows=150, n_classes=3, shape=shape, options=options, allowed_gates=allowed
    )
    return replace(job, valid_rows=np.arange(50))


def assert_masks_hold(engine: Engine, options: TrainOptions, n_seeds: int) -> None:
    """A masked function stays masked and is not chosen; open ones are trained."""
    jobs = []
    for seed in range(n_seeds):
        n_choices = (16, 8, 3)[seed % 3]
        allowed = draw_mask(np.random.default_rng(seed), N_GATES, n_choices)
        jobs.append(masked_job(seed, options, allowed, n_choices))
        is_open = jobs[-1].network.gate_logits > -np.inf
        assert_array_equal(is_open, allowed[:, jobs[-1].network.gate_choices])
    starts = [job.network.gate_logits.copy() for job in jobs]
    for start, trained in zip(starts, engine(jobs), strict=True):
        logits, is_open = trained.network.gate_logits, start > -np.inf
        assert_array_equal(logits > -np.inf, is_open)
        assert np.isfinite(logits[is_open]).all()
        chosen = trained.network.gate_choices == hard_codes(trained.network)[:, None]
        assert is_open[chosen].all()
        assert (logits != start)[is_open.sum(axis=1) > 1].any()


def assert_open_masks_change_nothing(engine: Engine, options: TrainOptions) -> None:
    """A mask that allows everything gives the same bits as no mask."""
    (plain,) = engine([masked_job(1, options, None, 8)])
    (masked,) = engine([masked_job(1, options, np.ones((N_GATES, 16), dtype=bool), 8)])
    assert_array_equal(plain.history, masked.history)
    for a, b in zip(plain.network.parameters(), masked.network.parameters(), strict=True):
        assert_array_equal(a, b)
