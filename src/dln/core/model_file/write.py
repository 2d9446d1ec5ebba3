"""Circuits to JSON text: one part per line, so that files can be compared."""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, Any, assert_never

from dln._util.atomic_file import write_atomically
from dln.core.calibration import Calibration
from dln.core.labels import label_to_json
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.model_file.limits import FORMAT, VERSION, check_bound, check_bounds
from dln.core.readout import Readout, Votes
from dln.core.score import Score

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


def write_circuit_file(circuit: Circuit, path: str | PathLike[str]) -> None:
    """Write a circuit as JSON; an existing file is replaced only by a complete new one."""
    write_atomically(path, circuit_to_json(circuit))


def circuit_to_json(circuit: Circuit, version: int = VERSION) -> str:
    """Write a circuit as JSON text, one part per line so that files can be compared.

    Raises `CircuitError` for a circuit that is too large for a file.
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": version,
        "columns": [_column_to_json(column, version) for column in circuit.columns],
        "literals": [_literal_to_json(literal) for literal in circuit.literals],
        "gates": [[node.gate.name, node.a, node.b] for node in circuit.nodes],
        **_readout_to_json(circuit.readout),
    }
    if circuit.constraints is not None:
        document["constraints"] = circuit.constraints.to_dict()
    if version == 1:
        del document["readout"]
    if circuit.origin is not None:
        document["origin"] = circuit.origin.to_dict()
    if circuit.locked:
        document["locked"] = list(circuit.locked)
    if circuit.edits:
        document["edits"] = [record.to_dict() for record in circuit.edits]
    check_bounds(document)
    parts = [f"  {_dump(key)}: {_dump_part(value)}" for key, value in document.items()]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    check_bound("characters in the file", len(text))
    return text


def _readout_to_json(readout: Readout) -> dict[str, Any]:
    match readout:
        case Votes():
            document = {
                "readout": "votes",
                "rules": [{"wire": rule.wire, "votes": list(rule.votes)} for rule in readout.rules],
                "base_votes": list(readout.base_votes),
                "classes": [label_to_json(label) for label in readout.classes],
                "temperature": readout.temperature,
            }
            if readout.calibration is not None:
                document["calibration"] = _calibration_to_json(readout.calibration)
            return document
        case Score():
            return {
                "readout": "score",
                "rules": [{"wire": rule.wire, "points": rule.votes[0]} for rule in readout.rules],
                "offset": readout.offset,
                "digits": readout.digits,
                "link": readout.link,
                "name": readout.name,
            }
        case _:
            assert_never(readout)


def _calibration_to_json(calibration: Calibration) -> dict[str, Any]:
    return {
        "leads": list(calibration.leads),
        "values": [list(table) for table in calibration.values],
    }


def _dump_part(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
        rows = ",\n    ".join(_dump(item) for item in value)
        return f"[\n    {rows}\n  ]"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _column_to_json(column: Column, version: int) -> dict[str, Any]:
    part: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.categories:
        part["categories"] = [label_to_json(category) for category in column.categories]
    if column.binary:
        part["binary"] = True
    if column.immutable:
        part["immutable"] = True
    if column.range is not None and version > 1:
        part["range"] = column.range.to_dict()
    return part


def _literal_to_json(literal: Literal) -> dict[str, Any]:
    match literal:
        case Above(column, cutoff):
            return {"column": column, "above": cutoff}
        case Among(column, categories):
            return {"column": column, "among": list(categories)}
        case Missing(column):
            return {"column": column, "missing": True}
        case _:
            assert_never(literal)
