"""Classifiers that are quick to fit, and tables to fit them on."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from dln import DLNClassifier

SMALL: dict[str, Any] = {"layers": (32, 16), "n_networks": 1, "tau": 2.0, "epochs": 60}


UNDERTRAINED = pytest.mark.filterwarnings(
    "ignore:The model (never predicts|has no rules):dln.DlnWarning"
)
"""For tests with so few epochs or rows that a class may never be predicted."""


def small(**parameters: Any) -> DLNClassifier:
    """Make a quick classifier: one small network, nothing chosen by cross-validation."""
    return DLNClassifier(**{"random_state": 0, **SMALL, **parameters})


@pytest.fixture(name="iris", scope="module")
def iris_table() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


@pytest.fixture(name="mixed", scope="module")
def mixed_table() -> tuple[pd.DataFrame, Any]:
    """Columns of every kind with missing values; the class depends on three of them."""
    rng = np.random.default_rng(5)
    n = 240
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "dose": rng.normal(size=n),
            "ward": rng.choice(["north", "south", "west"], n),
            "smoker": rng.random(n) < 0.4,
            "admitted": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    y = np.where((frame["age"] > 50) ^ (frame["ward"] == "north"), "ill", "well")
    frame.loc[rng.random(n) < 0.1, "dose"] = np.nan
    frame.loc[rng.random(n) < 0.1, "ward"] = None
    return frame, y
