"""docs/guides/large-data.md: its programs, run unchanged, answer like the circuit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from dln import GATES, Above, Among, Circuit, Column, Missing, Node, Rule
from tests.support.tools import find_module, find_tool

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "large-data.md"
CIRCUIT = Circuit(
    (
        Column("age", "integer"),
        Column("smoker", "boolean"),
        Column("country", "category", ("at", "ch", "de", "fr")),
    ),
    (Above(0, 54.0), Above(1, 0.5), Among(2, (1, 3)), Missing(0)),
    (Node(GATES[1], 0, 1), Node(GATES[7], 2, 3)),
    (Rule(4, (0, 2)), Rule(5, (1, 0))),
    (0, 0),
    ("healthy", "ill"),
)


def make_dataset(folder: Path) -> pa.Table:
    """Write 300 rows by country, and the model."""
    rng = np.random.default_rng(1)
    rows = pa.table(
        {
            "id": np.arange(300),
            "age": pa.array(rng.integers(18, 90, 300), mask=rng.random(300) < 0.1),
            "smoker": rng.random(300) < 0.3,
            "country": rng.choice(["at", "ch", "de", "fr"], 300),
        }
    )
    parquet.write_to_dataset(rows, str(folder / "patients"), partition_cols=["country"])
    CIRCUIT.save(folder / "model.json")
    (folder / "code").mkdir()
    return rows


def program_with(*words: str) -> str:
    """Return the program of the page that has all these words."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (program,) = [block for block in blocks if all(word in block for word in words)]
    return program


def run(program: str, folder: Path) -> None:
    """Run a program in a folder."""
    (folder / "main.py").write_text(program)
    settings = {"RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": "/tmp"}
    settings |= {"SPARK_LOCAL_IP": "127.0.0.1"}
    settings |= {"RAY_ADDRESS": "local"}  # not the cluster of another test
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def check_answers(folder: Path, rows: pa.Table) -> None:
    found = dataset.dataset(folder / "risk", format="parquet").to_table().sort_by("id")
    assert found["id"].to_pylist() == list(range(300))
    assert found["predicted_class"].to_pylist() == CIRCUIT.predict(rows.to_pandas()).tolist()


@pytest.mark.parametrize("words", [("import ray", "circuit.predict"), ("import risk_model",)])
def test_the_ray_programs_of_the_docs_answer_like_the_circuit(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    find_module("ray", package="ray[data]")
    rows = make_dataset(tmp_path)
    run(program_with(*words), tmp_path)
    check_answers(tmp_path, rows)


def test_the_spark_program_of_the_docs_answers_like_the_circuit(tmp_path: Path) -> None:
    find_module("pyspark")
    find_tool("java", package="default-jdk-headless")
    rows = make_dataset(tmp_path)
    run(program_with("mapInArrow(", "spark.conf"), tmp_path)
    check_answers(tmp_path, rows)


def test_ray_predicts_the_rows_of_a_worker_that_dies_again(tmp_path: Path) -> None:
    find_module("ray", package="ray[data]")
    rows = make_dataset(tmp_path)
    answer = "    return batch.append_column("
    program = program_with("import ray", "circuit.predict")
    assert program.count(answer) == 1
    dies = f"""    import os, signal
    try:
        open({str(tmp_path / "died")!r}, "x").close()
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
"""
    run(program.replace(answer, dies + answer), tmp_path)
    assert (tmp_path / "died").exists()
    check_answers(tmp_path, rows)
