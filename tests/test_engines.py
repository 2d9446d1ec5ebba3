"""Native and torch are one engine: the same votes, gradients, schedules and runs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jobs import IN_TURN, TOGETHER, random_job
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from autograd import PARAMETERS, torch_gradients  # noqa: E402

from dln import DLNClassifier, _native  # noqa: E402
from dln.encode.encoder import EncodeOptions  # noqa: E402
from dln.errors import OptionError, TrainingError  # noqa: E402
from dln.table import read_table  # noqa: E402
from dln.train import native  # noqa: E402
from dln.train import torch as readable  # noqa: E402
from dln.train.fit import FitPlan, Problem, Progress, fit_circuit  # noqa: E402
from dln.train.jobs import Engine, Job  # noqa: E402
from dln.train.live import count_live_gates  # noqa: E402
from dln.train.network import Network, Shape  # noqa: E402
from dln.train.options import (  # noqa: E402
    Alternating,
    Annealing,
    Freezing,
    Gumbel,
    Pruning,
    TrainOptions,
)
from dln.train.recipe import make_candidates  # noqa: E402
from dln.train.schedule import NEVER, make_schedule  # noqa: E402
from dln.train.torch import LogicNetwork, Phase  # noqa: E402

ENGINES: dict[str, Engine] = {
    "native": native.train_population,
    "torch": readable.train_population,
}
both_engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)

# -- parity -------------------------------------------------------------------------------------


OPTIONS = st.builds(
    TrainOptions,
    epochs=st.just(10),
    tau=st.sampled_from([0.5, 2.0, 20.0]),
    grad_factor=st.sampled_from([1.0, 1.5]),
    vote_threshold=st.sampled_from([0.8, 0.6]),
    gate_gradient=st.sampled_from(["hard", "mixture"]),
    temperature=st.sampled_from([1.0, 0.3, Annealing(2.0, 0.1)]),
    freezing=st.sampled_from([None, Freezing(0.0), Freezing(0.0, "outputs-first")]),
)
SHAPES = st.builds(
    Shape,
    st.lists(st.integers(1, 20), min_size=1, max_size=4).map(tuple),
    n_links=st.sampled_from([1, 3, 8, 17, None]),
    n_gates=st.sampled_from([1, 4, 8, 16]),
    concatenation=st.sampled_from(["separate", "shared", "none"]),
)


@pytest.mark.parametrize("phase", list(Phase))
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 150),
    shape=SHAPES,
    n_classes=st.integers(2, 5),
    options=OPTIONS,
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
        vote_threshold=0.6,
        gate_gradient="hard",
        freezing=Freezing(0.0, "outputs-first"),
    ),
)
def test_votes_are_equal_and_gradients_agree(
    phase: Phase, seed: int, n_rows: int, shape: Shape, n_classes: int, options: TrainOptions
) -> None:
    job = random_job(seed, n_rows=n_rows, shape=shape, n_classes=n_classes, options=options)
    bound = native.bind(_native, job, make_schedule(options, job.network))
    model = LogicNetwork(job.network, options.vote_threshold)
    for training in (True, False):
        model.train(training)
        votes = model(torch.as_tensor(job.data.cells)).detach().numpy()
        assert_array_equal(votes, bound.votes(job.rows))

    found = bound.gradients(job.rows, {"gates": 0, "links": 1, "both": 2}[phase.value])
    loss, expected = torch_gradients(job, phase)
    # The loss is shown, not trained on: of a sure class it is -log of nearly 1.
    assert found["loss"] == pytest.approx(loss, rel=1e-5, abs=1e-6)
    names = ("cutoff", "slope", "gate_logit", "link_logit", "vote_logit")
    for name, native_name in zip(PARAMETERS, names, strict=True):
        values = expected[name]
        scale = max(float(np.abs(values).max()), 1e-2)
        got = np.asarray(found[native_name]).reshape(values.shape)
        assert_allclose(got, values, atol=1e-4 * scale, err_msg=name)


@pytest.mark.parametrize("name", TOGETHER)
def test_short_runs_from_the_same_start_stay_together(name: str) -> None:
    together = [_stays_together(TOGETHER[name], seed) for seed in range(6)]
    assert sum(together) >= 4


@pytest.mark.parametrize("name", IN_TURN)
def test_short_runs_with_phases_in_turn_mostly_stay_together(name: str) -> None:
    # In a phase of its own many a gradient is 0 but for rounding. Adam divides a gradient by its
    # size and makes a step of it, so that some runs part: about a third of them.
    together = [_stays_together(IN_TURN[name], seed) for seed in range(12)]
    assert sum(together) >= 3


def _stays_together(options: TrainOptions, seed: int) -> bool:
    options = replace(options, epochs=6, eval_every=2, rate=0.02, seed=seed)
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
    for one, other in zip(left.network.parameters(), right.network.parameters(), strict=True):
        if not np.array_equal(np.isinf(one), np.isinf(other)):
            return False
        apart = np.abs(np.where(np.isinf(one), 0, one) - np.where(np.isinf(other), 0, other))
        if np.quantile(apart, 0.8) > 1e-4:
            return False
    same = np.allclose(left.history, right.history, atol=1e-3, equal_nan=True)
    return bool(same and left.best_epoch == right.best_epoch)


@pytest.mark.parametrize("keep_best", [False, True])
def test_best_looks_and_patience_agree(keep_best: bool) -> None:
    options = TrainOptions(
        epochs=60, rate=0.05, eval_every=1, patience=5, keep_best=keep_best, phases="unified"
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
def test_phases_alternate_by_so_many_epochs(engine: Engine) -> None:
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
def test_pruning_takes_out_gates_that_are_undecided(engine: Engine) -> None:
    pruning = Pruning(start=0.25, end=0.75, convergence=0.9, least=0.4)
    shape = Shape((10, 8), n_links=6)
    options = TrainOptions(epochs=8, pruning=pruning, rate=0.2)
    job, trace = traced_run(engine, options, shape=shape)
    gone = [_unread(job.network, links, votes, shape) for links, votes in _links(trace)]
    counts = np.array([[sum(g < 10 for g in x), sum(g >= 10 for g in x)] for x in gone])
    # From epoch 2 to 5 the room grows evenly to 6 of 10 and 4 of 8 gates (0.4 of them stay).
    room = np.array([[0, 0]] * 3 + [[1, 1], [3, 2], [4, 3], [6, 4], [6, 4], [6, 4]])
    assert np.all(counts <= room)
    assert_array_equal(counts[-1], room[-1])
    top = trace.gate_probabilities().max(axis=2)
    for epoch, (before, after) in enumerate(_pairs(gone)):
        assert before <= after
        assert all(top[epoch, gate] < pruning.convergence for gate in after - before)
    assert np.all((trace.link_logits > -np.inf).any(axis=3)), "an input has no candidate left"
    assert count_live_gates(job.network, 0.8) <= shape.layers[0] + shape.layers[1] - 10


@both_engines
def test_converged_gates_are_not_pruned(engine: Engine) -> None:
    options = TrainOptions(epochs=6, pruning=Pruning(0.0, 1.0, convergence=0.0, least=0.0))
    job, trace = traced_run(engine, options)
    assert not np.isinf(trace.vote_logits).any()
    assert not np.isinf(job.network.link_logits).any()


@both_engines
def test_a_trace_holds_the_start_and_every_so_many_epochs(engine: Engine) -> None:
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
def test_no_trace_where_none_is_asked_for(engine: Engine) -> None:
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


def test_a_schedule_without_wishes_changes_nothing() -> None:
    job = random_job(0)
    schedule = make_schedule(TrainOptions(epochs=4), job.network)
    assert schedule.temperatures.tolist() == [1.0] * 4
    assert schedule.layer_freeze.tolist() == [NEVER, NEVER]
    assert schedule.vote_freeze == NEVER
    assert schedule.prune_quota(3).tolist() == [0, 0]


# -- soft and Gumbel ----------------------------------------------------------------------------


@pytest.mark.parametrize("relaxation", ["soft", "gumbel", Gumbel(0.1)])
def test_the_native_engine_names_what_only_torch_can_do(relaxation: Any) -> None:
    job = random_job(0, options=TrainOptions(relaxation=relaxation))
    with pytest.raises(OptionError, match='use engine="torch"'):
        native.train_population([job])


@pytest.mark.parametrize("relaxation", ["soft", "gumbel", Gumbel(0.1)])
def test_other_relaxations_learn_too(relaxation: Any) -> None:
    X, y = _easy_table()
    model = DLNClassifier(
        layers=(16, 8), tau=2.0, n_networks=1, epochs=40, random_state=0, engine="torch"
    ).set_params(relaxation=relaxation, selection_fits=0)
    assert model.fit(X, y).score(X, y) > 0.85
    again = model.fit(X, y).circuit_
    assert model.fit(X, y).circuit_ == again


def _easy_table() -> tuple[NDArray[Any], NDArray[Any]]:
    X = np.random.default_rng(0).random((300, 3))
    return X, (X[:, 0] > 0.5) & (X[:, 1] > 0.3)


# -- the estimator on the torch engine ----------------------------------------------------------


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_the_estimator_learns_with_either_engine(engine: Any) -> None:
    X, y = _easy_table()
    model = DLNClassifier(layers=(12, 6), tau=2.0, epochs=40, random_state=0, engine=engine)
    assert model.fit(X, y).score(X, y) > 0.95
    assert model.history_["loss"].shape == (3, 40)


def test_sizes_are_chosen_by_cross_validation_with_torch_where_asked_for() -> None:
    X, y = _easy_table()
    auto = DLNClassifier(engine="torch", layers=(4, 4), n_networks=1, epochs=1).fit(X, y)
    assert auto.selection_ == []
    model = DLNClassifier(engine="torch", epochs=2, selection_fits=1, random_state=0)
    model.set_params(layers=(8, 4), n_networks=1).fit(X[:80], y[:80])
    assert len(model.selection_) == 5


def test_traces_come_with_the_estimator() -> None:
    X, y = _easy_table()
    model = DLNClassifier(layers=(8, 4), tau=2.0, epochs=4, trace_every=2, random_state=0)
    assert [trace.epochs.tolist() for trace in model.fit(X, y).traces_] == [[0, 2, 4]] * 3


# -- what can go wrong --------------------------------------------------------------------------


def test_a_device_that_is_not_there_is_named() -> None:
    X, y = _easy_table()
    for device in ("cuda:17", "warp drive", "meta"):
        with pytest.raises(OptionError, match=rf"^device is '{device}', .* finds only cpu"):
            DLNClassifier(engine="torch", device=device).fit(X, y)


@both_engines
def test_numbers_that_run_away_are_an_error(engine: Engine) -> None:
    options = TrainOptions(epochs=3, grad_factor=1e6, phases="unified")
    job = random_job(0, shape=Shape((9,) * 9), options=options)
    with pytest.raises(TrainingError, match="lower learning_rate or grad_factor"):
        engine([job])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([0, 100])}, "row is out of the table"),
        ({"rows": np.array([-1])}, "row is out of the table"),
        ({"rows": np.empty(0, dtype=np.int64)}, "at least one row"),
        ({"valid_rows": np.array([100])}, "row is out of the table"),
        ({"options": TrainOptions(batch_size=0)}, "batch_size"),
        ({"options": TrainOptions(tau=0.0)}, "tau"),
        ({"options": TrainOptions(tau=float("nan"))}, "tau"),
        ({"options": TrainOptions(vote_threshold=1.0)}, "vote_threshold"),
        ({"options": TrainOptions(rate=float("inf"))}, "rate"),
    ],
)
@both_engines
def test_rows_and_options_out_of_range_are_refused(
    engine: Engine, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        engine([replace(random_job(0), **change)])


@both_engines
def test_a_batch_of_next_to_no_weight_is_no_reason_to_fail(engine: Engine) -> None:
    job = random_job(0, options=TrainOptions(epochs=2, batch_size=2))
    weight = np.where(np.arange(100) % 3 == 0, 1, 1e-40).astype(np.float32)
    (result,) = engine([replace(job, data=replace(job.data, weight=weight))])
    assert np.all(np.isfinite(result.history[:, 0]))


def test_after_ctrl_c_only_networks_that_were_trained_vote() -> None:
    X, y = _easy_table()
    problem = Problem(read_table(X), y.astype(np.int32), np.ones(len(y), np.float32), (0, 1))
    wishes = DLNClassifier(layers=(6, 4), tau=2.0, n_networks=5, epochs=10**6)._wishes()
    plan = FitPlan(make_candidates(wishes, len(y), 2, 3), EncodeOptions())

    def stop(progress: Progress) -> None:
        if len(progress.histories[0]) >= 2:
            raise KeyboardInterrupt

    fitted = fit_circuit(
        problem,
        plan,
        engine=readable.train_population,
        rng=np.random.default_rng(0),
        on_progress=stop,
        on_interrupt="keep",
    )
    assert fitted.interrupted
    assert fitted.circuit.temperature == 2.0
    assert len(fitted.circuit.rules) <= 4


def test_ctrl_c_keeps_what_was_learned_so_far() -> None:
    jobs = [random_job(0, options=TrainOptions(epochs=10**6)), random_job(1)]
    before = jobs[0].network.copy()

    def stop(histories: list[Any]) -> None:
        if len(histories[0]) >= 2:
            raise KeyboardInterrupt

    first, second = readable.train_population(jobs, on_progress=stop, on_interrupt="keep")
    assert first.interrupted
    assert len(first.history) >= 2
    assert len(second.history) == 0
    assert not np.array_equal(before.gate_logits, first.network.gate_logits)
    with pytest.raises(KeyboardInterrupt):
        readable.train_population(jobs, on_progress=stop)


LITTLE_MEMORY = """
import resource
from jobs import IN_TURN, TOGETHER, UNIFIED, random_job
from dln.errors import DeviceMemoryError
from dln.train.network import Shape
from dln.train.options import TrainOptions
from dln.train.torch import train_population
train_population([random_job(0)])
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + 200 * 2**20,) * 2)
options = TrainOptions(epochs=1, batch_size=20_000)
try:
    train_population([random_job(0, n_rows=20_000, shape=Shape((4_000,)), options=options)])
except DeviceMemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
def test_too_little_memory_is_said_in_one_line() -> None:
    said = _run(LITTLE_MEMORY)
    assert "cpu has not the memory for 4000 gates and a batch of 20000 rows" in said


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import numpy as np
import dln
X = np.random.default_rng(0).random((100, 2))
y = X[:, 0] > 0.5
def fit(**parameters):
    model = dln.DLNClassifier(layers=(8, 4), tau=2.0, epochs=20, random_state=0, **parameters)
    return model.fit(X, y)
"""


def test_without_the_extension_torch_trains_and_numpy_predicts() -> None:
    code = ABSENT.format(name="dln._native") + (
        'print(fit(engine="torch").score(X, y) > 0.9)\n'
        "try:\n    fit()\nexcept dln.ExtraMissingError as error:\n    print(error)\n"
    )
    learned, message = _run(code).splitlines()
    assert learned == "True"
    assert 'train with engine="torch"' in message


def test_without_torch_the_error_names_the_extra() -> None:
    code = ABSENT.format(name="torch") + (
        "print(fit().score(X, y) > 0.9)\n"
        'try:\n    fit(engine="torch")\nexcept dln.ExtraMissingError as error:\n    print(error)\n'
    )
    learned, message = _run(code).splitlines()
    assert learned == "True"
    assert "pip install dln[torch]" in message


def _run(code: str) -> str:
    # From the folder of the tests, so that the code can import what they share.
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
