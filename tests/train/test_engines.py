"""The engines native and torch agree: the same votes, gradients, schedules and runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.support.jobs import IN_TURN, TOGETHER, random_job

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from dln import _native  # noqa: E402
from dln.train import native  # noqa: E402
from dln.train import torch as readable  # noqa: E402
from dln.train.jobs import Engine, Job  # noqa: E402
from dln.train.live import count_live_gates  # noqa: E402
from dln.train.network import Network, Shape  # noqa: E402
from dln.train.options import TrainOptions  # noqa: E402
from dln.train.schedule import NEVER, make_schedule  # noqa: E402
from dln.train.settings import Alternating, Annealing, Freezing, Pruning  # noqa: E402
from dln.train.torch import LogicNetwork, Phase  # noqa: E402
from tests.support.autograd import (  # noqa: E402
    assert_same_gradients,
    native_gradients,
    torch_gradients,
)
from tests.support.engines import ENGINES, both_engines, runs_agree  # noqa: E402

# -- parity -------------------------------------------------------------------------------------


OPTIONS = st.builds(
    TrainOptions,
    epochs=st.just(10),
    tau=st.sampled_from([0.5, 2.0, 20.0]),
    grad_factor=st.sampled_from([1.0, 1.5]),
    gate_gradient=st.sampled_from(["hard", "mixture"]),
    vote_gradient=st.sampled_from(["soft", "hard"]),
    temperature=st.sampled_from([1.0, 0.3, Annealing(2.0, 0.1)]),
    freezing=st.sampled_from([None, Freezing(0.0), Freezing(0.0, "outputs-first")]),
)
SHAPES = st.builds(
    Shape,
    st.lists(st.integers(1, 20), min_size=1, max_size=4).map(tuple),
    n_links=st.sampled_from([1, 3, 8, 17, None]),
    n_gates=st.sampled_from([1, 4, 8, 16]),
    concatenation=st.sampled_from(["separate", "shared", "none"]),
    link_drawing=st.sampled_from(["distinct", "repeated"]),
)


@pytest.mark.parametrize("phase", list(Phase))
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 150),
    shape=SHAPES,
    n_classes=st.integers(2, 5),
    options=OPTIONS,
    vote_threshold=st.sampled_from([0.8, 0.6]),
)
@example(  # the class is nearly sure: a gradient of p - 1 would be rounding alone
    seed=0,
    n_rows=1,
    shape=Shape((2,), n_links=1, n_gates=4, concatenation="separate"),
    n_classes=3,
    options=TrainOptions(
        epochs=10,
        tau=0.5,
        grad_factor=1.5,
        gate_gradient="hard",
        freezing=Freezing(0.0, "outputs-first"),
    ),
    vote_threshold=0.6,
)
def test_votes_are_equal_and_gradients_agree(
    phase: Phase,
    seed: int,
    n_rows: int,
    shape: Shape,
    n_classes: int,
    options: TrainOptions,
    vote_threshold: float,
) -> None:
    job = random_job(
        seed,
        n_rows=n_rows,
        shape=shape,
        n_classes=n_classes,
        options=options,
        vote_threshold=vote_threshold,
    )
    bound = native.bind(_native, job, make_schedule(options, job.network))
    model = LogicNetwork(job.network)
    for training in (True, False):
        model.train(training)
        votes = model(torch.as_tensor(job.data.cells)).detach().numpy()
        assert_array_equal(votes, bound.points(job.rows))

    found = bound.gradients(job.rows, {"gates": 0, "links": 1, "both": 2}[phase.value])
    loss, expected = torch_gradients(job, phase)
    assert found["loss"] == pytest.approx(loss, rel=1e-5)
    assert_same_gradients(native_gradients(found, job.network), expected)


@pytest.mark.parametrize("name", TOGETHER)
def test_short_runs_from_the_same_start_agree(name: str) -> None:
    together = [_stays_together(TOGETHER[name], seed) for seed in range(6)]
    assert sum(together) >= 4


@pytest.mark.parametrize("name", IN_TURN)
def test_short_runs_with_alternating_phases_mostly_agree(name: str) -> None:
    # With separate phases, many gradients are 0 except for rounding. Adam divides a gradient by its
    # size, so that rounding becomes a full step. About a third of the runs then differ.
    together = [_stays_together(IN_TURN[name], seed) for seed in range(12)]
    assert sum(together) >= 3


def _stays_together(options: TrainOptions, seed: int) -> bool:
    options = replace(options, epochs=6, eval_every=2, learning_rate=0.02, seed=seed)
    concatenation: Any = ("separate", "shared", "none")[seed % 3]
    shape = Shape((12, 9), n_links=6, concatenation=concatenation)
    start, *jobs = (
        replace(
            random_job(seed, n_rows=200, n_classes=3, shape=shape, options=options),
            valid_rows=np.arange(50),
        )
        for _ in range(3)
    )
    (left,) = native.train_population([jobs[0]])
    (right,) = readable.train_population([jobs[1]])
    assert not np.allclose(start.network.gate_logits, left.network.gate_logits, atol=0.01)
    return runs_agree(left, right)


@pytest.mark.parametrize("keep_best", [False, True])
def test_best_evaluations_and_patience_agree(keep_best: bool) -> None:
    options = TrainOptions(
        epochs=60,
        learning_rate=0.05,
        eval_every=1,
        patience=5,
        keep_best=keep_best,
        phases="unified",
    )
    results = []
    for engine in ENGINES.values():
        job = random_job(2, n_rows=60, options=options)
        job = replace(job, rows=np.arange(40), valid_rows=np.arange(40, 60))
        results.append(engine([job])[0])
    left, right = results
    assert len(left.history) == len(right.history) < 60
    assert left.best_epoch == right.best_epoch
    for one, other in zip(left.network.parameters(), right.network.parameters(), strict=True):
        assert_allclose(one, other, atol=2e-2)


# -- every option, in both engines --------------------------------------------------------------


def traced_run(engine: Engine, options: TrainOptions, **parameters: Any) -> tuple[Job, Any]:
    job = random_job(3, options=replace(options, trace_every=1), **parameters)
    (result,) = engine([job])
    return job, result.trace


@both_engines
def test_phases_alternate_by_the_given_number_of_epochs(engine: Engine) -> None:
    options = TrainOptions(epochs=12, phases=Alternating(3))
    _, trace = traced_run(engine, options)
    gates = [not np.array_equal(x, y) for x, y in _pairs(trace.gate_logits)]
    links = [not np.array_equal(x, y) for x, y in _pairs(trace.link_logits)]
    assert gates == [True] * 3 + [False] * 3 + [True] * 3 + [False] * 3
    assert links == [not changed for changed in gates]


@both_engines
@pytest.mark.parametrize("direction", ["inputs-first", "outputs-first"])
def test_layers_freeze_one_after_the_other(engine: Engine, direction: Any) -> None:
    options = TrainOptions(
        epochs=12, phases="unified", threshold_rate=1.0, freezing=Freezing(0.5, direction)
    )
    job, trace = traced_run(engine, options, shape=Shape((9, 7)))
    groups = {
        "first": (trace.gate_logits[:, :9], trace.link_logits[:, :9], _cutoffs(job, trace, 0)),
        "second": (trace.gate_logits[:, 9:], trace.link_logits[:, 9:], _cutoffs(job, trace, 1)),
        "votes": (trace.vote_logits,),
    }
    freezes = {"first": 6, "second": 9, "votes": 12}
    if direction == "outputs-first":
        freezes = {"votes": 6, "second": 9, "first": 12}
    for name, arrays in groups.items():
        for values in arrays:
            moves = [not np.array_equal(x, y) for x, y in _pairs(values)]
            assert moves == [epoch < freezes[name] for epoch in range(12)], name


@both_engines
def test_pruning_removes_undecided_gates(engine: Engine) -> None:
    pruning = Pruning(start=0.25, end=0.75, convergence=0.9, least=0.4)
    shape = Shape((10, 8), n_links=6)
    options = TrainOptions(epochs=8, pruning=pruning, learning_rate=0.2)
    job, trace = traced_run(engine, options, shape=shape)
    gone = [_unread(job.network, links, votes, shape) for links, votes in _links(trace)]
    counts = np.array([[sum(g < 10 for g in x), sum(g >= 10 for g in x)] for x in gone])
    # From epoch 2 to 5 the limit grows linearly to 6 of 10 and 4 of 8 gates (0.4 of them are kept).
    room = np.array([[0, 0]] * 3 + [[1, 1], [3, 2], [4, 3], [6, 4], [6, 4], [6, 4]])
    assert np.all(counts <= room)
    assert_array_equal(counts[-1], room[-1])
    top = trace.gate_probabilities().max(axis=2)
    for epoch, (before, after) in enumerate(_pairs(gone)):
        assert before <= after
        assert all(top[epoch, gate] < pruning.convergence for gate in after - before)
    assert np.all((trace.link_logits > -np.inf).any(axis=3)), "an input has no candidate left"
    assert count_live_gates(job.network) <= shape.layers[0] + shape.layers[1] - 10


@both_engines
def test_converged_gates_are_not_pruned(engine: Engine) -> None:
    options = TrainOptions(epochs=6, pruning=Pruning(0.0, 1.0, convergence=0.0, least=0.0))
    job, trace = traced_run(engine, options)
    assert not np.isinf(trace.vote_logits).any()
    assert not np.isinf(job.network.link_logits).any()


@both_engines
def test_a_trace_holds_the_start_and_every_nth_epoch(engine: Engine) -> None:
    options = TrainOptions(epochs=7, trace_every=3, temperature=Annealing(2.0, 0.5))
    start = random_job(3, options=options).network
    job = random_job(3, options=options)
    (result,) = engine([job])
    trace = result.trace
    assert trace is not None
    assert trace.epochs.tolist() == [0, 3, 6, 7]
    assert_allclose(trace.temperatures[[0, -1]], [2.0, 0.5])
    assert_array_equal(trace.cutoffs[0], start.cutoffs)
    assert_array_equal(trace.link_logits[0], start.link_logits)
    assert_array_equal(trace.vote_logits[-1], job.network.vote_logits)
    probability = trace.gate_probabilities(4)
    assert probability.shape == (4, len(trace.gate_names))
    assert_allclose(probability.sum(axis=1), 1, rtol=1e-5)
    assert trace.gate_names[:2] == ("NOR", "NAND")
    entropy = trace.link_entropy()
    assert entropy.shape == (4, job.network.n_gates, 2)
    assert np.all(entropy >= 0)
    assert entropy[0] == pytest.approx(np.log(job.network.link_logits.shape[2]), abs=0.01)
    assert 0 <= trace.converged(0.2)[-1] <= 1


@both_engines
def test_a_trace_ends_where_patience_ends_the_run(engine: Engine) -> None:
    options = TrainOptions(epochs=60, eval_every=1, patience=5, trace_every=7, phases="unified")
    job = replace(random_job(2, n_rows=60, options=options), rows=np.arange(40))
    (result,) = engine([replace(job, valid_rows=np.arange(40, 60))])
    assert result.trace is not None
    n_epochs = len(result.history)
    assert result.trace.epochs.tolist() == sorted({*range(0, n_epochs, 7), n_epochs})
    assert np.isnan(result.trace.loss[0])
    assert result.trace.loss[-1] == result.history[-1, 0]
    assert result.trace.accuracy[-1] == result.history[-1, 1]


@both_engines
def test_there_is_no_trace_unless_requested(engine: Engine) -> None:
    assert engine([random_job(0)])[0].trace is None


def _pairs(values: Any) -> list[tuple[Any, Any]]:
    return list(pairwise(values))


def _links(trace: Any) -> list[tuple[Any, Any]]:
    return list(zip(trace.link_logits, trace.vote_logits, strict=True))


def _cutoffs(job: Job, trace: Any, layer: int) -> Any:
    network = job.network
    return trace.cutoffs[:, (network.literal_layer == layer) & (network.literal_kind == 0)]


def _unread(network: Network, link_logits: Any, vote_logits: Any, shape: Shape) -> set[int]:
    """Gates whose votes and readers have all been masked."""
    masked_votes = np.isinf(vote_logits).all(axis=0)
    gone = set()
    for gate in range(network.n_gates):
        wire = network.n_literals + gate
        listed = network.link_wires == wire
        if gate >= shape.layers[0]:
            is_gone = bool(masked_votes[gate - shape.layers[0]])
        else:
            is_gone = bool(np.isinf(link_logits[listed]).all() and listed.any())
        if is_gone:
            gone.add(gate)
    return gone


# -- the schedule -------------------------------------------------------------------------------


def test_a_schedule_without_options_changes_nothing() -> None:
    job = random_job(0)
    schedule = make_schedule(TrainOptions(epochs=4), job.network)
    assert schedule.temperatures.tolist() == [1.0] * 4
    assert schedule.layer_freeze.tolist() == [NEVER, NEVER]
    assert schedule.vote_freeze == NEVER
    assert schedule.prune_quota(3).tolist() == [0, 0]
