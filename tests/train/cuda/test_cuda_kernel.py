"""The kernel of the cuda engine on the CPU, where threads are fibers that run in random order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.cuda_jobs import (
    assert_same_runs,
    draw_job,
    draw_number_job,
    mixed_jobs,
    short_job,
    short_number_job,
)
from tests.support.emulated import cupy, emulated_gpu
from tests.support.jobs import IN_TURN, TOGETHER, UNIFIED, assert_within_limits, random_job
from tests.support.masks import assert_masks_hold, assert_open_masks_change_nothing

pytest.importorskip("torch")

from dln.errors import DeviceMemoryError
from dln.train import native
from dln.train.cuda import engine as cuda_engine
from dln.train.cuda import train_population
from dln.train.cuda.layout import Limits, Sizes, Variant
from dln.train.jobs import Job
from dln.train.network import Shape
from dln.train.options import TrainOptions
from dln.train.settings import Pruning
from dln.train.torch import Phase
from tests.support.cuda_laws import (
    assert_all_thresholds_are_pulled,
    assert_head_is_right,
    assert_loss_of_sure_classes_is_exact,
    assert_regressor_learns,
    assert_same_bits,
    assert_step_agrees,
    count_together,
)

# Blocks are small, because all threads of a block must wait for each other at every barrier.
VARIANTS = {
    "two words": Variant(64, 1, 2, 0),
    "one word": Variant(96, 1, 1, 0),
    "rows in global memory": Variant(96, 1, 2, 1),
    "all in global memory": Variant(64, 1, 1, 2),
}


@pytest.fixture(scope="module", autouse=True)
def gpu() -> Iterator[None]:
    """Emulate a GPU on the CPU."""
    with emulated_gpu():
        yield


def choose_by_gates(sizes: Sizes, crowd: int, limits: Limits) -> Variant:
    """Choose a variant by the number of gates, so that different networks get different ones."""
    return list(VARIANTS.values())[sizes.n_gates % len(VARIANTS)]


@pytest.fixture(autouse=True)
def variants(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Train networks of all variants at the same time."""
    monkeypatch.setattr(cuda_engine, "choose_variant", choose_by_gates)
    yield
    cupy.forget()


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_votes_are_equal_and_gradients_agree(variant: Variant, phase: Phase) -> None:
    for seed in range(8):
        assert_step_agrees(draw_job(seed), phase, variant, tolerance=1e-5)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_scores_of_numbers_and_gradients_agree(variant: Variant, phase: Phase) -> None:
    for seed in range(6):
        assert_step_agrees(draw_number_job(seed), phase, variant, tolerance=1e-5)


def test_loss_gradient_answer_and_gates_are_right() -> None:
    assert_head_is_right(VARIANTS["two words"], n_seeds=8)


def test_the_loss_of_almost_certain_classes_is_exact() -> None:
    assert_loss_of_sure_classes_is_exact(VARIANTS["two words"])


def test_every_variant_computes_the_same_bits() -> None:
    assert_same_bits(list(VARIANTS.values()))


def test_thresholds_are_trained_with_more_inputs_than_wires() -> None:
    assert_all_thresholds_are_pulled(VARIANTS["one word"], tolerance=1e-5)


def few_jobs() -> list[Job]:
    """Return jobs with alternating and with unified phases."""
    in_turn = [job for job in mixed_jobs() if job.options.phases != "unified"]
    unified = [make(UNIFIED, seed) for seed in range(2) for make in (short_job, short_number_job)]
    return in_turn[:8] + unified


def test_the_result_does_not_depend_on_other_networks_variants_or_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = train_population(few_jobs())
    for variant in VARIANTS.values():
        monkeypatch.setattr(cuda_engine, "choose_variant", lambda *_, own=variant: own)
        assert_same_runs(together, train_population(few_jobs()))
    monkeypatch.setattr(cuda_engine, "choose_variant", choose_by_gates)
    monkeypatch.setattr(cuda_engine, "LAUNCH_SECONDS", 1e-6)
    assert_same_runs(together, train_population(few_jobs()))


def test_variants_that_run_at_the_same_time_are_independent() -> None:
    def jobs() -> list[Job]:
        options = TrainOptions(epochs=30, batch_size=20)
        shapes = [Shape((n_gates,), n_links=4) for n_gates in (24, 25, 26, 27)]
        return [random_job(0, n_rows=60, shape=shape, options=options) for shape in shapes]

    assert len({job.network.n_gates % len(VARIANTS) for job in jobs()}) == len(VARIANTS)
    alone = [train_population([job])[0] for job in jobs()]
    for _ in range(3):
        assert_same_runs(alone, train_population(jobs()))


@pytest.mark.parametrize("name", TOGETHER)
def test_short_runs_agree_with_the_native_engine(name: str) -> None:
    assert count_together(native.train_population, TOGETHER[name], 3) >= 2


@pytest.mark.parametrize("name", TOGETHER)
def test_short_runs_for_numbers_agree_with_the_native_engine(name: str) -> None:
    options = TOGETHER[name]
    assert count_together(native.train_population, options, 3, short_number_job) >= 2


def test_weights_stay_within_their_limits_and_pruned_ones_at_0() -> None:
    options = replace(
        UNIFIED, trace_every=1, weight_rate=5.0,
        pruning=Pruning(0.1, 0.6, convergence=0.9, least=0.3),
    )  # fmt: skip
    for result in train_population([short_number_job(options, seed) for seed in range(4)]):
        assert_within_limits(result.network)
        assert result.trace is not None
        is_out = result.trace.weights[:, :-1] == 0
        pruned = is_out[-1] & ~is_out[0]
        assert pruned.any()
        assert np.all(is_out[1:, pruned] >= is_out[:-1, pruned])


@pytest.mark.parametrize("name", TOGETHER | IN_TURN)
def test_a_masked_function_is_never_learned(name: str) -> None:
    options = (TOGETHER | IN_TURN)[name]
    assert_masks_hold(train_population, options, 6)
    assert_open_masks_change_nothing(train_population, options)


def test_pruning_traces_and_patience_do_not_depend_on_the_variant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = replace(
        UNIFIED, epochs=9, eval_every=1, patience=4, keep_best=True, trace_every=2,
        pruning=Pruning(0.1, 0.6, convergence=0.9, least=0.3), phases="batches",
    )  # fmt: skip
    runs = []
    for variant in VARIANTS.values():
        monkeypatch.setattr(cuda_engine, "choose_variant", lambda *_, own=variant: own)
        job = random_job(3, n_rows=90, n_classes=9, shape=Shape((14, 10), n_links=5))
        runs.append(train_population([replace(job, options=options, valid_rows=np.arange(30))]))
    assert np.isinf(runs[0][0].network.link_logits).any()
    for run in runs[1:]:
        assert_same_runs(runs[0], run)


@pytest.mark.parametrize("room", [1_000, 2**40], ids=["networks", "blocks"])
def test_a_full_gpu_is_reported(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cupy.empty

    def limited(shape: Any, dtype: Any = float) -> Any:
        if np.prod(shape, dtype=object) > room:
            raise MemoryError("no more")
        return real(shape, dtype)

    monkeypatch.setattr(cupy, "empty", limited)
    monkeypatch.setattr(cuda_engine, "memory_of_any", lambda *_: (0, 2**50))
    with pytest.raises(DeviceMemoryError, match=r"for 1 networks \(no more\); train fewer of them"):
        train_population([random_job(0)])


def test_the_regressor_learns() -> None:
    assert_regressor_learns("squared", 80, 8, least=0.6)


# -- the emulation itself -----------------------------------------------------------------------

IDLE = 'extern "C" __global__ void train(int* out) {}\n'


def launch(body: str, folder: Path) -> list[int]:
    """Run a kernel of 64 threads with 64 words of shared memory; return the array out (64)."""
    (folder / "train.cu").write_text(IDLE)
    (folder / "probe.cu").write_text(
        f'extern "C" __global__ void probe(int* out) {{\n'
        f"int* shared = reinterpret_cast<int*>(near_memory); int me = threadIdx.x;\n{body}\n}}\n"
    )
    kernel = cupy.RawModule("", [f"-I{folder}"], "nvrtc").get_function("probe")
    out = cupy.zeros(64, dtype=np.int32)
    kernel((1,), (64,), (out,), shared_mem=256)
    return out.get().tolist()  # type: ignore[no-any-return]


def test_after_a_barrier_threads_read_what_others_wrote(tmp_path: Path) -> None:
    assert launch("shared[me] = me; __syncthreads(); out[me] = shared[63 - me];", tmp_path) == (
        list(range(63, -1, -1))
    )


def test_without_a_barrier_threads_run_in_random_order(tmp_path: Path) -> None:
    body = "__shared__ int next; if (me == 0) next = 0; __syncthreads(); out[me] = next++;"
    first, second = (launch(body, tmp_path) for _ in range(2))
    assert first != second
    assert sorted(first) == sorted(second) == list(range(64))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if (me < 3) __syncthreads();", "3 threads wait for others that have left"),
        ("if (me < 3) __syncwarp(); else __ballot_sync(~0u, true);", "not at the same place"),
        ("shared[64] = me;", "past the end of its memory"),
        ("out[64] = me;", "beside an array"),
    ],
)
def test_faults_are_reported(body: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=message):
        launch(body, tmp_path)
