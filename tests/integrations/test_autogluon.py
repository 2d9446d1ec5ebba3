"""DLNModel in AutoGluon. AutoGluon needs pandas 2, so `make test-autogluon` runs this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("autogluon.tabular", reason="AutoGluon needs pandas 2: make test-autogluon")
pytestmark = pytest.mark.filterwarnings("ignore")

DRAW = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "age": DRAW.integers(20, 80, 300),
        "dose": np.where(DRAW.random(300) < 0.1, np.nan, DRAW.random(300)),
        "ward": DRAW.choice(["north", "south", "east"], 300),
    }
)
TARGETS = {
    "binary": np.where(ROWS["age"] > 50, "ill", "well"),
    "multiclass": np.where(ROWS["age"] > 60, "c", np.where(ROWS["ward"] == "east", "b", "a")),
    "regression": ROWS["age"] * 0.5 + (ROWS["ward"] == "east") * 10,
}
SMALL: dict[str, Any] = {"layers": (8,), "n_networks": 1, "epochs": 20}


@pytest.mark.parametrize("task", TARGETS)
def test_autogluon_fits_saves_and_loads_the_model(task: str, tmp_path: Path) -> None:
    from autogluon.tabular import TabularPredictor

    from dln.integrations.autogluon import DLNModel

    data = ROWS.assign(y=TARGETS[task])
    predictor = TabularPredictor("y", path=str(tmp_path / "ag"), problem_type=task, verbosity=0)
    predictor.fit(data, hyperparameters={DLNModel: SMALL}, fit_weighted_ensemble=False)
    assert predictor.model_names() == ["DLN"]
    measure = "r2" if task == "regression" else "accuracy"
    assert predictor.evaluate(data, auxiliary_metrics=True)[measure] > 0.9
    loaded = TabularPredictor.load(str(tmp_path / "ag"))
    assert loaded.predict(ROWS).equals(predictor.predict(ROWS))
    if task != "regression":
        assert loaded.predict_proba(ROWS).sum(axis=1).to_numpy() == pytest.approx(1.0)


def test_bagging_uses_the_model_as_well(tmp_path: Path) -> None:
    from autogluon.tabular import TabularPredictor

    from dln.integrations.autogluon import DLNModel

    data = ROWS.assign(y=TARGETS["binary"])
    predictor = TabularPredictor("y", path=str(tmp_path / "ag"), verbosity=0)
    predictor.fit(
        data,
        hyperparameters={DLNModel: SMALL},
        num_bag_folds=2,
        num_bag_sets=1,
        fit_weighted_ensemble=False,
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
    )
    assert predictor.model_names() == ["DLN_BAG_L1"]
    assert (predictor.predict(ROWS) == data["y"]).mean() > 0.9
