"""A fit on batches gives the circuit that a fit on the whole table gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import dln
from dln.data import store, table
from dln.errors import TableError
from dln.train import growth, number_fit, select

QUICK: dict[str, Any] = {"effort": "quick", "random_state": 0, "epochs": 4, "simplify": None}
SMALL: dict[str, Any] = {"layers": (16,), "n_networks": 1}


@pytest.fixture(autouse=True)
def _many_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every array be in a file, and every walk over rows have several blocks."""
    monkeypatch.setattr(store, "SMALL", 1)
    monkeypatch.setattr(table, "BLOCK_ROWS", 100)


def make_frame(n_rows: int = 600) -> pa.Table:
    rng = np.random.default_rng(1)
    size, count = rng.normal(size=n_rows).astype(np.float32), rng.integers(0, 9, n_rows)
    place = rng.choice(["here", "there", "far"], n_rows)
    score = size + (count > 4) + (place == "far")
    return pa.table(
        {
            "size": pa.array(size, mask=rng.random(n_rows) < 0.1),
            "count": pa.array(count, mask=rng.random(n_rows) < 0.1),
            "place": pa.array(place, mask=rng.random(n_rows) < 0.1),
            "label": np.where(score > 1, "yes", "no"),
            "number": score + 0.1 * rng.normal(size=n_rows),
            "weight": rng.random(n_rows) * (rng.random(n_rows) < 0.9),
            "group": rng.integers(0, 60, n_rows),
            "years": 0.5 + rng.random(n_rows),
        }
    )


def check_same(model: Any, frame: pa.Table, target: str, **beside: str) -> None:
    features = ["size", "count", "place"]
    X = frame.select(features).to_pandas(types_mapper=pd.ArrowDtype)
    y = frame.column(target).to_pandas()
    whole = type(model)(**model.get_params())
    whole.fit(X, y, **{name: frame.column(own).to_pandas() for name, own in beside.items()})
    chosen = frame.select([*features, target, *beside.values()])
    model.fit(
        ds.dataset(chosen.slice(0, 250).to_batches() + chosen.slice(250).to_batches()),
        target,
        **beside,
    )
    assert model.circuit_ == whole.circuit_
    assert model.feature_names_in_.tolist() == whole.feature_names_in_.tolist() == features
    assert model.n_features_in_ == 3
    assert model.circuit_.rules


@pytest.mark.parametrize(
    "options",
    [
        {"selection_fits": 1},
        {"class_weight": None, "tau": 4.0, **SMALL},
        {"scaling": "range", "layers": (16,), "ensemble": "bagging", "n_networks": 2},
        {"validation_fraction": 0.2, "costs": {("yes", "no"): 3.0}, **SMALL},
    ],
)
def test_classes(options: dict[str, Any]) -> None:
    check_same(dln.DLNClassifier(**QUICK | options), make_frame(), "label")


def test_classes_with_weights_and_groups() -> None:
    model = dln.DLNClassifier(**QUICK, **SMALL, n_trees=10)
    check_same(model, make_frame(), "label", sample_weight="weight", groups="group")


def test_classes_of_whole_numbers() -> None:
    frame = make_frame()
    counts = np.clip(np.rint(frame.column("number").to_numpy()), 0, 2).astype(np.int64)
    model = dln.DLNClassifier(**QUICK, **SMALL)
    check_same(model, frame.append_column("level", pa.array(counts)), "level")


def test_a_budget() -> None:
    check_same(
        dln.DLNClassifier(random_state=0, max_rules=1, max_literals_per_rule=1),
        make_frame(100),
        "label",
    )


@pytest.mark.parametrize("options", [{"n_trees": 10}, {"loss": "absolute", **SMALL}])
def test_numbers(options: dict[str, Any]) -> None:
    check_same(dln.DLNRegressor(**QUICK | options), make_frame(), "number")


def test_numbers_with_weights_groups_and_exposure() -> None:
    frame = make_frame()
    claims = pa.array(np.maximum(np.rint(frame.column("number").to_numpy()), 0))
    model = dln.DLNRegressor(**QUICK, **SMALL, loss="poisson")
    beside = {"sample_weight": "weight", "groups": "group", "exposure": "years"}
    check_same(model, frame.append_column("claims", claims), "claims", **beside)
    assert model.circuit_.number_readout.name == "claims per years"


def test_a_large_table_is_sampled_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (growth, number_fit):
        monkeypatch.setattr(module, "MAX_ROWS", 300)
    monkeypatch.setattr(select, "SELECTION_ROWS", 200)
    monkeypatch.setattr(select, "LEAVE_OUT_ROWS", 300)
    check_same(dln.DLNClassifier(**QUICK, **SMALL, n_trees=10), make_frame(), "label")
    check_same(dln.DLNClassifier(**QUICK, **SMALL, selection_fits=2), make_frame(), "label")
    check_same(dln.DLNRegressor(**QUICK, **SMALL), make_frame(), "number")


@pytest.mark.parametrize(
    ("y", "beside", "message"),
    [
        ("lable", {}, "y is 'lable', expected the name of a column, because the table is read"),
        (np.zeros(600), {}, "y is .*ndarray.*, expected the name of a column"),
        ("label", {"sample_weight": "w"}, "sample_weight is 'w', expected the name of a column"),
        ("size", {}, "the target is missing in .* of 600 rows, first in row"),
    ],
)
def test_a_wrong_name_is_one_clear_error(y: Any, beside: dict[str, str], message: str) -> None:
    with pytest.raises(TableError, match=message):
        dln.DLNClassifier(**QUICK).fit(ds.dataset(make_frame()), y, **beside)


def test_the_table_needs_a_column_besides_the_target() -> None:
    with pytest.raises(TableError, match="0 columns"):
        dln.DLNClassifier(**QUICK).fit(ds.dataset(make_frame().select(["label"])), "label")


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    model = dln.DLNClassifier(**QUICK, **SMALL, verbose=1)
    model.fit(ds.dataset(make_frame().select(["size", "label"])), "label")
    assert "M rows/s" in capsys.readouterr().err
