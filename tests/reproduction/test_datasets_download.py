"""A table is downloaded, converted and kept only if its checksum is the expected one."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from dln.errors import OptionError, TableError
from reproduction.datasets import NAMES, download, load

DATA = os.environ.get("DLN_DATA", "")
needs_data = pytest.mark.skipif(
    not DATA or not Path(DATA).is_dir(), reason="DLN_DATA does not name a folder"
)
SOURCES = json.loads(files("reproduction.datasets").joinpath("sources.json").read_text("utf-8"))
WANTED = "split,size,group,kind\ntrain,2.5,x,a\ntrain,,y,b\ntest,4.5,,a\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Describe a source in two files: a line of headings, an index, other order, ? for missing."""
    first, second = tmp_path / "first.data", tmp_path / "second.data"
    first.write_text("n kind size group\n1 a 2.5 x\n2 b ? y\n\n", "utf-8")
    second.write_text("n kind size group\n3 a 4.5 ?\n", "utf-8")
    kinds = {"split": "split", "size": "continuous", "group": "categorical", "kind": "target"}
    described = {
        "name": "Diabetes",
        "origin": "a book",
        "parts": [
            {"url": first.as_uri(), "split": "train"},
            {"url": second.as_uri(), "split": "test"},
        ],
        "separator": " ",
        "header_lines": 1,
        "missing": "?",
        "order": ["", "kind", "size", "group"],
        "sha256": hashlib.sha256(WANTED.encode()).hexdigest(),
        "target": "kind",
        "paper": {"rows": 3, "train": 2, "classes": 2, "continuous": 1, "categorical": 1},
        "columns": [{"name": name, "kind": kind} for name, kind in kinds.items()],
    }
    monkeypatch.setattr("reproduction.datasets.sources._sources", lambda: {"Diabetes": described})
    return described


@pytest.mark.usefixtures("source")
def test_a_fetched_table_has_the_known_form_and_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tables"
    path = download("Diabetes", folder)
    assert path.read_text("utf-8") == WANTED
    monkeypatch.setenv("DLN_DATA", str(folder))
    data = load("Diabetes")
    assert data.X.isna().to_numpy().tolist() == [[False, False], [True, False], [False, True]]
    assert data.split is not None
    assert data.split.tolist() == ["train", "train", "test"]


@pytest.mark.usefixtures("source")
def test_the_manifest_keeps_other_tables_and_lists_each_once(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"datasets": [{"name": "Other"}], "note": 1}), "utf-8")
    download("Diabetes", tmp_path)
    download("Diabetes", tmp_path)
    document = json.loads(manifest.read_text("utf-8"))
    assert [entry["name"] for entry in document["datasets"]] == ["Other", "Diabetes"]
    assert document["note"] == 1


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("text", ["{", "[]", '{"datasets": 3}', "{}"])
def test_a_manifest_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(TableError, match=r"manifest\.json is not a manifest of data sets"):
        download("Diabetes", tmp_path)


def test_a_source_that_has_changed_is_not_kept(source: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "second.data").write_text("n kind size group\n3 b 4.5 ?\n", "utf-8")
    with pytest.raises(TableError, match=r"source of Diabetes has changed: .* older copy of a bo"):
        download("Diabetes", tmp_path / "tables")
    assert not (tmp_path / "tables").exists()


def test_a_source_that_does_not_answer_is_told(source: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "first.data").unlink()
    with pytest.raises(TableError, match=r"cannot fetch file:.*first\.data: .*; look for it by"):
        download("Diabetes", tmp_path)


def test_tables_without_a_source_and_unknown_ones_are_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"^Stroke cannot be downloaded; can be: Heart, "):
        download("Stroke", tmp_path)
    with pytest.raises(OptionError, match=r"no data set 'PDAC'; known are BankChurn"):
        download("PDAC", tmp_path)


def test_every_source_is_one_of_the_tables_and_described_whole() -> None:
    for described in SOURCES:
        assert described["name"] in NAMES
        assert all(part["url"].startswith("https://") for part in described["parts"])
        columns = {column["name"] for column in described["columns"]}
        assert columns - set(described["order"]) <= {"split"}
        assert described["target"] in columns


@needs_data
@pytest.mark.parametrize("described", SOURCES, ids=lambda described: described["name"])
def test_the_expected_table_is_that_of_the_folder(described: dict[str, Any]) -> None:
    """What a source must give is, byte for byte, the text of the table in the folder."""
    manifest = json.loads((Path(DATA) / "manifest.json").read_text("utf-8"))
    entry = next(one for one in manifest["datasets"] if one["name"] == described["name"])
    raw = (Path(DATA) / entry["file"]).read_bytes()
    text = gzip.decompress(raw) if entry["file"].endswith(".gz") else raw
    assert hashlib.sha256(text).hexdigest() == described["sha256"]
    assert [column["kind"] for column in entry["columns"]] == [
        column["kind"] for column in described["columns"]
    ]
