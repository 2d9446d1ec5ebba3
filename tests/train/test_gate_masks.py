"""Gate functions that are masked: no engine learns them, and the others are learned as before."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.support.jobs import IN_TURN, TOGETHER, UNIFIED, draw_mask, random_job
from tests.support.masks import (
    N_GATES,
    assert_masks_hold,
    assert_open_masks_change_nothing,
    masked_job,
)

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from dln import _native  # noqa: E402
from dln.core.gates import GATE_BY_NAME  # noqa: E402
from dln.train import native  # noqa: E402
from dln.train import torch as readable  # noqa: E402
from dln.train.jobs import Engine  # noqa: E402
from dln.train.network import Shape  # noqa: E402
from dln.train.options import TrainOptions  # noqa: E402
from dln.train.schedule import make_schedule  # noqa: E402
from dln.train.torch import Phase  # noqa: E402
from tests.support.autograd import torch_gradients  # noqa: E402

OPTIONS = TOGETHER | IN_TURN
ENGINES: dict[str, Engine] = {
    **{name: partial(native.train_population, level=name) for name in _native.levels()},
    "torch": readable.train_population,
}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


@every_engine
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_masked_function_is_never_learned(engine: Engine, options: TrainOptions) -> None:
    assert_masks_hold(engine, options, 6)


@pytest.mark.parametrize("relaxation", ["soft", "gumbel"])
def test_no_relaxation_learns_a_masked_function(relaxation: str) -> None:
    options = replace(UNIFIED, relaxation=relaxation)  # type: ignore[arg-type]
    assert_masks_hold(readable.train_population, options, 6)


@every_engine
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_mask_that_allows_everything_changes_nothing(
    engine: Engine, options: TrainOptions
) -> None:
    assert_open_masks_change_nothing(engine, options)


@pytest.mark.parametrize("level", _native.levels())
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_masking_functions_is_the_same_as_leaving_them_out(
    level: str, options: TrainOptions
) -> None:
    for seed in range(6):
        allowed = np.broadcast_to(draw_mask(np.random.default_rng(seed), 1, 16), (N_GATES, 16))
        masked, fewer = (masked_job(seed, options, allowed, 16) for _ in range(2))
        left = np.flatnonzero(allowed[0, masked.network.gate_choices])
        network = replace(
            fewer.network,
            gate_choices=fewer.network.gate_choices[left],
            gate_logits=np.ascontiguousarray(fewer.network.gate_logits[:, left]),
        )
        (one,) = native.train_population([masked], level=level)
        (other,) = native.train_population([replace(fewer, network=network)], level=level)
        assert_array_equal(one.history, other.history)
        assert_array_equal(one.network.gate_logits[:, left], other.network.gate_logits)
        assert_array_equal(one.network.link_logits, other.network.link_logits)
        assert_array_equal(one.network.vote_logits, other.network.vote_logits)
        assert_array_equal(one.network.cutoffs, other.network.cutoffs)


@pytest.mark.parametrize("level", _native.levels())
@pytest.mark.parametrize("phase", list(Phase))
@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    options=st.sampled_from(list(TOGETHER.values())),
    n_choices=st.sampled_from([1, 5, 8, 16]),
)
def test_a_masked_function_has_no_gradient(
    level: str, phase: Phase, seed: int, options: TrainOptions, n_choices: int
) -> None:
    allowed = draw_mask(np.random.default_rng(seed), N_GATES, n_choices)
    job = masked_job(seed, options, allowed, n_choices)
    is_open = allowed[:, job.network.gate_choices]
    bound = native.bind(_native, job, make_schedule(job.options, job.network))
    number = {"gates": 0, "links": 1, "both": 2}[phase.value]
    found = np.array(bound.gradients(job.rows, number, level)["gate_logit"]).reshape(is_open.shape)
    _, expected = torch_gradients(job, phase)
    assert not found[~is_open].any()
    assert not expected["gate_logits"][~is_open].any()
    scale = max(float(np.abs(expected["gate_logits"]).max()), 1e-2)
    np.testing.assert_allclose(found, expected["gate_logits"], atol=1e-4 * scale)


def test_a_gate_needs_a_function_that_the_shape_has() -> None:
    only_true = np.zeros((1, 16), dtype=bool)
    only_true[0, GATE_BY_NAME["TRUE"].code] = True
    shape = Shape((1,), n_gates=2)
    with pytest.raises(ValueError, match="gate 0 may learn none of NOR, NAND; allow at least one"):
        random_job(0, shape=shape, allowed_gates=only_true)
    with pytest.raises(ValueError, match=r"allowed_gates is \(1, 16\), expected 16 gates by 16"):
        random_job(0, allowed_gates=only_true)
