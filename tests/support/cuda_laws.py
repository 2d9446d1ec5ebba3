"""What the cuda engine promises about a step and a run, for every variant of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from dln import DLNRegressor
from dln.core.literals import LiteralKind
from dln.train.cuda import train_population
from dln.train.cuda.layout import Variant
from dln.train.cuda.probe import probe
from dln.train.jobs import Engine, Job
from dln.train.live import hard_sources
from dln.train.losses import LOSSES
from dln.train.network import Shape
from dln.train.number_loss import LossName
from dln.train.options import TrainOptions
from dln.train.torch import Phase
from tests.support.autograd import PARAMETERS, torch_gradients, torch_points
from tests.support.cuda_jobs import short_job
from tests.support.engines import runs_agree
from tests.support.heads import (
    THRESHOLDS,
    assert_first_of_ties_wins,
    assert_head_agrees,
    assert_losses_stay_finite,
    gate_table,
    gates_job,
    limits_job,
)
from tests.support.jobs import random_job


def assert_step_agrees(job: Job, phase: Phase, variant: Variant, tolerance: float) -> None:
    """Votes equal PyTorch's exactly; scores and gradients equal autograd's up to a small error."""
    found = probe(job, phase.value, variant)
    atol = tolerance if job.network.predicts_number else 0.0
    assert_allclose(found.points, torch_points(job), rtol=0, atol=atol)
    loss, expected = torch_gradients(job, phase)
    assert found.loss == pytest.approx(loss, rel=1e-5, abs=1e-6)
    for name in PARAMETERS:
        scale = max(float(np.abs(expected[name]).max(initial=0.0)), 1e-2)
        got = getattr(found.gradients, name)
        assert_allclose(got, expected[name], atol=tolerance * scale, err_msg=name)
        assert not got[np.isinf(getattr(job.network, name))].any()  # a masked choice


def assert_head_is_right(variant: Variant, n_seeds: int) -> None:
    """Loss, gradient, answer and gates are those of their definitions."""

    def step(job: Job) -> tuple[float, NDArray[np.float32]]:
        found = probe(job, "links", variant)
        gradients = found.gradients
        return found.loss, gradients.weights if gradients.predicts_number else gradients.vote_logits

    for loss in LOSSES.values():
        for seed in range(n_seeds):
            assert_head_agrees(step, loss, seed, n_single=2)
    assert_losses_stay_finite(step)
    assert_first_of_ties_wins(train_population)
    assert_array_equal(probe(gates_job(), "links", variant).points, gate_table())
    for vote_threshold in THRESHOLDS:
        assert_array_equal(probe(limits_job(vote_threshold), "links", variant).points, [[3, 3]])


def assert_same_bits(variants: Sequence[Variant]) -> None:
    """All variants give the same gradients."""
    job = random_job(5, n_rows=150, n_classes=3, shape=Shape((12, 9), n_links=40))
    for phase in Phase:
        first, *others = (probe(job, phase.value, variant) for variant in variants)
        for other in others:
            for name in PARAMETERS:
                assert_array_equal(getattr(first.gradients, name), getattr(other.gradients, name))


def assert_all_thresholds_are_pulled(one_word: Variant, tolerance: float) -> None:
    """The list of inputs of a block has room for all, even if there are more than wires."""
    job = random_job(0, shape=Shape((300,), n_links=8))
    job.network.vote_logits[0] = 3.0  # all gates are reached
    job.network.vote_logits[1] = -3.0
    reads_threshold = np.isin(
        hard_sources(job.network), np.flatnonzero(job.network.literal_kind == LiteralKind.ABOVE)
    )
    assert reads_threshold.sum() > job.network.n_literals + job.network.n_gates
    _, expected = torch_gradients(job, Phase.GATES)
    found = probe(job, "gates", one_word).gradients
    for name in ("cutoffs", "slopes"):
        scale = np.abs(expected[name]).max()
        assert_allclose(getattr(found, name), expected[name], atol=tolerance * scale)


def assert_loss_of_sure_classes_is_exact(variant: Variant) -> None:
    """If the true class is almost certain, 1 minus its probability is mostly rounding error."""
    shape = Shape((30, 20), n_links=5, n_gates=8)
    job = random_job(1, shape=shape, n_classes=3, options=TrainOptions(epochs=10, tau=0.2))
    votes = torch_points(job)
    job = replace(job, data=replace(job.data, target=votes.argmax(axis=1).astype(np.int32)))
    second, first = np.sort(votes, axis=1)[:, -2:].T
    job = replace(job, rows=np.flatnonzero(first - second >= 3))  # p is above 1 - 2 exp(-15)
    loss, _ = torch_gradients(job, Phase.BOTH)
    assert 0 < loss < 1e-5
    assert probe(job, "both", variant).loss == pytest.approx(loss, rel=1e-5)


def count_together(
    reference: Engine,
    options: TrainOptions,
    n_seeds: int,
    make_job: Callable[[TrainOptions, int], Job] = short_job,
) -> int:
    """Train on the GPU and with another engine, and count the runs that give the same."""
    left = train_population([make_job(options, seed) for seed in range(n_seeds)])
    right = reference([make_job(options, seed) for seed in range(n_seeds)])
    return sum(runs_agree(one, other) for one, other in zip(left, right, strict=True))


def assert_regressor_learns(loss: LossName, n_rows: int, epochs: int, least: float) -> None:
    """Fit a regressor with the cuda engine, twice the same and about as well as with native."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 3))
    y = np.where(X[:, 0] > 0.5, 8.0, 2.0) + np.where(X[:, 1] > 0.3, 3.0, 1.0)
    y = y * rng.uniform(0.95, 1.05, n_rows)
    given: dict[str, Any] = {"layers": (12,), "n_networks": 2, "epochs": epochs, "random_state": 0}
    models = [
        DLNRegressor(loss=loss, engine=engine, **given).fit(X, y)
        for engine in ("cuda", "cuda", "native")
    ]
    cuda, again, native = models
    assert cuda.circuit_ == again.circuit_
    assert cuda.history_["loss"].shape == (2, epochs)
    assert cuda.score(X, y) > least
    assert abs(cuda.score(X, y) - native.score(X, y)) < 0.1
