"""Tables have the form a user would bring; a wrong folder, file or name gives a one-line error."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dln.errors import OptionError, TableError
from reproduction.datasets import NAMES, Dataset, load

DATA = os.environ.get("DLN_DATA", "")
needs_data = pytest.mark.skipif(
    not DATA or not Path(DATA).is_dir(), reason="DLN_DATA does not name a folder"
)

WITH_MISSING_VALUES = {"CKD", "Cirrhosis", "HepatitisC", "Stroke"}
TRAIN_ROWS = {"HAR": 7352, "SatIm": 4435}

CSV = "number,size,group,kind\n1,2.5,NA,a\n2,,None,b\n3,4.5,,a\n"


@cache
def loaded(name: str) -> Dataset:
    return load(name)


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_table_is_in_the_form_a_user_would_bring(name: str) -> None:
    data = loaded(name)
    groups = data.X.select_dtypes("category")
    assert groups.shape[1] + data.X.select_dtypes("number").shape[1] == data.X.shape[1]
    assert all(
        isinstance(level, str) for column in groups for level in groups[column].cat.categories
    )
    assert data.X.index.equals(pd.RangeIndex(len(data.X)))
    assert data.y.index.equals(data.X.index)
    assert not data.y.isna().any()
    assert bool(data.X.isna().any(axis=None)) == (name in WITH_MISSING_VALUES)


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_only_official_splits_are_given(name: str) -> None:
    split = loaded(name).split
    if name not in TRAIN_ROWS:
        assert split is None
    else:
        assert split is not None
        assert set(split) == {"train", "test"}
        assert len(split) == len(loaded(name).X)
        assert np.count_nonzero(split == "train") == TRAIN_ROWS[name]


@needs_data
def test_har_components_are_fitted_on_the_training_rows() -> None:
    data = loaded("HAR")
    train = data.X[data.split == "train"]
    np.testing.assert_allclose(train.mean(), 0, atol=1e-9)
    correlation = np.corrcoef(train.to_numpy(), rowvar=False)
    np.testing.assert_allclose(correlation, np.eye(63), atol=1e-9)
    # Standardised features have variance 1; the last component is the one that reaches 90 %.
    explained = train.var(ddof=0).cumsum().to_numpy() / 561
    assert explained[-2] < 0.9 <= explained[-1]


@needs_data
def test_target_classes_are_merged_as_noted() -> None:
    assert loaded("Heart").y.value_counts().to_dict() == {0: 159, 1: 134}
    assert loaded("HepatitisC").y.value_counts().to_dict() == {0: 540, 1: 75}
    assert set(loaded("Cirrhosis").y) == {2, 3, 4}


@needs_data
def test_honest_cardiotocography_has_the_21_standard_features() -> None:
    honest, full = loaded("Cardiotocography-honest"), loaded("Cardiotocography")
    assert honest.X.shape == (2126, 21)
    assert {"DL", "DS", "DP", "Tendency"} <= set(honest.X)
    assert not {"CLASS", "SUSP", "A", "DS_count"} & set(honest.X)
    assert honest.y.equals(full.y)


@needs_data
def test_every_table_of_the_folder_has_a_name() -> None:
    manifest = json.loads((Path(DATA) / "manifest.json").read_text("utf-8"))
    assert sorted(NAMES) == sorted(entry["name"] for entry in manifest["datasets"])


def test_published_accuracies_are_percentages_of_the_19_tables() -> None:
    assert len(NAMES) == 19


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a tiny table named Diabetes."""
    kinds = {"number": "id", "size": "continuous", "group": "categorical", "kind": "target"}
    entry = {
        "name": "Diabetes",
        "file": "tiny.csv",
        "sha256": hashlib.sha256(CSV.encode()).hexdigest(),
        "target": "kind",
        "paper": {"rows": 3, "train": 2, "classes": 2, "continuous": 1, "categorical": 1},
        "columns": [{"name": name, "kind": kind} for name, kind in kinds.items()],
    }
    (tmp_path / "tiny.csv").write_bytes(CSV.encode())
    (tmp_path / "manifest.json").write_text(json.dumps({"datasets": [entry]}), "utf-8")
    monkeypatch.setenv("DLN_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_only_empty_cells_are_missing() -> None:
    data = load("Diabetes")
    assert list(data.X.columns) == ["size", "group"]
    assert list(data.X["group"].cat.categories) == ["NA", "None"]
    assert data.X.isna().to_numpy().tolist() == [[False, False], [True, False], [False, True]]
    assert list(data.y) == ["a", "b", "a"]


@pytest.mark.parametrize("name", ["Iris", "heart", ""])
def test_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(
        OptionError, match=rf"no data set '{name}'; known are BankChurn, .*-honest, iris, .*digits$"
    ):
        load(name)


def test_the_table_that_is_not_public_says_so() -> None:
    with pytest.raises(OptionError, match=r"^PDAC is not public and could not be found; known"):
        load("PDAC")


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [("iris", (150, 4), 3), ("wine", (178, 13), 3), ("breast_cancer", (569, 30), 2),
     ("digits", (1797, 64), 10)],
)  # fmt: skip
def test_embedded_tables_need_no_folder(
    name: str, shape: tuple[int, int], n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DLN_DATA", raising=False)
    data = load(name)
    assert (data.X.shape, data.y.nunique()) == (shape, n_classes)
    assert data.split is None


@pytest.mark.parametrize("value", [None, ""])
def test_unset_folder_is_told(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DLN_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("DLN_DATA", value)
    with pytest.raises(OptionError, match=r"^DLN_DATA is not set; set it to the folder"):
        load("Heart")


def test_folder_without_manifest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(TableError, match=r"cannot read .*manifest\.json; set DLN_DATA"):
        load("Heart")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"datasets": [{"name": "Diabetes"}]}'])
def test_broken_manifest_is_told(text: str, folder: Path) -> None:
    (folder / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(TableError, match=r"manifest\.json does not describe Diabetes; restore"):
        load("Diabetes")


@pytest.mark.usefixtures("folder")
def test_table_that_the_manifest_lacks_is_told() -> None:
    with pytest.raises(TableError, match="does not describe Heart"):
        load("Heart")


def test_missing_file_is_told(folder: Path) -> None:
    (folder / "tiny.csv").unlink()
    with pytest.raises(TableError, match=r"cannot read .*tiny\.csv, which the manifest lists"):
        load("Diabetes")


def test_tampered_file_is_not_read(folder: Path) -> None:
    (folder / "tiny.csv").write_bytes(CSV.replace("2.5", "2.6").encode())
    with pytest.raises(TableError, match=r"tiny\.csv has the checksum \w{12}…, the manifest says"):
        load("Diabetes")
