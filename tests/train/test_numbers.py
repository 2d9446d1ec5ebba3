"""Networks that predict a number: the engines agree, stay within limits and learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from dln import _native  # noqa: E402
from dln.core.literals import LiteralKind  # noqa: E402
from dln.encode.bits import LiteralSet  # noqa: E402
from dln.errors import CircuitError, TrainingError  # noqa: E402
from dln.train import native  # noqa: E402
from dln.train import torch as readable  # noqa: E402
from dln.train.jobs import Engine, Job, TrainingRows  # noqa: E402
from dln.train.losses import (  # noqa: E402
    CROSS_ENTROPY,
    GAMMA,
    LOSSES,
    POISSON,
    SQUARED,
    Loss,
    quantile,
)
from dln.train.network import Network, Shape, build_network  # noqa: E402
from dln.train.options import TrainOptions  # noqa: E402
from dln.train.schedule import make_schedule  # noqa: E402
from dln.train.settings import Freezing, Pruning  # noqa: E402
from dln.train.torch import Phase, to_circuit  # noqa: E402
from dln.train.votes import add_scores, evaluate_rules  # noqa: E402
from tests.support.autograd import (  # noqa: E402
    assert_same_gradients,
    native_gradients,
    torch_gradients,
    torch_points,
)
from tests.support.engines import both_engines, runs_agree  # noqa: E402
from tests.support.jobs import (  # noqa: E402
    IN_TURN,
    TOGETHER,
    assert_within_limits,
    number_job,
    random_job,
)

NUMBERS = {name: loss for name, loss in LOSSES.items() if loss.readout == "score"}
each_loss = pytest.mark.parametrize("loss", NUMBERS.values(), ids=NUMBERS)
UNIFIED = TrainOptions(phases="unified")


# -- parity -------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", list(Phase))
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(list(NUMBERS.values())),
    n_rows=st.integers(1, 150),
    layers=st.lists(st.integers(1, 20), min_size=1, max_size=3),
    options=st.builds(
        TrainOptions,
        grad_factor=st.sampled_from([1.0, 1.5]),
        gate_gradient=st.sampled_from(["hard", "mixture"]),
        vote_gradient=st.sampled_from(["soft", "hard"]),
        freezing=st.sampled_from([None, Freezing(0.0), Freezing(0.0, "outputs-first")]),
    ),
)
def test_scores_and_gradients_agree_with_autograd(
    phase: Phase, seed: int, loss: Loss, n_rows: int, layers: list[int], options: TrainOptions
) -> None:
    shape = Shape(tuple(layers), n_links=5)
    job = number_job(seed, loss, n_rows=n_rows, shape=shape, options=options)
    bound = native.bind(_native, job, make_schedule(options, job.network))
    assert_allclose(bound.points(job.rows), torch_points(job), atol=1e-5)
    found = bound.gradients(job.rows, {"gates": 0, "links": 1, "both": 2}[phase.value])
    value, expected = torch_gradients(job, phase)
    assert found["loss"] == pytest.approx(value, rel=1e-5, abs=1e-6)
    assert_same_gradients(native_gradients(found, job.network), expected)


@pytest.mark.parametrize("name", TOGETHER)
def test_short_runs_from_the_same_start_agree(name: str) -> None:
    assert sum(_stays_together(TOGETHER[name], seed) for seed in range(6)) >= 4


@pytest.mark.parametrize("name", IN_TURN)
def test_short_runs_with_alternating_phases_mostly_agree(name: str) -> None:
    # Gradients that are 0 except for rounding become full steps of Adam, as with classes.
    assert sum(_stays_together(IN_TURN[name], seed) for seed in range(8)) >= 3


def _stays_together(options: TrainOptions, seed: int) -> bool:
    options = replace(options, epochs=6, eval_every=2, learning_rate=0.02, seed=seed)
    loss = list(NUMBERS.values())[seed % len(NUMBERS)]
    results = []
    for engine in (native.train_population, readable.train_population):
        job = number_job(seed, loss, n_rows=200, shape=Shape((12, 9), n_links=6), options=options)
        results.append(engine([replace(job, valid_rows=np.arange(50))])[0])
        assert_within_limits(results[-1].network)
    return runs_agree(*results)


# -- determinism --------------------------------------------------------------------------------


@each_loss
def test_every_instruction_set_trains_the_same_bits(loss: Loss) -> None:
    results = []
    for level in _native.levels():
        job = number_job(1, loss, n_rows=200, options=TrainOptions(epochs=6, batch_size=37))
        results.append(native.train_population([job], level=level)[0])
    for other in results[1:]:
        assert_array_equal(results[0].history, other.history)
        _assert_same_parameters(results[0].network, other.network)


def test_the_result_does_not_depend_on_threads_or_on_jobs_for_classes() -> None:
    jobs = [draw(seed) for seed in range(6) for draw in (number_job, random_job)]
    native.train_population(jobs, n_threads=3)
    for seed in range(6):
        alone = number_job(seed)
        native.train_population([alone])
        _assert_same_parameters(alone.network, jobs[2 * seed].network)


def _assert_same_parameters(one: Network, other: Network) -> None:
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert_array_equal(a, b)


# -- the head -----------------------------------------------------------------------------------


def test_a_score_is_the_bias_plus_the_weights_of_true_rules() -> None:
    for seed in range(4):
        job = number_job(seed)
        bound = native.bind(_native, job, make_schedule(job.options, job.network))
        offset = 0.0 if job.data.offset is None else job.data.offset[:, 0]
        found = bound.points(job.rows)[:, 0]
        assert_allclose(found, add_scores([job.network], job.data.cells) + offset, atol=1e-5)
        bits = evaluate_rules(job.network, job.data.cells)
        assert bits.shape == (len(job.rows), len(job.network.weights) - 1)
        by_hand = bits @ job.network.weights[:-1] + job.network.weights[-1]
        assert_allclose(found, by_hand + offset, atol=1e-5)


@both_engines
def test_an_offset_is_added_to_the_score(engine: Engine) -> None:
    """For the squared loss, an offset is the same as a target that is smaller by it."""
    runs = []
    for with_offset in (True, False):
        job = number_job(3, options=replace(UNIFIED, epochs=3))
        data, offset = job.data, job.data.offset
        assert offset is not None
        if not with_offset:
            data = replace(data, target=data.target.astype(np.float32) - offset[:, 0], offset=None)
        runs.append(engine([replace(job, data=data)])[0])
    assert_allclose(runs[0].history[:, :2], runs[1].history[:, :2], rtol=1e-4)


@both_engines
@each_loss
def test_the_score_of_a_run_is_minus_the_weighted_loss(engine: Engine, loss: Loss) -> None:
    options = TrainOptions(epochs=1, learning_rate=0.0, eval_every=1)
    job = replace(number_job(5, loss, options=options), valid_rows=np.arange(30, 77))
    (result,) = engine([job])
    assert result.history[0, 1] == -result.history[0, 0]
    value, _ = torch_gradients(replace(job, rows=np.arange(30, 77)), Phase.BOTH)
    assert result.valid_score[0] == pytest.approx(-value, rel=1e-5)


@both_engines
def test_weights_stay_within_their_limits(engine: Engine) -> None:
    for seed in (1, 3, 5):
        job = number_job(seed, options=TrainOptions(epochs=5, weight_rate=5.0))
        before = job.network.weights.copy()
        (result,) = engine([job])
        assert_within_limits(result.network)
        low, high = job.network.weight_limits
        assert (job.network.weights != before)[low < high].any()
        assert np.isin(job.network.weights, [low, high]).any(), "no limit was reached"


@both_engines
def test_the_best_epoch_is_kept(engine: Engine) -> None:
    options = TrainOptions(epochs=15, learning_rate=0.3, eval_every=1, keep_best=True)
    job = number_job(8, n_rows=120, options=options)
    job = replace(job, rows=np.arange(80), valid_rows=np.arange(80, 120))
    (result,) = engine([job])
    assert result.valid_score[result.best_epoch] == result.valid_score.max()
    again = replace(job, options=replace(options, epochs=1, learning_rate=0.0))
    assert engine([again])[0].valid_score[0] == pytest.approx(result.valid_score.max(), rel=1e-5)


@both_engines
def test_pruned_gates_have_no_weight_and_frozen_weights_do_not_move(engine: Engine) -> None:
    pruning = Pruning(start=0.25, end=0.75, convergence=0.9, least=0.4)
    options = TrainOptions(epochs=8, pruning=pruning, trace_every=1, learning_rate=0.2)
    (result,) = engine([number_job(2, shape=Shape((10, 8), n_links=6), options=options)])
    assert result.trace is not None
    is_out = result.trace.weights[:, :-1] == 0
    assert_array_equal(is_out.sum(axis=1), [0, 0, 0, 1, 2, 3, 4, 4, 4])
    assert np.all(is_out[1:] >= is_out[:-1])

    freezing = Freezing(0.5, "outputs-first")
    options = TrainOptions(epochs=4, freezing=freezing, trace_every=1, phases="unified")
    (result,) = engine([number_job(2, options=options)])
    assert result.trace is not None
    moves = np.any(result.trace.weights[1:] != result.trace.weights[:-1], axis=1)
    assert moves.tolist() == [True, True, False, False]


# -- learning -----------------------------------------------------------------------------------


def _table(n_rows: int = 1_000) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Rows of six columns, and the mean of a target that depends on an interaction of them."""
    cells = np.random.default_rng(0).random((n_rows, 6)).astype(np.float32)
    steps = np.where(cells[:, 0] > 0.5, 2.0 * (cells[:, 1] > 0.3), 3.0 * cells[:, 2]) + cells[:, 3]
    return cells, steps.astype(np.float64)


def _fit(target: NDArray[np.float64], loss: Loss, epochs: int = 30) -> NDArray[np.float64]:
    cells, _ = _table()
    cutoffs = np.linspace(0.1, 0.9, 8).astype(np.float32)
    literals = LiteralSet.join(
        [LiteralSet.on_column(column, LiteralKind.ABOVE, cutoffs) for column in range(6)]
    )
    rng = np.random.default_rng(1)
    shape = Shape((64, 32), n_links=12)
    network = build_network(literals, shape, n_classes=None, slope=20.0, rng=rng)
    assert network.predicts_number
    assert network.vote_logits.shape == (0, 32)
    data = TrainingRows(cells, target.astype(np.float32), np.ones(len(cells), dtype=np.float32))
    options = TrainOptions(epochs=epochs, batch_size=64)
    native.train_population([Job(network, data, np.arange(len(cells)), options, loss=loss)])
    return add_scores([network], cells)


def test_the_squared_loss_learns_a_mean_with_an_interaction() -> None:
    _, mean = _table()
    target = (mean - mean.mean()) / mean.std()
    assert np.mean((_fit(target, SQUARED) - target) ** 2) < 0.08


@pytest.mark.parametrize("level", [0.2, 0.8])
def test_the_quantile_loss_learns_a_quantile(level: float) -> None:
    _, mean = _table()
    target = mean - mean.mean() + np.random.default_rng(2).normal(size=len(mean))
    assert np.mean(target < _fit(target, quantile(level))) == pytest.approx(level, abs=0.06)


@pytest.mark.parametrize("loss", [POISSON, GAMMA])
def test_a_log_link_learns_a_mean(loss: Loss) -> None:
    _, steps = _table()
    mean = np.exp(steps - 2.0)
    rng = np.random.default_rng(2)
    target = rng.poisson(mean) if loss == POISSON else mean * rng.gamma(4.0, 0.25, len(mean))
    scale = target.mean()
    found = np.exp(_fit(target / scale, loss)) * scale
    assert found.mean() == pytest.approx(target.mean(), rel=0.1)
    assert np.corrcoef(np.log(found), np.log(mean))[0, 1] > 0.85


# -- refused arguments --------------------------------------------------------------------------


def _broken(**parts: Any) -> Job:
    job = number_job(1)
    if data := {name: parts.pop(name) for name in ("target", "offset") if name in parts}:
        parts["data"] = replace(job.data, **data)
    if network := {name: parts.pop(name) for name in ("weights",) if name in parts}:
        parts["network"] = replace(job.network, **network)
    return replace(job, **parts)


@both_engines
@pytest.mark.parametrize(
    ("job", "message"),
    [
        (_broken(loss=CROSS_ENTROPY), "the loss does not belong to the network"),
        (replace(random_job(0), loss=SQUARED), "the loss does not belong to the network"),
        (_broken(target=np.zeros(100, dtype=np.int32)), "the targets do not belong to the network"),
        (_broken(target=np.full(100, np.nan, dtype=np.float32)), "a target is not finite"),
        (_broken(offset=np.full((100, 1), np.inf, dtype=np.float32)), "an offset is not finite"),
        (_broken(weights=np.full(8, 9.0, dtype=np.float32)), "a weight of a rule is beyond"),
        (
            replace(
                random_job(0), data=replace(random_job(0).data, offset=number_job(1).data.offset)
            ),
            r"the offset must be \(rows, outputs\)",
        ),
    ],
)
def test_a_broken_job_is_refused(engine: Engine, job: Job, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine([job])


@both_engines
def test_a_run_that_diverges_is_reported(engine: Engine) -> None:
    job = number_job(0)
    huge = (job.data.target * np.float32(1e30)).astype(np.float32)
    with pytest.raises(TrainingError, match=r"the loss is inf in epoch 1; .* or standardise the"):
        engine([replace(job, data=replace(job.data, target=huge))])


def test_a_level_that_is_no_quantile_is_refused() -> None:
    with pytest.raises(ValueError, match=r"level is 1\.5"):
        quantile(1.5)


def test_a_model_for_a_number_does_not_become_votes() -> None:
    model = readable.LogicNetwork(number_job(0).network)
    with pytest.raises(CircuitError, match="predicts a number, expected a network that votes"):
        to_circuit(model, columns=["a", "b", "c", "d"], classes=["x"])
