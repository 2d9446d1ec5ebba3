"""docs/guides/large-data.md: its Ray program, run unchanged, answers like the circuit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import dataset, parquet

from dln import GATES, Above, Among, Circuit, Column, Missing, Node, Rule
from tests.support.tools import find_module

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


def test_the_ray_program_of_the_docs_answers_like_the_circuit(tmp_path: Path) -> None:
    find_module("ray", package="ray[data]")
    rng = np.random.default_rng(1)
    rows = pa.table(
        {
            "id": np.arange(300),
            "age": pa.array(rng.integers(18, 90, 300), mask=rng.random(300) < 0.1),
            "smoker": rng.random(300) < 0.3,
            "country": rng.choice(["at", "ch", "de", "fr"], 300),
        }
    )
    parquet.write_to_dataset(rows, str(tmp_path / "patients"), partition_cols=["country"])
    CIRCUIT.save(tmp_path / "model.json")
    (tmp_path / "code").mkdir()
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (program,) = [block for block in blocks if "import ray" in block]
    (tmp_path / "main.py").write_text(program)
    settings = {"RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": "/tmp"}
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=tmp_path,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = dataset.dataset(tmp_path / "risk", format="parquet").to_table().sort_by("id")
    assert found["id"].to_pylist() == list(range(300))
    assert found["predicted_class"].to_pylist() == CIRCUIT.predict(rows.to_pandas()).tolist()
