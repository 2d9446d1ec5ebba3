"""The head of the native engine at every level, and the losses that all engines number alike."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from dln import _native  # noqa: E402
from dln.train import native  # noqa: E402
from dln.train import torch as readable  # noqa: E402
from dln.train.cuda.gpu import SOURCES  # noqa: E402
from dln.train.jobs import Job  # noqa: E402
from dln.train.live import hard_votes  # noqa: E402
from dln.train.losses import LOSSES, Loss  # noqa: E402
from dln.train.schedule import make_schedule  # noqa: E402
from dln.train.torch.losses import ROW_LOSSES  # noqa: E402
from tests.support.autograd import torch_points  # noqa: E402
from tests.support.heads import (  # noqa: E402
    THRESHOLDS,
    assert_first_of_ties_wins,
    assert_head_agrees,
    assert_losses_stay_finite,
    gate_table,
    gates_job,
    limits_job,
)
from tests.support.jobs import random_job  # noqa: E402

every_level = pytest.mark.parametrize("level", _native.levels())


def native_step(job: Job, level: str) -> tuple[float, NDArray[np.float32]]:
    bound = native.bind(_native, job, make_schedule(job.options, job.network))
    found = bound.gradients(job.rows, 1, level)
    if job.network.predicts_number:
        return found["loss"], np.array(found["weight"])
    return found["loss"], np.array(found["vote_logit"]).reshape(job.network.vote_logits.shape)


@every_level
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_loss_and_gradient_are_those_of_the_definition(level: str, loss: Loss, seed: int) -> None:
    assert_head_agrees(partial(native_step, level=level), loss, seed, n_single=10)


@every_level
def test_the_loss_of_an_impossible_class_is_finite(level: str) -> None:
    assert_losses_stay_finite(partial(native_step, level=level))


@every_level
def test_the_first_class_wins_a_tie(level: str) -> None:
    assert_first_of_ties_wins(partial(native.train_population, level=level))


def test_the_first_class_wins_a_tie_in_pytorch() -> None:
    assert_first_of_ties_wins(readable.train_population)


@every_level
def test_every_gate_computes_its_table(level: str) -> None:
    job = gates_job()
    bound = native.bind(_native, job, make_schedule(job.options, job.network))
    assert_array_equal(bound.points(job.rows, level), gate_table())
    assert_array_equal(torch_points(job), gate_table())


@pytest.mark.parametrize("vote_threshold", THRESHOLDS)
def test_a_vote_is_on_from_the_same_logit_in_every_engine(vote_threshold: float) -> None:
    job = limits_job(vote_threshold)
    bound = native.bind(_native, job, make_schedule(job.options, job.network))
    for level in _native.levels():
        assert_array_equal(bound.points(job.rows, level), [[3, 3]])
    assert_array_equal(torch_points(job), [[3, 3]])
    assert_array_equal(hard_votes(job.network).sum(axis=1), [3, 3])


# -- the registry -------------------------------------------------------------------------------


def test_losses_have_the_numbers_of_the_header() -> None:
    (header,) = (folder / "losses.h" for folder in SOURCES if (folder / "losses.h").exists())
    text = header.read_text("utf-8")
    members = re.search(r"enum class Loss : int \{(.*?)\}", text, re.DOTALL)
    assert members is not None
    numbers = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", members[1])}
    assert numbers == {loss.name.replace("-", "_"): loss.number for loss in LOSSES.values()}
    assert sorted(numbers.values()) == list(range(len(LOSSES)))
    assert f"constexpr int kLosses = {len(LOSSES)};" in text


def test_every_loss_has_a_definition() -> None:
    assert ROW_LOSSES.keys() == LOSSES.keys()


def test_an_unknown_loss_is_refused() -> None:
    (loss, *_) = LOSSES.values()
    for number in (-1, len(LOSSES)):
        with pytest.raises(ValueError, match="unknown loss"):
            native.train_population([replace(random_job(0), loss=replace(loss, number=number))])
