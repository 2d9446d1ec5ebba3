"""Circuit and test rows -> the one JSON object that the page reads.

| key | content |
| --- | --- |
| `id` | id of the model |
| `classes` | class labels as text, in the model's order; one word if the model predicts a number |
| `gates` | truth tables of the gates by name |
| `rules` | per rule: `text`, `columns` (numbers), `share` of the test rows where it fires, and figures of its task |
| `features` | per column that the circuit reads: see `features.py` |
| `test` | `total`: number of rows; `word`: what the page calls a row; `rows`: [number, true class or number, values…] or null; `weights`: how many rows each of them stands for, or null if none is left out; `start`: the row to open on |

`class_facts.py` and `number_facts.py` describe the keys of their task.

Values of single rows are in the `rows` of `test`, and in each feature's `range` and slider ends. Both are left out if the report has no rows.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.gates import GATES
from dln.explain.effects import rule_columns
from dln.exporters.identity import circuit_id
from dln.report.features import describe_features
from dln.report.rows import LabelledRows


def make_content(
    circuit: Circuit,
    rows: LabelledRows,
    rules: Iterable[dict[str, Any]],
    classes: list[str],
    labels: NDArray[np.int64],
    *,
    row_word: str,
    with_rows: bool,
) -> dict[str, Any]:
    """Make the object, still without rows; `labels` has the place of each row in `classes`."""
    return {
        "id": circuit_id(circuit),
        "classes": classes,
        "gates": {gate.name: gate.table for gate in GATES},
        "rules": [
            {**rule, "columns": sorted(columns)}
            for rule, columns in zip(rules, rule_columns(circuit), strict=True)
        ],
        "features": describe_features(circuit, rows.cells, labels, rows=with_rows),
        "test": {"total": len(labels), "word": row_word, "rows": None, "start": None},
    }
