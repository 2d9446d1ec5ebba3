"""`dln train` on several Parquet files: the model of the same rows in one file."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dln.data import store
from tests.conftest import Run

QUICK = ("--effort", "quick", "--epochs", "3", "--layers", "16", "--networks", "1")


def make_frame() -> pa.Table:
    rng = np.random.default_rng(2)
    size, place = rng.normal(size=400), rng.choice(["here", "there"], 400)
    score = size + (place == "here") + 0.2 * rng.normal(size=400)
    return pa.table(
        {
            "size": pa.array(size, mask=rng.random(400) < 0.1),
            "place": pa.array(place, mask=rng.random(400) < 0.1),
            "name": [f"row {number}" for number in range(400)],
            "group": rng.integers(0, 40, 400),
            "years": 0.5 + rng.random(400),
            "label": pa.array(np.where(score > 0.5, "yes", "no"), mask=rng.random(400) < 0.05),
            "number": score,
            "claims": np.maximum(0, np.rint(score)).astype(np.int64),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in one file and in three, and a folder for temporary files."""
    monkeypatch.setattr(store, "SMALL", 1)
    (tmp_path / "parts").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    frame = make_frame()
    pq.write_table(frame, tmp_path / "whole.parquet")
    for number, start in enumerate((0, 150, 190)):
        stop = (150, 190, 400)[number]
        pq.write_table(frame.slice(start, stop - start), tmp_path / "parts" / f"{number}.parquet")
    return tmp_path


def train(
    run: Run, folder: Path, data: str, *options: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    model = folder / "model.json"
    status, out, err = run("train", str(folder / data), *options, "--json", "-o", model, *QUICK)
    assert status == 0, err
    saved = json.loads(model.read_text())
    saved.pop("origin")
    found = json.loads(out)
    found.pop("notes")
    return saved, found


@pytest.mark.parametrize(
    "options",
    [
        ("-t", "label", "--only", "size,place"),
        ("-t", "label", "--ignore", "name,number,claims,years", "--group", "group"),
        ("-t", "number", "--only", "size,place", "--test", "0.5"),
        ("-t", "claims", "--only", "size,place", "--task", "number", "--loss", "poisson",
         "--exposure", "years"),
        ("-t", "claims", "--only", "size,place", "--class-weight", "none", "--test", "0"),
    ],
)  # fmt: skip
def test_parts_give_the_model_of_one_file(run: Run, folder: Path, options: tuple[str, ...]) -> None:
    expected = train(run, folder, "whole.parquet", *options)
    assert train(run, folder, "parts/*.parquet", *options) == expected
    assert train(run, folder, "parts", *options) == expected
    assert os.listdir(folder / "temporary") == []


def test_what_was_read_is_printed(run: Run, folder: Path) -> None:
    data, model = str(folder / "parts"), str(folder / "model.json")
    only = ("--only", "size,place")
    status, _, err = run("train", data, "-t", "label", *only, "-o", model, *QUICK)
    assert status == 0, err
    n_known = 400 - make_frame().column("label").null_count
    assert f"read {n_known} rows and 2 columns besides the target" in err
    assert "target 'label': no (" in err
    assert f"The target 'label' has no value in {400 - n_known} of 400 rows" in err
    origin = json.loads(Path(model).read_text())["origin"]
    assert origin["data"] == "parts"
    assert len(origin["digest"]) == 64


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("none/*.parquet", (), "no file matches"),
        ("temporary", (), "has no file *.parquet; name a table"),
        ("parts", ("--kind", "size=category"), "--kind is for a table in one file"),
        ("parts", ("--init", "model.json"), "--init is for a table in one file"),
        ("parts", ("--price",), "--price is for a table in one file"),
        ("parts", ("--only", "size", "-t", "place2"), "no column 'place2'"),
        ("parts", ("--exposure", "years"), "--exposure is for numbers, but 'label' has classes"),
        ("parts", ("-t", "size", "--cost", "a:b=2"), "are for classes, not for a number"),
    ],
)
def test_mistakes_are_one_line(
    run: Run, folder: Path, data: str, options: tuple[str, ...], message: str
) -> None:
    model = folder / "model.json"
    given = ("-t", "label", *options, "-o", model, *QUICK)
    status, _, err = run("train", str(folder / data), *given)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
    assert not model.exists()


def test_other_columns_and_other_formats_are_refused(run: Run, folder: Path) -> None:
    model = folder / "model.json"
    for content, message in (
        (b"a,b\n1,2\n", "the table cannot be read: Could not open"),
        (None, "has no column"),
    ):
        part = folder / "parts" / "3.parquet"
        if content is None:
            pq.write_table(make_frame().drop_columns(["years"]), part)
        else:
            part.write_bytes(content)
        status, _, err = run("train", folder / "parts", "-t", "label", "-o", model, *QUICK)
        assert status == 2
        assert message in err
        assert err.count("\n") == 1
