"""skops stores fitted estimators without pickle. The guide lists the types to trust."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dln import DLNClassifier, DLNRegressor
from tests.support.tools import find_module

GUIDE = Path(__file__).parents[2] / "docs/guides/integrations.md"
ROWS = pd.DataFrame(
    {
        "age": [30, 71, None, 25] * 20,
        "ward": ["north", None, "it's", "north"] * 20,
        "since": [datetime(2024, month, 1) for month in (1, 2, 3, 4)] * 20,
    }
)
SMALL: dict[str, Any] = {"layers": (6,), "n_networks": 1, "epochs": 10, "random_state": 0}
MODELS = {
    "classes": (DLNClassifier(**SMALL), ["a", "b", "a", "b"] * 20),
    "path": (DLNClassifier(max_rules=3, random_state=0), ["a", "b", "a", "b"] * 20),
    "constraints": (DLNClassifier(**SMALL, monotone={"age": "+"}), [0, 1, 1, 0] * 20),
    "numbers": (DLNRegressor(**SMALL, path=True), [1.0, 2.5, 4.0, 2.0] * 20),
}


def documented_types() -> set[str]:
    return set(re.findall(r'"(dln\.[\w.]+)"', GUIDE.read_text("utf-8")))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_restored_by_trusting_the_documented_types(name: str) -> None:
    find_module("skops")
    import skops.io as sio

    model, y = MODELS[name]
    fitted = model.fit(ROWS, y)
    data = sio.dumps(fitted)
    needed = set(sio.get_untrusted_types(data=data))
    assert needed <= documented_types()
    restored = sio.loads(data, trusted=sorted(needed))
    assert restored.circuit_ == fitted.circuit_
    assert restored.get_params() == fitted.get_params()
    np.testing.assert_array_equal(restored.predict(ROWS), fitted.predict(ROWS))
