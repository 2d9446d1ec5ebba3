"""Python and JavaScript beyond the conformance suite: accepted and refused values."""

from __future__ import annotations

import decimal
import importlib.util
import json
import subprocess
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import dln
from dln import Above, Circuit, Column, Missing, Rule
from tests.support.tools import find_tool

CIRCUIT = Circuit(
    (Column("n", "number"), Column("d", "date")),
    (Above(0, 1.5), Above(1, datetime(2024, 3, 31, tzinfo=UTC).timestamp()), Missing(1)),
    (),
    tuple(Rule(wire, (2**wire,)) for wire in range(3)),
    (0,),
    ("a",),
)
PAST_MIDNIGHT = datetime(2024, 3, 31, 0, 0, 0, 1)


@pytest.fixture
def model(tmp_path: Path) -> Any:
    (path,) = dln.export(CIRCUIT, to="python").save(tmp_path / "model.py")
    spec = importlib.util.spec_from_file_location("model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("n", "d", "votes"),
    [
        (decimal.Decimal("1.6"), date(2024, 4, 1), 3),
        (decimal.Decimal("NaN"), date(2024, 3, 31), 0),
        (True, PAST_MIDNIGHT, 2),
        (2, PAST_MIDNIGHT.replace(tzinfo=timezone(timedelta(hours=1))), 1),
        (2**70, PAST_MIDNIGHT.replace(tzinfo=timezone(timedelta(hours=-1))), 3),
        (None, None, 4),
    ],
)
def test_python_accepts_the_types_that_the_circuit_accepts(
    model: Any, n: Any, d: Any, votes: int
) -> None:
    assert model.votes({"n": n, "d": d, "more": "of it"}) == [votes]
    assert CIRCUIT.votes([[n, d]]).tolist() == [[votes]]


def test_python_refuses_what_the_circuit_refuses(model: Any) -> None:
    with pytest.raises(KeyError, match="the model reads 'd', but the input has no such column"):
        model.predict({"n": 1})
    with pytest.raises(TypeError, match="column 'n' holds '2', expected a number"):
        model.predict({"n": "2", "d": None})
    with pytest.raises(TypeError, match="column 'd' holds '2024', expected a date"):
        model.predict({"n": 2, "d": "2024"})
    with pytest.raises(OverflowError):
        model.predict({"n": 10**400, "d": None})


def test_a_batch_of_python_has_as_many_rows_as_its_columns(model: Any) -> None:
    assert model.predict_batch({"n": [1, 2, 3], "d": [None] * 3}) == ["a"] * 3
    assert model.predict_batch({"n": [], "d": []}) == []
    with pytest.raises(ValueError, match=r"the columns differ in length: \[1, 2\]"):
        model.predict_batch({"n": [1, 2], "d": [None]})
    with pytest.raises(ValueError, match="the columns differ in length"):
        model.predict_batch({"n": [1], "d": [None]}, n_rows=2)


def test_javascript_accepts_dates_and_refuses_text(tmp_path: Path) -> None:
    node = find_tool("node", package="nodejs")
    dln.export(CIRCUIT, to="javascript").save(tmp_path / "model.mjs")
    script = """
import { votes } from "./model.mjs";

const said = [];
const rows = [
  { n: 1.6, d: new Date(Date.UTC(2024, 2, 31, 0, 0, 0, 1)) },
  { n: 2n ** 70n, d: new Date("nonsense") },
  { n: true, d: undefined },
  { n: "2", d: null },
  { n: 2, d: "2024-01-01" },
  { n: 2 },
];
for (const row of rows) {
  try {
    said.push(votes(row)[0]);
  } catch (error) {
    said.push(`${error.name}: ${error.message}`);
  }
}
console.log(JSON.stringify(said));
"""
    (tmp_path / "main.mjs").write_text(script)
    command = [node, str(tmp_path / "main.mjs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        3,
        5,
        4,
        'TypeError: "n" holds "2", expected a number; convert it',
        'TypeError: "d" holds "2024-01-01", expected a Date; convert it',
        'Error: the model reads "d", but the row has no such property',
    ]
