"""DLNModel in experiments of TabArena, on a table of one's own: `make test-autogluon` runs this."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("tabarena", reason="TabArena is not installed: make test-autogluon")
pytestmark = pytest.mark.filterwarnings("ignore")

DRAW = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "age": DRAW.integers(20, 80, 300),
        "dose": np.where(DRAW.random(300) < 0.1, np.nan, DRAW.random(300)),
        "ward": pd.Categorical(DRAW.choice(["north", "south", "east"], 300)),
    }
)
TARGETS = {
    "classification": np.where(ROWS["age"] > 50, "ill", "well"),
    "regression": ROWS["age"] * 0.5 + (ROWS["ward"] == "east") * 10.0,
}
WORST = {"classification": 0.1, "regression": 3.0}  # 1 - area under the curve; root mean square
SMALL: dict[str, Any] = {"layers": (8,), "n_networks": 1, "epochs": 20}


@pytest.mark.parametrize("kind", ["outer", "holdout", "bagged"])
@pytest.mark.parametrize("task", TARGETS)
def test_an_experiment_fits_and_scores_the_model(
    task: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tabarena.benchmark.experiment import ExperimentBatchRunner, Job
    from tabarena.benchmark.task.metadata.collection import TaskMetadataCollection
    from tabarena.benchmark.task.user_task import UserTask

    monkeypatch.chdir(tmp_path)
    own = UserTask(task_name="wards", task_cache_path=tmp_path / "tasks")
    table = own.create_task(
        target_feature="y",
        problem_type=task,
        dataset=ROWS.assign(y=TARGETS[task]),
        splits={0: {0: (list(range(200)), list(range(200, 300)))}},
    )
    own.save_task(table)
    runner = ExperimentBatchRunner(
        str(tmp_path / "out"),
        TaskMetadataCollection([table.metadata]),
        user_tasks=[own],
        debug_mode=True,  # folds are fitted in this process
    )
    (found,) = runner.run_jobs([Job.create(experiment(kind), own.tabarena_task_name, fold=0)])
    assert found["framework"] == "DLN"
    assert found["metric_error"] < WORST[task]


def experiment(kind: str) -> Any:
    """Train on all rows, with rows left out, or on two folds."""
    from tabarena.benchmark.experiment import (
        AGModelBagExperiment,
        AGModelExperiment,
        AGModelOuterExperiment,
    )

    from dln.integrations.autogluon import DLNModel

    if kind == "outer":
        return AGModelOuterExperiment("DLN", DLNModel, SMALL)
    if kind == "holdout":
        return AGModelExperiment("DLN", DLNModel, SMALL)
    return AGModelBagExperiment("DLN", DLNModel, SMALL, num_bag_folds=2)
