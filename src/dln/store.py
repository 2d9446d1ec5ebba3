"""Circuits as versioned JSON files.

Promise: saving and loading gives an equal circuit, and a file that is truncated, edited or hostile
is refused with one line that says what is wrong with it.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dln.errors import CircuitError, CircuitFileError
from dln.gates import GATE_BY_NAME
from dln.labels import label_from_json, label_to_json
from dln.literals import Above, Among, Column, Literal, Missing

if TYPE_CHECKING:
    from dln.circuit import Circuit

FORMAT = "dln-circuit"
VERSION = 1


def write_circuit_file(circuit: Circuit, path: str | PathLike[str]) -> None:
    """Write beside the target, then rename: nobody ever sees half a file."""
    target = Path(path)
    text = circuit_to_json(circuit)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp's files are private, a saved model need not be
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def read_circuit_file(path: str | PathLike[str]) -> Circuit:
    """Read and check a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CircuitFileError(f"{path} is not a text file; expected a circuit as JSON") from error
    try:
        return circuit_from_json(text)
    except CircuitError as error:
        raise CircuitFileError(f"{path}: {error}") from error


def circuit_to_json(circuit: Circuit) -> str:
    """Write a circuit as JSON text, one part per line so that files can be compared."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "columns": [_column_to_json(column) for column in circuit.columns],
        "literals": [_literal_to_json(literal) for literal in circuit.literals],
        "gates": [[node.gate.name, node.a, node.b] for node in circuit.nodes],
        "rules": [{"wire": rule.wire, "votes": list(rule.votes)} for rule in circuit.rules],
        "base_votes": list(circuit.base_votes),
        "classes": [label_to_json(label) for label in circuit.classes],
        "temperature": circuit.temperature,
    }
    parts = [f"  {json.dumps(key)}: {_dump_part(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _dump_part(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
        rows = ",\n    ".join(_dump(item) for item in value)
        return f"[\n    {rows}\n  ]"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def circuit_from_json(text: str) -> Circuit:
    """Read a circuit from JSON text, checking every part; raises `CircuitFileError`."""
    from dln.circuit import Circuit, Node, Rule  # the one place where a file becomes a circuit

    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise CircuitFileError("the file is nested too deeply to be a circuit") from error
    except ValueError as error:
        raise CircuitFileError(f"the file is not valid JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CircuitFileError(f'the file is not a circuit: it has no "format": "{FORMAT}"')
    if document.get("version") != VERSION:
        raise CircuitFileError(
            f"the file has version {document.get('version')!r}, this dln reads version {VERSION}; "
            "read it with the dln that wrote it, or train again"
        )
    try:
        return Circuit(
            columns=tuple(_column_from_json(part) for part in _rows(document, "columns")),
            literals=tuple(_literal_from_json(part) for part in _rows(document, "literals")),
            nodes=tuple(Node(GATE_BY_NAME[name], a, b) for name, a, b in _rows(document, "gates")),
            rules=tuple(
                Rule(part["wire"], tuple(part["votes"])) for part in _rows(document, "rules")
            ),
            base_votes=tuple(_rows(document, "base_votes")),
            classes=tuple(label_from_json(part) for part in _rows(document, "classes")),
            temperature=_number(document["temperature"]),
        )
    except CircuitError as error:
        raise CircuitFileError(str(error)) from error
    except KeyError as error:
        raise CircuitFileError(f"the file lacks or does not know {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CircuitFileError(f"the file holds a part of the wrong form ({error})") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON allows")


def _rows(document: dict[str, Any], key: str) -> list[Any]:
    rows = document[key]
    if not isinstance(rows, list):
        raise ValueError(f"{key} is not a list")
    return rows


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _column_to_json(column: Column) -> dict[str, Any]:
    part: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.categories:
        part["categories"] = list(column.categories)
    return part


def _column_from_json(part: dict[str, Any]) -> Column:
    categories = tuple(part.get("categories", ()))
    for category in categories:
        if not isinstance(category, (str, int, float, bool)):
            raise ValueError(f"category {category!r} is not text, a number or a boolean")
    return Column(part["name"], part["kind"], categories)


def _literal_to_json(literal: Literal) -> dict[str, Any]:
    if isinstance(literal, Above):
        return {"column": literal.column, "above": literal.cutoff}
    if isinstance(literal, Among):
        return {"column": literal.column, "among": list(literal.categories)}
    return {"column": literal.column, "missing": True}


def _literal_from_json(part: dict[str, Any]) -> Literal:
    column = part["column"]
    if "above" in part:
        return Above(column, _number(part["above"]))
    if "among" in part:
        return Among(column, tuple(part["among"]))
    if part.get("missing") is True:
        return Missing(column)
    raise ValueError(f"literal {part!r} is neither above, among nor missing")
