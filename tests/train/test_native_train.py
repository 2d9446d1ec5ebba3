"""The native trainer: its gradients agree with NumPy, and its results are reproducible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from dln import _native
from dln.core.gates import GATES
from dln.core.literals import LiteralKind
from dln.train.jobs import Job, TrainingRows
from dln.train.native import bind, train_population
from dln.train.network import Network, Shape
from dln.train.options import TrainOptions
from dln.train.schedule import make_schedule
from tests.support.jobs import BROKEN, random_job, with_offset

PHASES = {"gates": 0, "links": 1, "both": 2}
Array = NDArray[np.float64]


# -- the oracle -------------------------------------------------------------------------------


@dataclass
class Oracle:
    """A simple forward and backward pass in float64, one wire at a time."""

    network: Network
    data: TrainingRows
    options: TrainOptions

    def literal(self, wire: int) -> Array:
        cells = self.data.cells[:, self.network.literal_column[wire]]
        value = self.network.cutoffs[wire]
        kind = self.network.literal_kind[wire]
        bits = cells > value if kind == LiteralKind.ABOVE else cells == value
        return np.asarray(
            np.isnan(cells) if kind == LiteralKind.MISSING else bits, dtype=np.float64
        )

    def gradients(self, rows: NDArray[np.int64], phase: str) -> dict[str, Array]:
        network, options = self.network, self.options
        trains_gates, trains_links = phase != "links", phase != "gates"
        n_literals = network.n_literals
        wires = [self.literal(wire)[rows] for wire in range(n_literals)]
        links = softmax(network.link_logits.astype(np.float64))
        choices = softmax(network.gate_logits.astype(np.float64))
        best = network.link_logits.argmax(axis=2)
        codes = network.gate_choices[network.gate_logits.argmax(axis=1)]
        source = np.take_along_axis(network.link_wires, best[:, :, None], axis=2)[:, :, 0]
        for gate in range(network.n_gates):
            a, b = wires[source[gate, 0]], wires[source[gate, 1]]
            wires.append(GATES[codes[gate]].soft(a, b))

        soft_votes = 1 / (1 + np.exp(-network.vote_logits.astype(np.float64)))
        hard_votes = (network.vote_logits >= np.float32(np.log(4.0))).astype(np.float64)
        rules = np.array([wires[wire] for wire in network.rule_wires])
        scores = (hard_votes @ rules).T
        if self.data.offset is not None:
            scores = scores + self.data.offset[rows]
        weight = self.data.weight[rows].astype(np.float64)
        target = np.eye(len(hard_votes))[self.data.target[rows]]
        probability = softmax(scores / options.tau)
        loss = -(weight * np.log((probability * target).sum(axis=1))).sum() / weight.sum()
        d_scores = (probability - target) * (weight / weight.sum())[:, None] / options.tau

        d_wires = np.zeros((len(wires), len(rows)))
        for place, wire in enumerate(network.rule_wires):
            shares = (soft_votes if trains_links else hard_votes)[:, place]
            d_wires[wire] += d_scores @ shares
        d_votes = soft_votes * (1 - soft_votes) * (d_scores.T @ rules.T)
        d_gates = np.zeros(network.gate_logits.shape)
        d_links = np.zeros(network.link_logits.shape)
        for gate in range(network.n_gates - 1, -1, -1):
            d = d_wires[n_literals + gate] * options.grad_factor
            a, b = wires[source[gate, 0]], wires[source[gate, 1]]
            _, c1, c2, c3 = GATES[codes[gate]].coefficients
            pull = np.array([(d * GATES[code].soft(a, b)).sum() for code in network.gate_choices])
            d_gates[gate] = choices[gate] * (pull - choices[gate] @ pull)
            for side, d_input in enumerate((d * (c1 + c3 * b), d * (c2 + c3 * a))):
                share = links[gate, side]
                candidates = network.link_wires[gate, side]
                pull = np.array([d_input @ wires[wire] for wire in candidates])
                d_links[gate, side] = share * (pull - share @ pull)
                if trains_links:
                    for wire, part in zip(candidates, share, strict=True):
                        d_wires[wire] += part * d_input
                else:
                    d_wires[source[gate, side]] += d_input
        d_cutoffs, d_slopes = np.zeros(n_literals), np.zeros(n_literals)
        for wire in np.flatnonzero(network.literal_kind == LiteralKind.ABOVE):
            cells = self.data.cells[rows, network.literal_column[wire]].astype(np.float64)
            known = ~np.isnan(cells)
            slope = float(network.slopes[wire])
            distance = cells[known] - float(network.cutoffs[wire])
            soft = 1 / (1 + np.exp(-slope * distance))
            flow = d_wires[wire, known] * options.grad_factor * soft * (1 - soft)
            d_cutoffs[wire], d_slopes[wire] = -(flow * slope).sum(), (flow * distance).sum()
        nothing = 0.0
        return {
            "loss": np.array(loss),
            "cutoff": d_cutoffs * (trains_gates or nothing),
            "slope": d_slopes * (trains_gates or nothing),
            "gate_logit": d_gates * (trains_gates or nothing),
            "link_logit": d_links * (trains_links or nothing),
            "vote_logit": d_votes * (trains_links or nothing),
        }


def softmax(logits: Array) -> Array:
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


# -- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", _native.levels())
@pytest.mark.parametrize("phase", PHASES)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 150),
    layers=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    n_links=st.sampled_from([1, 3, 8, 17, None]),
    n_gates=st.sampled_from([1, 4, 8, 16]),
    concatenation=st.sampled_from(["separate", "shared", "none"]),
    n_classes=st.integers(2, 5),
    grad_factor=st.sampled_from([1.0, 1.5]),
    has_offset=st.booleans(),
)
def test_gradients_equal_those_of_plain_numpy(
    level: str,
    phase: str,
    seed: int,
    n_rows: int,
    layers: list[int],
    n_links: int | None,
    n_gates: int,
    concatenation: str,
    n_classes: int,
    grad_factor: float,
    has_offset: bool,
) -> None:
    shape = Shape(tuple(layers), n_links, n_gates, concatenation)  # type: ignore[arg-type]
    options = TrainOptions(tau=2.0, grad_factor=grad_factor)
    job = random_job(seed, n_rows=n_rows, shape=shape, n_classes=n_classes, options=options)
    if has_offset:
        job = with_offset(job, seed)
    expected = Oracle(job.network, job.data, options).gradients(job.rows, phase)
    bound = bind(_native, job, make_schedule(job.options, job.network))
    found = bound.gradients(job.rows, PHASES[phase], level)
    for name, values in expected.items():
        # If the class is nearly certain, 1 - p has few correct digits in float32.
        scale = max(float(np.abs(values).max()), 1e-2)
        got = np.asarray(found[name]).reshape(values.shape)
        assert_allclose(got, values, atol=1e-4 * scale, err_msg=name)


def assert_same_parameters(first: Job, second: Job) -> None:
    for one, other in zip(first.network.parameters(), second.network.parameters(), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("phases", ["unified", "epochs", "batches"])
def test_every_instruction_set_trains_the_same_bits(phases: str) -> None:
    options = TrainOptions(epochs=8, batch_size=37, phases=phases)  # type: ignore[arg-type]
    results = []
    for level in _native.levels():
        job = random_job(1, n_rows=200, n_classes=3, options=options)
        train_population([job], level=level)
        results.append(job)
    for other in results[1:]:
        assert_same_parameters(results[0], other)


def test_the_result_does_not_depend_on_the_number_of_threads_or_on_other_jobs() -> None:
    crowd = [random_job(seed, n_rows=50 + 10 * seed) for seed in range(12)]
    train_population(crowd, n_threads=4)
    for seed, job in enumerate(crowd):
        alone = random_job(seed, n_rows=50 + 10 * seed)
        train_population([alone], n_threads=1)
        assert_same_parameters(alone, job)


def test_one_seed_gives_one_result_and_another_seed_another() -> None:
    jobs = [random_job(3), random_job(3), random_job(3)]
    jobs[2] = replace(jobs[2], options=replace(jobs[2].options, seed=99))
    train_population(jobs, n_threads=2)
    assert_same_parameters(jobs[0], jobs[1])
    assert not np.array_equal(jobs[0].network.gate_logits, jobs[2].network.gate_logits)


@pytest.mark.parametrize(
    ("phases", "trained"),
    [("epochs", {"gates"}), ("unified", {"gates", "links"}), ("batches", {"gates", "links"})],
)
def test_a_phase_trains_only_its_own_parameters(phases: str, trained: set[str]) -> None:
    options = TrainOptions(epochs=1, batch_size=32, phases=phases)  # type: ignore[arg-type]
    job = random_job(5, options=options)
    before = job.network.copy()
    train_population([job])
    changed = {
        "gates": not np.array_equal(before.gate_logits, job.network.gate_logits),
        "links": not np.array_equal(before.link_logits, job.network.link_logits),
    }
    assert {name for name, is_changed in changed.items() if is_changed} == trained


def test_fixed_thresholds_do_not_move_and_trained_ones_do() -> None:
    for rate, moves in ((0.0, False), (0.1, True)):
        job = random_job(6, options=TrainOptions(epochs=5, threshold_rate=rate))
        before = job.network.copy()
        train_population([job])
        assert (not np.array_equal(before.cutoffs, job.network.cutoffs)) is moves
        assert np.all(job.network.slopes > 0)


def test_every_row_is_trained_on_in_every_epoch() -> None:
    # 65 rows in batches of 64: the program of the paper's authors drops one of them in each epoch.
    job = random_job(7, n_rows=65, options=TrainOptions(epochs=1, batch_size=64, learning_rate=0.0))
    (result,) = train_population([job])
    oracle = Oracle(job.network, job.data, job.options)
    halves = [job.rows[:32], job.rows[32:]]
    losses = [float(oracle.gradients(half, "both")["loss"]) for half in halves]
    weights = [float(job.data.weight[half].sum()) for half in halves]
    assert_allclose(result.history[0, 0], np.average(losses, weights=weights), rtol=1e-4)


def test_keep_best_ends_with_the_parameters_of_the_best_validation() -> None:
    options = TrainOptions(epochs=30, learning_rate=0.3, eval_every=1, keep_best=True)
    job = replace(random_job(8, n_rows=120, options=options), valid_rows=np.arange(80, 120))
    job = replace(job, rows=np.arange(80))
    (result,) = train_population([job])
    accuracies = result.history[:, 2]
    assert accuracies[result.best_epoch] == accuracies.max()
    again = replace(
        job, network=result.network, options=replace(options, epochs=1, learning_rate=0.0)
    )
    (check,) = train_population([again])
    assert check.history[0, 2] == accuracies.max()


def test_patience_stops_a_run_that_no_longer_improves() -> None:
    options = TrainOptions(epochs=500, learning_rate=0.0, eval_every=1, patience=10)
    job = replace(random_job(9, options=options), valid_rows=np.arange(50))
    (result,) = train_population([job])
    # Nothing changes at rate 0, and on a tie the later epoch counts as better.
    assert len(result.history) == 500
    noisy = replace(
        random_job(9, options=replace(options, learning_rate=0.5)), valid_rows=np.arange(20)
    )
    (result,) = train_population([noisy])
    assert len(result.history) <= result.best_epoch + 1 + 10


def test_balanced_accuracy_is_the_mean_over_classes() -> None:
    job = random_job(10, n_rows=90, n_classes=3, options=TrainOptions(epochs=1, learning_rate=0.0))
    (result,) = train_population([job])
    oracle = Oracle(job.network, job.data, job.options)
    wires = [oracle.literal(wire) for wire in range(job.network.n_literals)]
    codes = job.network.gate_choices[job.network.gate_logits.argmax(axis=1)]
    best = job.network.link_logits.argmax(axis=2)
    for gate in range(job.network.n_gates):
        a, b = (job.network.link_wires[gate, side, best[gate, side]] for side in (0, 1))
        wires.append(GATES[codes[gate]].soft(wires[a], wires[b]))
    on = job.network.vote_logits >= np.float32(np.log(4.0))
    winners = (on @ np.array([wires[wire] for wire in job.network.rule_wires])).argmax(axis=0)
    recalls = [(winners[job.data.target == c] == c).mean() for c in range(3)]
    assert_allclose(result.history[0, 1], np.mean(recalls), rtol=1e-6)


# -- refused arguments ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    BROKEN,
)
def test_a_broken_network_is_refused_before_training(
    name: str, index: tuple[int, ...] | int, value: float, message: str
) -> None:
    job = random_job(0)
    array = getattr(job.network, name).copy()
    array[index] = value
    with pytest.raises(ValueError, match=message):
        train_population([replace(job, network=replace(job.network, **{name: array}))])


def test_targets_and_weights_are_checked() -> None:
    job = random_job(0)
    target = job.data.target.copy()
    target[3] = 2
    with pytest.raises(ValueError, match="target is not a class"):
        train_population([replace(job, data=replace(job.data, target=target))])
    weight = job.data.weight.copy()
    weight[3] = -1
    with pytest.raises(ValueError, match="weight is negative"):
        train_population([replace(job, data=replace(job.data, weight=weight))])


def test_a_network_shared_by_two_jobs_is_refused() -> None:
    job = random_job(0)
    with pytest.raises(ValueError, match="share"):
        train_population([job, job])


def test_an_exception_in_the_callback_stops_the_training() -> None:
    job = random_job(0, options=TrainOptions(epochs=10**6))

    def fail(histories: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train_population([job], on_progress=fail)


def test_a_job_is_checked_again_when_its_arrays_have_changed() -> None:
    job = random_job(0)
    bound = bind(_native, job, make_schedule(job.options, job.network))
    job.network.rule_wires[0] = 10_000
    with pytest.raises(ValueError, match="rule reads a wire"):
        _native.train([bound], 1)
    with pytest.raises(ValueError, match="rule reads a wire"):
        bound.gradients(job.rows, 0)


def test_training_a_job_twice_starts_from_the_same_order_of_rows() -> None:
    first, second = random_job(4), random_job(4)
    bound = bind(_native, first, make_schedule(first.options, first.network))
    _native.train([bound], 1)
    for trained, fresh in zip(first.network.parameters(), second.network.parameters(), strict=True):
        trained[...] = fresh
    _native.train([bound], 1)
    train_population([second])
    assert_same_parameters(first, second)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="level 'mmx' is not available"):
        train_population([random_job(0)], level="mmx")
