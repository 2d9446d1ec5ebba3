"""A run that continues from a saved state ends with the bits of a run that was not stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dln import _native as native
from dln.train.jobs import Job
from dln.train.native import bind
from dln.train.options import TrainOptions
from dln.train.schedule import make_schedule
from tests.support.jobs import IN_TURN, TOGETHER, number_job, random_job

EPOCHS, BATCHES = 5, 4
"""With 100 rows in batches of 25."""

OPTIONS = {
    **{
        name: replace(options, epochs=EPOCHS, batch_size=min(options.batch_size, 25))
        for name, options in (TOGETHER | IN_TURN).items()
    },
    "traced": TrainOptions(epochs=EPOCHS, batch_size=25, trace_every=2),
    "the best epoch": TrainOptions(
        epochs=EPOCHS, batch_size=25, eval_every=1, keep_best=True, patience=2
    ),
}


def make_job(options: TrainOptions, *, of_number: bool = False) -> Job:
    job = (number_job if of_number else random_job)(3, options=options)
    return replace(job, rows=np.arange(90), valid_rows=np.arange(90, 100))


def train(job: Job, state: bytes | None = None, save_at: int | None = None) -> Any:
    """Train a job from a state, and perhaps save its state before a batch."""
    run = bind(native, job, make_schedule(job.options, job.network))
    if state is not None:
        run.continue_from(state)
    if save_at is not None:
        run.want_state(save_at)
    native.train([run], 1)
    return run


def assert_same(first: tuple[Job, Any], second: tuple[Job, Any]) -> None:
    (job, run), (other_job, other_run) = first, second
    parameters = zip(job.network.parameters(), other_job.network.parameters(), strict=True)
    for own, other in parameters:
        assert_array_equal(own.view(np.int32), other.view(np.int32))
    assert_array_equal(run.history(), other_run.history())
    assert_array_equal(run.trace(), other_run.trace())
    assert run.trace_epochs == other_run.trace_epochs
    assert run.best_epoch == other_run.best_epoch


@pytest.mark.parametrize("of_number", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_continues_from_any_batch(name: str, of_number: bool) -> None:
    options = OPTIONS[name]
    if of_number and name in ("program", "the best epoch"):
        options = replace(options, vote_gradient="soft", validation_score="validation")
    whole = make_job(options, of_number=of_number)
    expected = whole, train(whole)
    for batch in range(EPOCHS * BATCHES):
        stopped = make_job(options, of_number=of_number)
        state = train(stopped, save_at=batch).take_state()
        if state is None:  # the run ended before, because it did not improve
            continue
        job = make_job(options, of_number=of_number)
        assert_same((job, train(job, state)), expected)


def test_a_run_may_be_continued_again_and_again() -> None:
    options = OPTIONS["all"]
    whole = make_job(options)
    expected = whole, train(whole)
    state = None
    for batch in range(0, EPOCHS * BATCHES, 3):
        state = train(make_job(options), state, save_at=batch).take_state()
        assert state is not None
    job = make_job(options)
    assert_same((job, train(job, state)), expected)


def test_the_state_at_the_end_holds_the_result() -> None:
    options = OPTIONS["the best epoch"]
    whole = make_job(options)
    run = bind(native, whole, make_schedule(options, whole.network))
    run.keep_state()
    native.train([run], 1)
    job = make_job(options)
    assert_same((job, train(job, run.take_state())), (whole, run))
    assert run.take_state() is None


def test_rows_that_are_shuffled_in_windows_have_the_same_order() -> None:
    """From 4,194,304 rows on, windows of rows are shuffled one after another."""
    few = make_job(TrainOptions(epochs=2, batch_size=1 << 20, trace_every=0))
    rows = np.tile(few.rows, 2**22 * 3 // 2 // len(few.rows) + 1)
    network = few.network
    # Only the order matters here, so the network is as small as possible.
    jobs = [replace(few, network=network.copy(), rows=rows) for _ in range(3)]
    expected = jobs[0], train(jobs[0])
    state = train(jobs[1], save_at=8).take_state()  # in the second epoch
    assert_same((jobs[2], train(jobs[2], state)), expected)


@pytest.mark.parametrize(
    "spoil", [lambda state: state[:-1], lambda state: state + b"0", lambda state: state[:9]]
)
def test_a_state_of_another_network_is_refused(spoil: Any) -> None:
    options = OPTIONS["unified"]
    state = train(make_job(options), save_at=3).take_state()
    with pytest.raises(ValueError, match="the state belongs to another network"):
        train(make_job(options), spoil(state))
    other = random_job(3, n_classes=3, options=options)
    with pytest.raises(ValueError, match="the state belongs to another"):
        train(other, state)
