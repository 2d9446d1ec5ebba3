"""`dln predict` in batches: their size does not matter, and columns are written as Python would."""

from __future__ import annotations

import csv
import datetime
import io
import math
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dln.cli import main
from dln.cli.layout import DETECT
from dln.cli.read import open_table
from dln.cli.read_ahead import read_ahead
from dln.cli.write import CodedValues, open_writer
from tests.support.commands import circuit
from tests.support.strategies import law

CITIES = st.sampled_from(["Bern", "Basel", "Chur", None])
AGES = st.sampled_from([20, 60, 54, None])
SMOKERS = st.sampled_from([True, False, None])
ROWS = st.lists(st.tuples(AGES, SMOKERS, CITIES), min_size=1, max_size=12)
TEXT_TYPES = st.sampled_from(
    [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)


def predicted(table: str, folder: str, ending: str) -> Path:
    out = Path(f"{folder}/out.{ending}")
    options = ("--proba", "--votes", "--keep", "id", "-q")
    assert main(["predict", f"{folder}/m.json", table, "-o", str(out), *options]) == 0
    return out


@settings(max_examples=25)
@given(rows=ROWS, size=st.integers(1, 15), group=st.integers(1, 5), text=TEXT_TYPES)
def test_the_size_of_batches_does_not_matter_in_parquet(
    rows: list[Any], size: int, group: int, text: Any
) -> None:
    age, smoker, city = (list(column) for column in zip(*rows, strict=True))
    number = list(range(len(rows)))
    frame = pa.table(
        {
            "age": pa.array(age, pa.int64()),
            "smoker": pa.array(smoker, pa.bool_()),
            "city": pa.array(city, pa.string()).cast(text),
        }
    )
    model = circuit()
    with tempfile.TemporaryDirectory() as folder, patch("dln.cli.read._BATCH_ROWS", size):
        model.save(f"{folder}/m.json")
        path = f"{folder}/t.parquet"
        pq.write_table(frame.append_column("id", [number]), path, row_group_size=group)
        found = pq.read_table(predicted(path, folder, "parquet"))
    votes, probabilities = model.votes(frame), model.predict_proba(frame)
    expected = {
        "id": number,
        "prediction": model.predict(frame).tolist(),
        "probability_not ill": probabilities[:, 0].tolist(),
        "probability_ill": probabilities[:, 1].tolist(),
        "votes_not ill": votes[:, 0].tolist(),
        "votes_ill": votes[:, 1].tolist(),
    }
    assert found.equals(pa.table(expected))


def test_parquet_is_not_held_in_memory(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random((4, 500_000))
    frame = pa.table(dict(zip("abcd", numbers, strict=True)))
    pq.write_table(frame, tmp_path / "t.parquet", row_group_size=25_000)
    before = pa.total_allocated_bytes()
    with open_table(str(tmp_path / "t.parquet"), DETECT) as source:
        held = [pa.total_allocated_bytes() - before for _ in source.chunks(list("abcd"))]
    # Two batches, one of them ahead, and the groups that they are read from.
    assert max(held) < numbers.nbytes / 2, held


CELLS = st.sampled_from(["60", "20.5", " 60", "NA", "", "nan", "1e2", "?", "inf", "-0"])


@settings(max_examples=25)
@given(ages=st.lists(CELLS, min_size=1, max_size=12), size=st.integers(1, 60))
def test_the_size_of_blocks_does_not_matter_in_text(ages: list[str], size: int) -> None:
    """Blocks of plain numbers are converted as they are parsed, others later: same answers."""
    expected = [
        "ill" if _number(age) > 54 else "not ill" for age in ages
    ]  # everybody smokes, nobody lives in Bern
    with tempfile.TemporaryDirectory() as folder, patch("dln.cli.read.BLOCK_BYTES", size):
        circuit().save(f"{folder}/m.json")
        lines = [f"{age},true,Basel,{number}" for number, age in enumerate(ages)]
        Path(f"{folder}/t.csv").write_text("\n".join(["age,smoker,city,id", *lines, ""]))
        text = predicted(f"{folder}/t.csv", folder, "csv").read_text()
    answers = list(csv.DictReader(io.StringIO(text)))
    assert [row["prediction"] for row in answers] == expected
    assert [row["id"] for row in answers] == [str(number) for number in range(len(ages))]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


VALUES = {
    "text": st.sampled_from(["", "a", "a,b", 'say "x"', "two\nlines", "\r", " ", "é", "a;b"]),
    "numbers": st.sampled_from([0.0, -0.0, math.nan, math.inf, 1e-7, 1e22, 0.1, 3.0]),
    "integers": st.integers(-(2**63), 2**63 - 1),
    "booleans": st.booleans(),
    "dates": st.dates(),
    "decimals": st.sampled_from([Decimal("1.50"), Decimal("0.10")]),
    "lists": st.lists(st.integers(0, 3), max_size=2),
}


@law
@given(data=st.data(), ending=st.sampled_from(["csv", "tsv"]))
def test_csv_is_what_the_csv_module_writes(data: st.DataObject, ending: str) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, unique=True))
    n_rows = data.draw(st.integers(0, 6))
    columns = {
        name: data.draw(st.lists(VALUES[name] | st.none(), min_size=n_rows, max_size=n_rows))
        for name in names
    }
    expected = io.StringIO(newline="")
    writer = csv.writer(expected, delimiter="\t" if ending == "tsv" else ",", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    forms: list[Any] = [
        lambda cells: cells,
        lambda cells: pa.array(cells),
        lambda cells: pa.chunked_array([pa.array(cells).slice(0, 2), pa.array(cells).slice(2)]),
        lambda cells: CodedValues(cells, np.arange(len(cells))),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.{ending}"
        with open_writer(path) as write:
            write({name: data.draw(st.sampled_from(forms))(columns[name]) for name in names})
        assert Path(path).read_bytes() == expected.getvalue().encode()


def test_coded_values_of_any_type_are_written_as_they_are() -> None:
    values = CodedValues([1, "a", 2.0, datetime.date(2024, 1, 2), "\ud800"], np.array([4, 0, 2, 3]))
    with tempfile.TemporaryDirectory() as folder:
        with open_writer(f"{folder}/t.csv") as write:
            write({"x": values})
        assert Path(f"{folder}/t.csv").read_text() == "x\n\\ud800\n1\n2.0\n2024-01-02\n"


def test_reading_ahead_raises_an_error_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("the third item")

    found = read_ahead(items())
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(ValueError, match="the third item"):
        next(found)
