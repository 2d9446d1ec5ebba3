"""The cuda engine on a GPU: the same votes, gradients, schedules and runs as the other engines."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.support.cuda_jobs import (
    assert_same_runs,
    draw_job,
    draw_number_job,
    mixed_jobs,
    short_number_job,
)
from tests.support.jobs import IN_TURN, TOGETHER, UNIFIED, random_job
from tests.support.masks import assert_masks_hold, assert_open_masks_change_nothing

torch = pytest.importorskip("torch")
cupy = pytest.importorskip("cupy", reason="needs CuPy and an NVIDIA GPU")
if not cupy.cuda.is_available():
    pytest.skip("needs an NVIDIA GPU", allow_module_level=True)

from dln import DLNClassifier, DLNRegressorSearchCV  # noqa: E402
from dln.errors import TrainingError  # noqa: E402
from dln.train import torch as readable  # noqa: E402
from dln.train.cuda import engine as cuda_engine  # noqa: E402
from dln.train.cuda import train_population  # noqa: E402
from dln.train.cuda.gpu import compile_kernel  # noqa: E402
from dln.train.cuda.layout import BLOCK_STATIC, THREADS, Limits, Sizes, Variant  # noqa: E402
from dln.train.jobs import Engine, Job  # noqa: E402
from dln.train.network import Shape  # noqa: E402
from dln.train.number_loss import LossName  # noqa: E402
from dln.train.options import TrainOptions  # noqa: E402
from dln.train.torch import Phase  # noqa: E402
from tests.support.cuda_laws import (  # noqa: E402
    assert_all_thresholds_are_pulled,
    assert_head_is_right,
    assert_loss_of_sure_classes_is_exact,
    assert_regressor_learns,
    assert_same_bits,
    assert_step_agrees,
    count_together,
)

HAS_NATIVE = importlib.util.find_spec("dln._native") is not None


def reference_engine() -> Engine:
    """Return the native engine, or PyTorch if dln was installed without a compiler."""
    if HAS_NATIVE:
        from dln.train import native

        return native.train_population
    return readable.train_population


# -- one step -----------------------------------------------------------------------------------

VARIANTS = {
    **{f"{n} threads": Variant(n, blocks, 2, 0) for blocks, n in THREADS.items()},
    **{f"{n} threads, one word": Variant(n, blocks, 1, 0) for blocks, n in THREADS.items()},
    "rows in global memory": Variant(THREADS[1], 1, 2, 1),
    "all in global memory": Variant(THREADS[1], 1, 2, 2),
}


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_votes_are_equal_and_gradients_agree(variant: Variant, phase: Phase) -> None:
    for seed in range(30):
        assert_step_agrees(draw_job(seed), phase, variant, tolerance=1e-4)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_scores_of_numbers_and_gradients_agree(variant: Variant, phase: Phase) -> None:
    for seed in range(30):
        assert_step_agrees(draw_number_job(seed), phase, variant, tolerance=1e-4)


def test_loss_gradient_answer_and_gates_are_right() -> None:
    assert_head_is_right(Variant(THREADS[4], 4, 2, 0), n_seeds=30)


def test_the_loss_of_almost_certain_classes_is_exact() -> None:
    assert_loss_of_sure_classes_is_exact(Variant(THREADS[4], 4, 2, 0))


def test_thresholds_are_trained_with_more_inputs_than_wires() -> None:
    assert_all_thresholds_are_pulled(VARIANTS[f"{THREADS[4]} threads, one word"], tolerance=1e-4)


def test_every_variant_computes_the_same_bits() -> None:
    assert_same_bits(list(VARIANTS.values()))


@pytest.mark.parametrize("name", ["probe", "train"])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_the_kernel_uses_at_most_the_reserved_shared_memory(variant: Variant, name: str) -> None:
    kernel = compile_kernel(variant, f"{name}.cu", 0).get_function(name)
    assert kernel.shared_size_bytes <= BLOCK_STATIC


# -- runs ---------------------------------------------------------------------------------------

ALSO_LARGE = {**TOGETHER, "large batches": replace(UNIFIED, batch_size=150)}


@pytest.mark.parametrize("name", ALSO_LARGE)
def test_short_runs_from_the_same_start_agree(name: str) -> None:
    assert count_together(reference_engine(), ALSO_LARGE[name], 6) >= 4
    assert count_together(reference_engine(), ALSO_LARGE[name], 6, short_number_job) >= 4


@pytest.mark.parametrize("name", IN_TURN)
def test_short_runs_with_alternating_phases_mostly_agree(name: str) -> None:
    # With separate phases, many gradients are 0 except for rounding, and Adam magnifies these.
    assert count_together(reference_engine(), IN_TURN[name], 12) >= 3


@pytest.mark.parametrize("name", TOGETHER | IN_TURN)
def test_a_masked_function_is_never_learned(name: str) -> None:
    options = (TOGETHER | IN_TURN)[name]
    assert_masks_hold(train_population, options, 30)
    assert_open_masks_change_nothing(train_population, options)


def test_the_result_does_not_depend_on_other_networks_or_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = train_population(mixed_jobs())
    assert_same_runs(together, train_population(mixed_jobs()))
    assert_same_runs(together, [train_population([job])[0] for job in mixed_jobs()])
    crowd = mixed_jobs() + [random_job(seed, n_rows=20) for seed in range(2_000)]
    assert_same_runs(together, train_population(crowd)[:24])
    monkeypatch.setattr(cuda_engine, "LAUNCH_SECONDS", 1e-6)
    assert_same_runs(together, train_population(mixed_jobs()))


def many_mixed_jobs() -> list[Job]:
    """Return at least as many jobs as a GPU trains at the same time."""
    return [job for _ in range(10) for job in mixed_jobs()]


def test_variants_that_run_at_the_same_time_are_independent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = train_population(many_mixed_jobs())
    every = list(VARIANTS.values())

    def choose(sizes: Sizes, crowd: int, limits: Limits) -> Variant:
        return every[sizes.n_gates % len(every)]

    monkeypatch.setattr(cuda_engine, "choose_variant", choose)
    for _ in range(3):
        assert_same_runs(expected, train_population(many_mixed_jobs()))


def test_training_waits_for_uploads() -> None:
    source = 'extern "C" __global__ void spin(long long n) { for (long long start = clock64(); '
    spin = cupy.RawKernel(source + "clock64() - start < n;); }", "spin")
    expected = train_population(mixed_jobs())
    spin((1,), (1,), (np.int64(4e8),))  # takes a few tenths of a second; uploads wait for it
    assert_same_runs(expected, train_population(mixed_jobs()))


def test_large_networks_leave_shared_memory() -> None:
    options = TrainOptions(epochs=2, phases="unified", learning_rate=0.01)
    shape = Shape((1500, 800, 40), n_links=6)
    jobs = [random_job(0, n_rows=100, shape=shape, options=options) for _ in range(2)]
    (left,) = train_population([jobs[0]])
    (right,) = reference_engine()([jobs[1]])
    assert_allclose(left.history, right.history, atol=1e-3)


@pytest.mark.parametrize("keep_best", [False, True])
def test_best_evaluations_and_patience_agree(keep_best: bool) -> None:
    options = TrainOptions(
        epochs=60, eval_every=1, patience=5, keep_best=keep_best, phases="unified", trace_every=7
    )
    results = []
    for engine in (train_population, reference_engine()):
        job = random_job(2, n_rows=60, options=options)
        job = replace(job, rows=np.arange(40), valid_rows=np.arange(40, 60))
        results.append(engine([job])[0])
    left, right = results
    assert len(left.history) == len(right.history) < 60
    assert left.best_epoch == right.best_epoch
    for one, other in zip(left.network.parameters(), right.network.parameters(), strict=True):
        assert_allclose(one, other, atol=2e-2)
    assert left.trace is not None
    assert right.trace is not None
    assert left.trace.epochs.tolist() == right.trace.epochs.tolist()
    assert_array_equal(left.trace.gate_logits[0], right.trace.gate_logits[0])
    assert_allclose(left.trace.gate_logits, right.trace.gate_logits, atol=2e-2)


def test_no_jobs_are_no_results() -> None:
    assert train_population([]) == []


def test_accuracies_have_the_same_distribution_as_in_other_engines() -> None:
    def jobs() -> list[Job]:
        rng = np.random.default_rng(0)
        drawn = []
        for seed in range(240):
            job = random_job(seed, n_rows=300, shape=Shape((16, 8), n_links=6))
            cells = rng.random((300, 4)).astype(np.float32)
            target = ((cells[:, 0] > 0.5) ^ (cells[:, 1] > 0.4)).astype(np.int32)
            target ^= (rng.random(300) < 0.1).astype(np.int32)
            data = replace(job.data, cells=cells, target=target)
            options = TrainOptions(epochs=30, eval_every=30, seed=seed)
            rows = np.arange(300)
            drawn.append(replace(job, data=data, options=options, rows=rows[:200]))
            drawn[-1] = replace(drawn[-1], valid_rows=rows[200:])
        return drawn

    left = np.sort([result.history[-1, 2] for result in train_population(jobs())])
    right = np.sort([result.history[-1, 2] for result in reference_engine()(jobs())])
    values = np.union1d(left, right)
    distance = np.abs(
        np.searchsorted(left, values, side="right") - np.searchsorted(right, values, side="right")
    ).max() / len(left)
    # Kolmogorov-Smirnov distance of two samples of 240: above 0.15 in one of a hundred cases.
    assert distance < 0.15
    assert left.mean() == pytest.approx(right.mean(), abs=0.02)


# -- faces and failures ---------------------------------------------------------------------------


def test_the_estimator_learns_on_the_gpu() -> None:
    X = np.random.default_rng(0).random((300, 3))
    y = (X[:, 0] > 0.5) & (X[:, 1] > 0.3)
    model = DLNClassifier(layers=(12, 6), tau=2.0, epochs=40, random_state=0, engine="cuda")
    assert model.fit(X, y).score(X, y) > 0.95
    assert model.history_["loss"].shape == (3, 40)


@pytest.mark.parametrize("loss", ["squared", "absolute", "quantile", "poisson", "gamma"])
def test_the_regressor_learns_on_the_gpu(loss: LossName) -> None:
    assert_regressor_learns(loss, 400, 40, least=0.8)


def test_a_search_for_numbers_on_the_gpu_is_reproducible() -> None:
    X = np.random.default_rng(0).random((200, 3))
    y = np.where(X[:, 0] > 0.5, 8.0, 2.0) + X[:, 1]
    space = {"layers": [(8,), (16,)], "epochs": 20, "n_networks": 1, "n_trees": 0}
    search = DLNRegressorSearchCV(space=space, n_trials=3, cv=2, engine="cuda", random_state=0)
    first = search.fit(X, y).trials_
    assert search.fit(X, y).trials_ == first
    assert search.best_score_ > 0.8


def test_ctrl_c_keeps_what_was_learned_so_far() -> None:
    jobs = [random_job(0, options=TrainOptions(epochs=10**6)), random_job(1)]
    before = jobs[0].network.copy()

    def stop(histories: list[Any]) -> None:
        raise KeyboardInterrupt

    first, _ = train_population(jobs, on_progress=stop, on_interrupt="keep")
    assert first.interrupted
    assert len(first.history) >= 2
    assert not np.array_equal(before.gate_logits, first.network.gate_logits)
    with pytest.raises(KeyboardInterrupt):
        train_population(jobs, on_progress=stop)


def test_diverged_training_is_an_error() -> None:
    options = TrainOptions(epochs=3, grad_factor=1e6, phases="unified")
    job = random_job(0, shape=Shape((9,) * 9), options=options)
    with pytest.raises(TrainingError, match="lower learning_rate or grad_factor"):
        train_population([job])


def test_a_batch_of_almost_no_weight_is_trained() -> None:
    job = random_job(0, options=TrainOptions(epochs=2, batch_size=2))
    weight = np.where(np.arange(100) % 3 == 0, 1, 1e-40).astype(np.float32)
    (result,) = train_population([replace(job, data=replace(job.data, weight=weight))])
    assert np.all(np.isfinite(result.history[:, 0]))
