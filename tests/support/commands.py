"""The command line as a subprocess, and a model and tables for tests."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from dln import Above, Among, Circuit, Column, Node, Rule
from dln.core.gates import GATE_BY_NAME

COMMAND = [sys.executable, "-m", "dln"]
LONG = 60.0  # seconds; long enough for a slow machine


def circuit(cutoff: float = 54.0) -> Circuit:
    """Return a model that predicts "ill" for smokers above the cutoff and for people in Bern."""
    return Circuit(
        columns=(
            Column("age", "integer"),
            Column("smoker", "boolean"),
            Column("city", "category", ("Bern", "Basel")),
        ),
        literals=(Above(0, cutoff), Above(1, 0.5), Among(2, (0,))),
        nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
        rules=(Rule(3, (0, 2)), Rule(2, (0, 2))),
        base_votes=(1, 0),
        classes=("not ill", "ill"),
        temperature=2.0,
    )


ROWS = "id,age,smoker,city\n1,60,true,Basel\n2,60,false,Basel\n3,,true,Bern\n4,20,True,\n"
ANSWERS = ["ill", "not ill", "ill", "not ill"]


@pytest.fixture(name="model")
def saved_model(tmp_path: Path) -> Path:
    circuit().save(tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.fixture(name="rows")
def written_rows(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


def training_table(folder: Path, n_rows: int = 400) -> Path:
    rng = np.random.default_rng(0)
    age, city = rng.integers(18, 90, n_rows), rng.choice(["Bern", "Basel"], n_rows)
    state = np.where((age > 54) | (city == "Bern"), "very ill", "well")
    table = pa.table({"age": age, "city": city, "dose": rng.random(n_rows), "state": state})
    pa.csv.write_csv(table, folder / "train.csv")
    return folder / "train.csv"
