"""Saving and loading is the identity, and a save that fails leaves the old file."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln._util import atomic_file
from dln.core.circuit import Circuit
from dln.core.literals import Column
from dln.core.model_file import circuit_from_json, circuit_to_json, write
from tests.support.stored import CIRCUIT, TEXT
from tests.support.strategies import as_rows, circuits, law, rows_for

# -- laws -------------------------------------------------------------------------------------


def test_columns_of_0_and_1_print_the_same_after_loading(tmp_path: Path) -> None:
    circuit = replace(
        CIRCUIT, columns=(replace(CIRCUIT.columns[0], binary=True), *CIRCUIT.columns[1:])
    )
    circuit.save(tmp_path / "m.json")
    assert Circuit.load(tmp_path / "m.json") == circuit != CIRCUIT


@law
@given(data=st.data(), circuit=circuits())
def test_saving_and_loading_is_the_identity(
    data: st.DataObject, circuit: Circuit, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "identity.json"
    circuit.save(path)
    loaded = Circuit.load(path)
    assert loaded == circuit
    assert [type(label) for label in loaded.classes] == [type(label) for label in circuit.classes]
    assert circuit_to_json(loaded) == circuit_to_json(circuit)
    table = as_rows(circuit, data.draw(rows_for(circuit, max_rows=3)))
    assert_array_equal(loaded.votes(table), circuit.votes(table))
    assert str(loaded) == str(circuit)


@law
@given(circuit=circuits())
def test_files_of_version_1_still_load(circuit: Circuit) -> None:
    circuit = replace(circuit, calibration=None)
    text = circuit_to_json(circuit, version=1)
    assert json.loads(text)["version"] == 1
    assert "readout" not in json.loads(text)
    assert circuit_from_json(text) == circuit


def test_the_file_is_json_of_the_documented_form() -> None:
    assert json.loads(TEXT) == {
        "format": "dln-circuit",
        "version": 2,
        "columns": [
            {"name": "age", "kind": "integer"},
            {
                "name": "colour",
                "kind": "category",
                "categories": ["blue", "red", 3, 2.5, True, {"number": "inf"}],
            },
            {"name": "born", "kind": "date"},
        ],
        "literals": [
            {"column": 0, "above": 54.5},
            {"column": 1, "among": [0, 2]},
            {"column": 2, "missing": True},
        ],
        "gates": [["AND", 0, 1], ["XOR", 3, 2]],
        "readout": "votes",
        "rules": [{"wire": 4, "votes": [0, 2]}, {"wire": 0, "votes": [-1, 0]}],
        "base_votes": [1, 0],
        "classes": ["healthy", "ill"],
        "temperature": 0.75,
        "calibration": {"leads": [-1, 2], "values": [[0.125, 0.9]]},
        "constraints": {"interactions": [["age", "colour", "born"]], "max_columns_per_rule": 3},
        "locked": [1],
        "edits": [{"edit": "lock", "rule": 2}],
    }
    assert '\n    ["XOR", 3, 2]\n' in TEXT  # one part per line, so that diff can compare two files


def test_names_that_utf8_cannot_encode_are_kept(tmp_path: Path) -> None:
    circuit = Circuit((Column("half \ud800", "number"),), (), (), (), (0,), ("\udfff",))
    circuit.save(tmp_path / "c.json")
    assert Circuit.load(tmp_path / "c.json") == circuit


# -- files ------------------------------------------------------------------------------------


def test_a_missing_file_raises_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Circuit.load(tmp_path / "absent.json")
    with pytest.raises(FileNotFoundError):
        CIRCUIT.save(tmp_path / "absent" / "c.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("failing", ["json", "write", "rename"])
def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.json"
    CIRCUIT.save(path)

    def fail(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    def open_and_fail(*args: Any, **options: Any) -> Any:
        stream = open(*args, **options)  # noqa: SIM115 - closed by the writer
        stream.write(TEXT[: len(TEXT) // 2].encode())
        stream.write = fail
        return stream

    if failing == "json":
        monkeypatch.setattr(write.json, "dumps", fail)
    elif failing == "write":
        monkeypatch.setattr(atomic_file, "open", open_and_fail, raising=False)
    else:
        monkeypatch.setattr(atomic_file.os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        Circuit((), (), (), (), (0,), ("other",)).save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["c.json"]
    assert path.read_text() == TEXT


def test_a_saved_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    CIRCUIT.save(tmp_path / "c.json")
    modes = [stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("usual", "c.json")]
    assert modes[0] == modes[1]


def test_saving_through_a_link_replaces_the_file_behind_it(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "c.json")
    CIRCUIT.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "c.json").read_text() == TEXT


def test_saving_to_a_pipe_or_device_writes_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(pipe.read_text)
        CIRCUIT.save(pipe)
        assert written.result() == TEXT
    assert pipe.is_fifo()


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        CIRCUIT.save(tmp_path)
    with pytest.raises(IsADirectoryError):
        Circuit.load(tmp_path)


def test_a_file_edited_on_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert Circuit.load(path) == CIRCUIT
