"""Runs of engines: options that only one supports, use by the estimator, and errors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.jobs import random_job

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tensors here are small

from dln import DLNClassifier  # noqa: E402
from dln.data.table import read_table  # noqa: E402
from dln.errors import OptionError, TrainingError  # noqa: E402
from dln.estimators.plan import read_parameters  # noqa: E402
from dln.train import native  # noqa: E402
from dln.train import torch as readable  # noqa: E402
from dln.train.fit import FitPlan, Progress, fit_circuit  # noqa: E402
from dln.train.jobs import Engine  # noqa: E402
from dln.train.network import Shape  # noqa: E402
from dln.train.options import TrainOptions  # noqa: E402
from dln.train.problem import Problem  # noqa: E402
from dln.train.recipe import make_candidates  # noqa: E402
from dln.train.settings import Gumbel  # noqa: E402
from tests.support.engines import both_engines  # noqa: E402

# -- soft and Gumbel ----------------------------------------------------------------------------


@pytest.mark.parametrize("relaxation", ["soft", "gumbel", Gumbel(0.1)])
def test_the_native_engine_refuses_relaxations_that_only_torch_supports(relaxation: Any) -> None:
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
    assert model.history_["loss"].shape == (5, 40)


def test_torch_chooses_sizes_by_cross_validation_on_request() -> None:
    X, y = _easy_table()
    auto = DLNClassifier(engine="torch", layers=(8, 4), n_networks=1, epochs=5, random_state=0)
    assert auto.fit(X, y).selection_ == []
    model = DLNClassifier(engine="torch", epochs=2, selection_fits=1, random_state=0)
    model.set_params(layers=(8, 4), n_networks=1).fit(X[:80], y[:80])
    assert len(model.selection_) == 5


def test_the_estimator_returns_traces() -> None:
    X, y = _easy_table()
    model = DLNClassifier(layers=(8, 4), tau=2.0, epochs=4, trace_every=2, random_state=0)
    assert [trace.epochs.tolist() for trace in model.fit(X, y).traces_] == [[0, 2, 4]] * 5


# -- errors -------------------------------------------------------------------------------------


def test_a_missing_device_is_refused() -> None:
    X, y = _easy_table()
    for device in ("cuda:17", "warp drive", "meta"):
        with pytest.raises(OptionError, match=rf"^device is '{device}', .* finds only cpu"):
            DLNClassifier(engine="torch", device=device).fit(X, y)


@both_engines
def test_diverged_training_is_an_error(engine: Engine) -> None:
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
    ],
)
@both_engines
def test_rows_out_of_range_are_refused(
    engine: Engine, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        engine([replace(random_job(0), **change)])


@both_engines
def test_a_batch_of_almost_no_weight_is_trained(engine: Engine) -> None:
    job = random_job(0, options=TrainOptions(epochs=2, batch_size=2))
    weight = np.where(np.arange(100) % 3 == 0, 1, 1e-40).astype(np.float32)
    (result,) = engine([replace(job, data=replace(job.data, weight=weight))])
    assert np.all(np.isfinite(result.history[:, 0]))


def test_after_ctrl_c_only_networks_that_were_trained_vote() -> None:
    X, y = _easy_table()
    problem = Problem(read_table(X), y.astype(np.int32), np.ones(len(y), np.float32), (0, 1))
    requested = read_parameters(DLNClassifier(layers=(6, 4), tau=2.0, n_networks=5, epochs=10**6))
    plan = FitPlan(make_candidates(requested, len(y), 2, 3))

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
from tests.support.jobs import IN_TURN, TOGETHER, UNIFIED, random_job
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
def test_too_little_memory_is_reported_in_one_line() -> None:
    said = _run(LITTLE_MEMORY)
    assert "cpu does not have enough memory for 4000 gates and a batch of 20000 rows" in said


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


def test_the_error_for_missing_torch_names_it() -> None:
    code = ABSENT.format(name="torch") + (
        "print(fit().score(X, y) > 0.9)\n"
        'try:\n    fit(engine="torch")\nexcept dln.ExtraMissingError as error:\n    print(error)\n'
    )
    learned, message = _run(code).splitlines()
    assert learned == "True"
    assert "requires torch; install with: pip install torch" in message


def _run(code: str) -> str:
    # Run in the root, so that the code can import the shared modules of the tests.
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
