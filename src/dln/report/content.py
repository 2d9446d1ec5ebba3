"""Circuit and test rows -> the one JSON object that the page reads.

| key | content |
| --- | --- |
| `id` | id of the model |
| `target` | name of the target column, "" if unknown |
| `classes` | class labels as text, in the model's order |
| `gates` | truth tables of the gates by name |
| `rules` | per rule: `text`, `columns` (numbers), `share` of the test rows where it fires, and per class `precision` and `lift` |
| `parts` | [name, text] of expressions that rules mention by name |
| `features` | per column that the circuit reads: see `features.py` |
| `confusion` | rows by true class (outer) and predicted class (inner) |
| `curves` | per class against the rest: see `curves.py` |
| `test` | `total` and `wrong`: numbers of rows; `word`: what the page calls a row; `rows`: [number, true class, values…] or null; `start`: the row to open on |

Values of single rows are in the `rows` of `test`, and in each feature's `range` and slider ends. Both are left out if the report has no rows.
"""  # noqa: E501

from __future__ import annotations

from typing import Any

from dln.core.circuit import Circuit
from dln.core.gates import GATES
from dln.evaluate.scores import Tally
from dln.explain.effects import rule_columns
from dln.explain.rules import RuleTable
from dln.exporters.identity import circuit_id
from dln.report.curves import Curve
from dln.report.features import describe_features
from dln.report.rows import LabelledRows


def make_content(
    circuit: Circuit,
    rows: LabelledRows,
    rules: RuleTable,
    tally: Tally,
    curves: list[Curve],
    *,
    row_word: str,
    with_rows: bool,
) -> dict[str, Any]:
    """Make the object, still without rows."""
    reads = rule_columns(circuit)
    return {
        "id": circuit_id(circuit),
        "target": circuit.origin.target if circuit.origin else "",
        "classes": [str(label) for label in circuit.classes],
        "gates": {gate.name: gate.table for gate in GATES},
        "rules": [
            {
                "text": rule.text,
                "columns": sorted(columns),
                "share": _short(rule.share),
                "precision": [_short(value) for value in rule.precision or ()],
                "lift": [_short(value) for value in rule.lift or ()],
            }
            for rule, columns in zip(rules.rules, reads, strict=True)
        ],
        "parts": [list(part) for part in rules.parts],
        "features": describe_features(circuit, rows.cells, rows.target, rows=with_rows),
        "confusion": tally.confusion.tolist(),
        "curves": [curve.to_json() for curve in curves],
        "test": {
            "total": len(rows.target),
            "wrong": int(rows.wrong.sum()),
            "word": row_word,
            "rows": None,
            "start": None,
        },
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
