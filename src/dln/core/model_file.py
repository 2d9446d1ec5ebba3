"""Circuits as versioned JSON files.

Promise: saving and loading gives an equal circuit. A file that is truncated, edited or hostile is
refused with one line that says what is wrong with it. The contents of a file are bounded
(`BOUNDS`), so that a small file cannot exhaust the memory.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

from dln._util.atomic_file import write_atomically
from dln.core.calibration import Calibration
from dln.core.constraints import Constraints
from dln.core.edit_record import EditRecord
from dln.core.gates import GATE_BY_NAME, Gate
from dln.core.labels import label_from_json, label_to_json
from dln.core.literals import (
    COLUMN_KINDS,
    Above,
    Among,
    Category,
    Column,
    ColumnKind,
    Literal,
    Missing,
)
from dln.core.logic import Logic
from dln.core.origin import Origin
from dln.core.parts import Node, Rule
from dln.core.readout import Readout, Votes
from dln.core.score import LINKS, Link, Score
from dln.core.value_range import ValueRange
from dln.errors import CircuitError, CircuitFileError

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

FORMAT = "dln-circuit"
VERSION = 2
"""The version that is written. Version 1, which has no "readout", is read as well."""

BOUNDS = {
    "characters in the file": 2**26,
    "columns": 2**20,
    "literals": 2**20,
    "gates": 2**20,
    "rules": 2**20,
    "classes": 10_000,
    "edits": 10_000,
    "votes (rules times classes)": 2**22,
    "leads in the calibration": 2**10,
    "categories in one column": 2**20,
    "characters in one text": 2**20,
}
"""The largest number of each part that a file may hold; docs/reference/model-file.md lists them."""

_PARTS = (
    *("format", "version", "columns", "literals", "gates", "readout", "rules"),
    *("locked", "edits"),
)
_PARTS_OF_READOUT = {
    "votes": ("base_votes", "classes", "temperature", "calibration", "constraints", "origin"),
    "score": ("offset", "digits", "link", "name", "constraints", "origin"),
}

_COUNTED = ("columns", "literals", "gates", "rules", "classes", "edits")

_T = TypeVar("_T")


# -- writing ----------------------------------------------------------------------------------


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
    _check_bounds(document)
    parts = [f"  {_dump(key)}: {_dump_part(value)}" for key, value in document.items()]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    _check_bound("characters in the file", len(text))
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


# -- reading ----------------------------------------------------------------------------------


def read_circuit_file(path: str | PathLike[str]) -> Circuit:
    """Read and check a file; raises `CircuitFileError` for anything but a circuit."""
    try:
        with open(path, encoding="utf-8-sig") as stream:
            text = stream.read(BOUNDS["characters in the file"] + 1)
    except UnicodeDecodeError as error:
        raise CircuitFileError(f"{path}: not a text file; expected a circuit as JSON") from error
    try:
        return circuit_from_json(text)
    except CircuitFileError as error:
        raise CircuitFileError(f"{path}: {error}") from error


def circuit_from_json(text: str) -> Circuit:
    """Read a circuit from JSON text, checking every part; raises `CircuitFileError`."""
    from dln.core.circuit import Circuit  # imported here, because circuit.py imports this module

    try:
        _check_bound("characters in the file", len(text))
    except CircuitError as error:
        raise CircuitFileError(str(error)) from error
    document = _read_document(text)
    try:
        document = _as_latest(document)
        _check_bounds(document)
        return Circuit(
            logic=Logic(
                _read_parts(document, "columns", _read_column),
                _read_parts(document, "literals", _read_literal),
                tuple(Node(*node) for node in _read_parts(document, "gates", _read_node)),
            ),
            readout=_read_readout(document),
            origin=Origin.from_dict(document["origin"]) if "origin" in document else None,
            constraints=(
                Constraints.from_dict(document["constraints"])
                if "constraints" in document
                else None
            ),
            locked=_read_parts({"locked": [], **document}, "locked", _read_integer),
            edits=_read_parts({"edits": [], **document}, "edits", EditRecord.from_dict),
        )
    except ValueError as error:  # CircuitError among them
        raise CircuitFileError(str(error)) from error


def _read_readout(document: dict[str, Any]) -> Readout:
    if document["readout"] == "score":
        return Score(
            tuple(Rule(*rule) for rule in _read_parts(document, "rules", _read_points)),
            (_read_integer(_get(document, "offset")),),
            _read_integer(_get(document, "digits")),
            _read_link(_get(document, "link")),
            _read_text(_get(document, "name")),
        )
    return Votes(
        tuple(Rule(*rule) for rule in _read_parts(document, "rules", _read_rule)),
        _read_parts(document, "base_votes", _read_integer),
        _read_parts(document, "classes", label_from_json),
        _read_number(_get(document, "temperature")),
        _read_calibration(document["calibration"]) if "calibration" in document else None,
    )


def _read_calibration(part: Any) -> Calibration:
    try:
        _refuse_others(part, ("leads", "values"))
        leads = _read_list(part, "leads")
        tables = _read_list(part, "values")
        if not all(isinstance(table, list) for table in tables):
            raise ValueError("expected a list of values for each table")
        return Calibration(
            tuple(_read_integer(lead) for lead in leads),
            tuple(tuple(_read_number(value) for value in table) for table in tables),
        )
    except CircuitError:
        raise
    except ValueError as error:
        raise CircuitError(f"calibration: {error}") from error


def _read_document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_read_object)
    except RecursionError as error:
        raise CircuitFileError("nested too deeply to be a circuit") from error
    except ValueError as error:
        raise CircuitFileError(
            f"not valid JSON, or truncated ({error}); expected a model file of dln"
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CircuitFileError(f'not a circuit: it has no "format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise CircuitFileError(
            f"the circuit has version {_show(version)}, this dln reads versions 1 to {VERSION}; "
            "read it with the dln that wrote it, or train again"
        )
    return document


def _as_latest(document: dict[str, Any]) -> dict[str, Any]:
    """Refuse unknown parts, and add what version 1 leaves out."""
    if document["version"] == 1:
        later = ("readout", "calibration", "constraints", "locked", "edits")
        known = (*_PARTS, *_PARTS_OF_READOUT["votes"])
        _refuse_others(document, tuple(part for part in known if part not in later))
        return {**document, "readout": "votes"}
    kind = _get(document, "readout")
    if not isinstance(kind, str) or kind not in _PARTS_OF_READOUT:
        raise ValueError(f'"readout" is {_show(kind)}, expected "votes" or "score"')
    _refuse_others(document, (*_PARTS, *_PARTS_OF_READOUT[kind]))
    return document


def _check_bounds(document: dict[str, Any]) -> None:
    """Refuse a document with too many or too long parts, before its parts are checked."""
    parts = {key: value for key, value in document.items() if isinstance(value, list)}
    sizes = {key: len(parts.get(key, ())) for key in _COUNTED}
    for key, size in sizes.items():
        _check_bound(key, size)
    _check_bound("votes (rules times classes)", sizes["rules"] * sizes["classes"])
    calibration = document.get("calibration")
    leads = calibration.get("leads") if isinstance(calibration, dict) else None
    _check_bound("leads in the calibration", len(leads) if isinstance(leads, list) else 0)
    texts = [document.get("name"), *parts.get("classes", ())]
    for column in parts.get("columns", ()):
        if isinstance(column, dict):
            categories = column.get("categories")
            categories = categories if isinstance(categories, list) else []
            _check_bound("categories in one column", len(categories))
            texts += [column.get("name"), *categories]
    texts += [text for edit in parts.get("edits", ()) for text in _texts_in(edit)]
    longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
    _check_bound("characters in one text", longest)


def _texts_in(edit: Any) -> list[Any]:
    return list(edit.values()) if isinstance(edit, dict) else []


def _check_bound(name: str, found: int) -> None:
    if found > BOUNDS[name]:
        raise CircuitError(
            f"too large for a model file: {found:,} {name}; at most {BOUNDS[name]:,} are allowed"
        )


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON allows")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object; refuse a repeated name, since Python would keep only its last value."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{_show(name)} occurs twice in one object")
        found[name] = value
    return found


def _read_parts(document: dict[str, Any], key: str, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    parts = []
    for index, part in enumerate(_read_list(document, key)):
        try:
            parts.append(read(part))
        except ValueError as error:
            raise CircuitError(f"{key}[{index}] is {_show(part)}: {error}") from error
    return tuple(parts)


def _read_column(part: Any) -> Column:
    _refuse_others(part, ("name", "kind", "categories", "binary", "immutable", "range"))
    categories = _read_list(part, "categories") if "categories" in part else []
    return Column(
        _read_text(_get(part, "name")),
        _read_kind(_get(part, "kind")),
        tuple(_read_category(category) for category in categories),
        _read_truth(part.get("binary", False)),
        _read_truth(part.get("immutable", False)),
        ValueRange.from_dict(part["range"]) if "range" in part else None,
    )


def _read_kind(value: Any) -> ColumnKind:
    for kind in COLUMN_KINDS:
        if value == kind:
            return kind
    raise ValueError(f"the kind {_show(value)} is none of {', '.join(COLUMN_KINDS)}")


def _read_category(value: Any) -> Category:
    category = label_from_json(value)
    if not isinstance(category, (str, bool, int, float)):
        raise ValueError("a category must be text, a number, true or false")
    return category


def _read_literal(part: Any) -> Literal:
    column = _read_integer(_get(part, "column"))
    match {key: value for key, value in part.items() if key != "column"}:
        case {"above": cutoff, **rest} if not rest:
            return Above(column, _read_number(cutoff))
        case {"among": list(categories), **rest} if not rest:
            return Among(column, tuple(_read_integer(category) for category in categories))
        case {"missing": True, **rest} if not rest:
            return Missing(column)
    raise ValueError('expected "above": a number, "among": a list or "missing": true')


def _read_node(part: Any) -> tuple[Gate, int, int]:
    match part:
        case [str(name), a, b] if name in GATE_BY_NAME:
            return GATE_BY_NAME[name], _read_integer(a), _read_integer(b)
    raise ValueError("expected the name of a gate and two wires")


def _read_rule(part: Any) -> tuple[int, tuple[int, ...]]:
    _refuse_others(part, ("wire", "votes"))
    votes = tuple(_read_integer(vote) for vote in _read_list(part, "votes"))
    return _read_integer(_get(part, "wire")), votes


def _read_points(part: Any) -> tuple[int, tuple[int]]:
    _refuse_others(part, ("wire", "points"))
    return _read_integer(_get(part, "wire")), (_read_integer(_get(part, "points")),)


def _read_link(value: Any) -> Link:
    for link in LINKS:
        if value == link:
            return link
    raise ValueError(f"the link {_show(value)} is none of {', '.join(LINKS)}")


def _object(part: Any) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise ValueError('expected an object in "{ }"')
    return part


def _refuse_others(part: Any, known: tuple[str, ...]) -> None:
    """Refuse an unknown key, which may be a misspelt one."""
    for key in _object(part):
        if key not in known:
            raise ValueError(f"{_show(key)} is none of {', '.join(known)}")


def _get(part: Any, key: str) -> Any:
    if key not in _object(part):
        raise ValueError(f'"{key}" is missing')
    return part[key]


def _read_list(part: Any, key: str) -> list[Any]:
    value = _get(part, key)
    if not isinstance(value, list):
        raise ValueError(f'"{key}" is {_show(value)}, expected a list')
    return value


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{_show(value)} is not text")
    return value


def _read_truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{_show(value)} is not true or false")
    return value


def _read_integer(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{_show(value)} is not an integer")
    return value


def _read_number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"{_show(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{_show(value)} is too large for float64")
    return number


def _show(value: Any) -> str:
    """Show a value from the file in a few words, even if the value is large."""
    return reprlib.repr(value)
