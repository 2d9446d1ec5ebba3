"""Pipelines that end with a model of dln predict the same in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dln import DLNClassifier, DLNRegressor
from dln.errors import OptionError
from tests.support.tools import find_module

SMALL: dict[str, Any] = {"layers": (8,), "n_networks": 1, "epochs": 20, "random_state": 0}
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(150, 4))
X[DRAW.random(X.shape) < 0.05] = np.nan
LEVEL = np.nan_to_num(X[:, 0] + X[:, 2])


@pytest.fixture(autouse=True)
def _registered() -> None:
    find_module("skl2onnx")
    find_module("onnxruntime")
    from dln.integrations.skl2onnx import register

    register()


def run(pipeline: Any, rows: Any, **options: Any) -> list[Any]:
    import onnxruntime
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType

    made = to_onnx(pipeline, initial_types=[("X", DoubleTensorType([None, 4]))], **options)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    return list(session.run(None, {"X": rows}))


@pytest.mark.parametrize("labels", [("low", "high"), (0, 1), ("low", "high", "top")])
def test_a_classifier_behind_a_scaler_predicts_the_same(labels: tuple[Any, ...]) -> None:
    y = np.array(labels)[np.digitize(LEVEL, [0.0, 1.0][: len(labels) - 1])]
    pipeline = make_pipeline(StandardScaler(), DLNClassifier(**SMALL)).fit(X, y)
    label, probabilities = run(pipeline, X, options={"zipmap": False})
    assert_array_equal(label, pipeline.predict(X))
    assert_allclose(probabilities, pipeline.predict_proba(X), rtol=1e-12, atol=1e-15)


def test_probabilities_may_be_dictionaries() -> None:
    pipeline = make_pipeline(StandardScaler(), DLNClassifier(**SMALL)).fit(X, LEVEL > 0)
    pipeline[-1].classes_ = pipeline[-1].classes_.astype(int)
    import onnxruntime
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType

    made = to_onnx(pipeline, initial_types=[("X", FloatTensorType([None, 4]))])
    session = onnxruntime.InferenceSession(made.SerializeToString())
    (_, found) = session.run(None, {"X": X[:3].astype(np.float32)})
    assert set(found[0]) == {0, 1}


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_a_regressor_behind_a_scaler_predicts_the_same(loss: str) -> None:
    model = DLNRegressor(**SMALL, loss=loss)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, LEVEL)
    (found,) = run(pipeline, X)
    assert found.dtype == np.float64
    assert_array_equal(found[:, 0], pipeline.predict(X))


def test_what_does_not_fit_is_refused() -> None:
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import StringTensorType

    words = pd.DataFrame({"word": ["yes", "no"] * 40})
    model = DLNClassifier(**SMALL).fit(words, [1, 0] * 40)
    with pytest.raises(OptionError, match=r"'word' is text.*encode it in the step before"):
        to_onnx(model, initial_types=[("word", StringTensorType([None, 1]))])
    several = DLNRegressor(**SMALL, loss="quantile", quantile=(0.1, 0.9)).fit(X, LEVEL)
    with pytest.raises(OptionError, match="2 quantiles, skl2onnx expects one"):
        run(several, X)
