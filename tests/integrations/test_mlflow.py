"""Circuits in a real local store and a real scoring server of MLflow: log, load, predict, serve."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from dln import DLNClassifier, DLNRegressor
from tests.support.server import free_port, start
from tests.support.tools import find_module

ROWS = pd.DataFrame(
    {
        "age": [30, 71, 64, None, 25, 80] * 15,
        "dose": [0.5, 1.5, 2.5, 0.1, None, 2.0] * 15,
        "smoker": [True, False, True, True, False, True] * 15,
        "ward": ["north", "south", None, "it's", "north", "south"] * 15,
        "since": [datetime(2024, month, 1) for month in range(1, 7)] * 15,
    }
)
SMALL: dict[str, Any] = {"layers": (6,), "n_networks": 1, "epochs": 15, "random_state": 0}


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Use a store of files in a temporary folder."""
    find_module("mlflow", package="mlflow-skinny")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield mlflow
    mlflow.set_tracking_uri(None)


pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def test_a_logged_model_predicts_like_the_estimator(mlflow: Any) -> None:
    from dln.integrations.mlflow import log_model

    model = DLNClassifier(**SMALL).fit(ROWS, ["ill", "well", "ill"] * 30)
    with mlflow.start_run() as run:
        info = log_model(model, registered_model_name=None)
    found = mlflow.pyfunc.load_model(info.model_uri)
    assert found.predict(ROWS).tolist() == model.predict(ROWS).tolist()
    shares = found.predict(ROWS, params={"output": "probabilities"})
    expected = pd.DataFrame(model.predict_proba(ROWS), columns=list(model.classes_))
    assert_frame_equal(shares, expected)
    texts = found.predict(ROWS[:2], params={"output": "explanation"})
    assert texts == [str(model.circuit_.explain(ROWS.iloc[[row]])) for row in range(2)]
    assert info.run_id == run.info.run_id


def test_the_server_answers_like_the_estimator(mlflow: Any, tmp_path: Path) -> None:
    from dln.integrations.mlflow import save_model

    model = DLNRegressor(**SMALL).fit(ROWS, ROWS["dose"].fillna(0.0) * 10)
    save_model(model, tmp_path / "saved")
    assert not list((tmp_path / "saved").rglob("*.pkl"))
    address = serve(tmp_path / "saved", tmp_path)
    rows = ROWS[:6]
    table = f'{{"dataframe_split": {rows.to_json(orient="split", date_format="iso")}}}'
    assert ask(address, table)["predictions"] == model.predict(rows).tolist()
    texts = {**json.loads(table), "params": {"output": "explanation"}}
    expected = [str(model.circuit_.explain(rows.iloc[[row]])) for row in range(6)]
    assert ask(address, json.dumps(texts))["predictions"] == expected
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(address, '{"dataframe_split": {"columns": ["colour"], "data": [["red"]]}}')
    with refused.value as answer:
        assert answer.code == 400
        assert "missing inputs" in answer.read().decode()


def serve(model: Path, folder: Path) -> str:
    """Start `mlflow models serve`. It runs the command uvicorn, so that one must be on the path."""
    command = folder / "bin" / "uvicorn"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m uvicorn "$@"\n')
    command.chmod(0o755)
    path = f"PATH={command.parent}{os.pathsep}{os.environ['PATH']}"
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    options = ["--model-uri", model, "--port", str(port), "--env-manager", "local"]
    start(
        ["env", path, sys.executable, "-m", "mlflow", "models", "serve", *options],
        folder,
        owner={},
        connect=lambda: urllib.request.urlopen(f"{address}/ping", timeout=10),
        not_ready=urllib.error.URLError,
    )
    return address


def ask(address: str, body: str) -> Any:
    request = urllib.request.Request(
        f"{address}/invocations", body.encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_columns_are_checked_by_the_signature(mlflow: Any, tmp_path: Path) -> None:
    from dln.integrations.mlflow import save_model

    model = DLNClassifier(**SMALL).fit(ROWS, ROWS["dose"].fillna(0.0) > 1)
    save_model(model.circuit_, tmp_path / "saved")
    found = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    used = model.circuit_.logic.used_columns
    kept = [name for index, name in enumerate(ROWS) if index in used]
    assert found.predict(ROWS[kept]).tolist() == model.predict(ROWS).tolist()
    with pytest.raises(Exception, match="missing inputs"):
        found.predict(ROWS.drop(columns=kept[0]))
    with pytest.raises(Exception, match="output is 'rules', expected one of prediction"):
        found.predict(ROWS, params={"output": "rules"})
