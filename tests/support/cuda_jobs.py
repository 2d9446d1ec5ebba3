"""Jobs for the cuda engine, on a GPU and on an emulated one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal

from dln.train.jobs import Job
from dln.train.losses import LOSSES
from dln.train.network import Shape
from dln.train.options import TrainOptions
from dln.train.settings import Annealing, Freezing
from tests.support.jobs import as_number, draw_mask, random_job, with_offset


def draw_job(seed: int) -> Job:
    """A job of any shape and with any options that a single step depends on."""
    rng = np.random.default_rng(seed)

    def one_of(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    options = TrainOptions(
        epochs=10,
        tau=one_of(0.5, 2.0, 20.0),
        grad_factor=one_of(1.0, 1.5),
        gate_gradient=one_of("hard", "mixture"),
        temperature=one_of(1.0, 0.3, Annealing(2.0, 0.1)),
        freezing=one_of(None, None, Freezing(0.0), Freezing(0.0, "outputs-first")),
        vote_gradient=("soft", "hard")[seed % 2],  # type: ignore[arg-type]
    )
    layers = rng.integers(1, 21, rng.integers(1, 5)).tolist()
    if seed % 3 == 0:  # a layer that takes even the largest block three rounds
        layers[seed // 3 % len(layers)] += 130
    shape = Shape(
        tuple(layers),
        n_links=one_of(1, 3, 8, 17, None),
        n_gates=one_of(1, 4, 8, 16),
        concatenation=one_of("separate", "shared", "none"),
        link_drawing=("distinct", "repeated")[seed // 2 % 2],  # type: ignore[arg-type]
    )
    n_rows = int(rng.integers(1, 151))
    n_classes = int(rng.integers(2, 6))
    allowed = draw_mask(rng, sum(layers), shape.n_gates) if seed % 2 else None
    job = random_job(
        seed,
        n_rows=n_rows,
        shape=shape,
        n_classes=n_classes,
        options=options,
        vote_threshold=one_of(0.8, 0.6),
        allowed_gates=allowed,
    )
    return with_offset(job, seed) if seed % 4 == 1 else job


NUMBERS = [loss for loss in LOSSES.values() if loss.readout == "score"]


def draw_number_job(seed: int) -> Job:
    """The job of `draw_job` with a number to predict, with each loss in turn."""
    return as_number(draw_job(seed), seed, NUMBERS[seed % len(NUMBERS)])


def short_number_job(options: TrainOptions, seed: int) -> Job:
    """The job of `short_job` with a number to predict, with each loss in turn."""
    return as_number(short_job(options, seed), seed, NUMBERS[seed % len(NUMBERS)])


def short_job(options: TrainOptions, seed: int) -> Job:
    options = replace(options, epochs=6, eval_every=2, learning_rate=0.02, seed=seed)
    concatenation: Any = ("separate", "shared", "none")[seed % 3]
    shape = Shape((12, 9), n_links=6, concatenation=concatenation)
    job = random_job(seed, n_rows=200, n_classes=3, shape=shape, options=options)
    return replace(job, valid_rows=np.arange(50))


def mixed_jobs() -> list[Job]:
    """Networks of different rows, depth, width, candidates and classes in one population."""
    jobs = []
    for seed in range(24):
        job = draw_job(seed)
        options = replace(
            job.options,
            epochs=5 + seed,
            batch_size=(16, 64, 100)[seed % 3],
            phases=("unified", "batches", "epochs")[seed % 3],  # type: ignore[arg-type]
            eval_every=seed % 3,
            keep_best=seed % 2 == 0,
            seed=seed,
        )
        n = len(job.rows)
        jobs.append(replace(job, options=options, valid_rows=np.arange(0, n, 2)))
    return jobs


def assert_same_runs(first: list[Any], second: list[Any]) -> None:
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one.history, other.history)
        for a, b in zip(one.network.parameters(), other.network.parameters(), strict=True):
            assert_array_equal(a, b)
