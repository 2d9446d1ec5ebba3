"""A search on a Ray cluster equals a local search, even if a worker or a node dies."""

import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier

from dln import Between, DLNClassifier, DLNSearchCV, OptionError
from dln.data.coded import CodedColumn
from dln.data.table import read_table
from dln.search import DLNRegressorSearchCV, SearchState, on_ray

ray = pytest.importorskip("ray", reason="Ray is not installed")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")
ray_joblib = pytest.importorskip("ray.util.joblib", reason="Ray is not installed")

# A node that does not answer three times, 200 ms apart, is lost.
CONFIG = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 1_000,
    "health_check_failure_threshold": 3,
}
SPACE: dict[str, Any] = {
    "layers": [(4, 2), (12, 6)],
    "tau": Between(1.0, 8.0, log=True),
    "n_cutoffs": [3, 6],
    "epochs": 12,
    "n_networks": 2,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [DLNSearchCV, DLNRegressorSearchCV])
def test_budgets_on_a_cluster_are_those_of_one_machine(cluster: Any, iris: Any, kind: Any) -> None:
    X, y = iris
    usual = {"fixed": {"max_rules": 2}, "space": {"max_literals": [1, 2]}, "n_trials": 2, "cv": 2}
    expected = kind(**usual, random_state=0).fit(X, y)
    found = kind(**usual, random_state=0, backend="ray").fit(X, y)
    assert found.trials_ == expected.trials_
    assert found.circuit_ == expected.circuit_


@pytest.mark.filterwarnings("ignore")
def test_numbers_on_a_cluster_are_those_of_one_machine(cluster: Any, iris: Any) -> None:
    X, _ = iris
    space = {"layers": [(4,), (8,)], "epochs": 5, "n_networks": 1, "n_trees": [0, 5]}
    usual = {"space": space, "n_trials": 2, "batch_size": 2, "cv": 2, "random_state": 0}
    expected = DLNRegressorSearchCV(**usual).fit(X[:, 1:], X[:, 0])
    found = DLNRegressorSearchCV(**usual, backend="ray").fit(X[:, 1:], X[:, 0])
    assert found.trials_ == expected.trials_
    assert found.circuit_ == expected.circuit_


@pytest.mark.filterwarnings("ignore")
def test_bagging_of_scikit_learn_on_a_cluster_is_that_of_one_machine(
    cluster: Any, iris: Any
) -> None:
    """The example of docs/guides/search.md, with small networks."""
    X, y = iris
    model = DLNClassifier(layers=(8,), n_networks=1, n_trees=0, epochs=5, n_jobs=1)
    bag = BaggingClassifier(model, n_estimators=3, n_jobs=2, random_state=0)
    expected = bag.fit(X, y).predict_proba(X)
    ray_joblib.register_ray()
    with joblib.parallel_config("ray"):
        found = bag.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def quick(**parameters: Any) -> DLNSearchCV:
    usual = {"n_trials": 6, "batch_size": 3, "cv": 3, "random_state": 0}
    return DLNSearchCV(**{"space": SPACE, **usual, **parameters})


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X, y


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start a cluster on this machine: a head that trains nothing, and two nodes of one core."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own, on what it starts and leaves open
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": CONFIG}
        nodes = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        nodes.add_node(num_cpus=1)
        nodes.add_node(num_cpus=1)
        ray.init(address=nodes.address, log_to_driver=False)
        yield nodes
        ray.shutdown()
        nodes.shutdown()


def test_tasks_read_the_table_in_shared_memory(cluster: Any) -> None:
    """Numbers and text reach a task as arrays in Ray's store, which nobody can write to."""
    rng = np.random.default_rng(0)
    text = rng.choice(["a", "b", None], 100_000)
    frame = pd.DataFrame({"x": rng.random(100_000), "flag": rng.random(100_000) < 0.5, "t": text})

    @ray.remote(num_cpus=1)
    def arrays(table: Any) -> list[tuple[str, bool]]:
        raws = [table.read(place) for place in range(table.n_columns)]
        found = [raw.codes if isinstance(raw, CodedColumn) else raw.values for raw in raws]
        return [(str(values.dtype), values.flags.writeable) for values in found]

    for X, kinds in (
        (frame, ["float64", "bool", "int32"]),
        (rng.random((100_000, 3)), ["float64"] * 3),
        (rng.integers(0, 9, (100_000, 2)), ["int64"] * 2),
    ):
        table = on_ray.shared_table(read_table(X).kept())
        assert ray.get(arrays.remote(ray.put(table))) == [(kind, False) for kind in kinds]


@pytest.mark.filterwarnings("ignore")
def test_a_table_with_text_on_a_cluster_gives_the_circuit_of_one_machine(cluster: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=300), "place": rng.choice(["a", "b", None], 300)})
    y = np.where((frame["size"] > 0) ^ (frame["place"] == "a"), "yes", "no")
    expected = quick(n_trials=2).fit(frame, y)
    found = quick(n_trials=2, backend="ray").fit(frame, y)
    assert found.trials_ == expected.trials_
    assert found.circuit_ == expected.circuit_
    data = dataset.dataset(pa.Table.from_pandas(frame.assign(y=y), preserve_index=False))
    batched = quick(n_trials=2, backend="ray").fit(data, "y")
    assert batched.circuit_ == expected.circuit_


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step", ["encode_fold", "_run_one"])
def test_tasks_of_a_worker_that_dies_run_again(
    cluster: Any, iris: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    expected = quick(n_trials=2).fit(*iris)
    work, marker = getattr(on_ray, step), tmp_path / "died"

    def die_once(*arguments: Any) -> Any:
        try:
            marker.open("x").close()
        except FileExistsError:
            return work(*arguments)
        return os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(on_ray, step, die_once)
    found = quick(n_trials=2, backend="ray").fit(*iris)
    assert marker.exists()
    assert found.trials_ == expected.trials_
    assert found.circuit_ == expected.circuit_


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_loses_a_node_gives_the_same_result_as_one_machine(
    cluster: Any, iris: Any
) -> None:
    lost: list[Any] = []

    def lose_a_node(state: SearchState) -> None:
        # During the second batch, when the node holds folds and runs tasks.
        if len(state.trials) == 3 and not lost:
            lost.extend(cluster.worker_nodes)
            cluster.remove_node(lost[0], allow_graceful=False)

    found = quick(backend="ray", callback=lose_a_node).fit(*iris)
    assert len(lost) == 2
    expected = quick().fit(*iris)
    assert found.trials_ == expected.trials_
    assert found.circuit_ == expected.circuit_
    assert ray.is_initialized()  # Ray was running before the search, so it still runs after it
    with pytest.raises(OptionError, match="relaxation is 'soft', but the native engine") as caught:
        quick(backend="ray", space={**SPACE, "relaxation": "soft"}).fit(*iris)
    assert "\n" not in str(caught.value)
