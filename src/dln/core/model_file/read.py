"""Circuits from JSON text: every part is checked, and what is wrong with it is said in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from dln.core.calibration import Calibration
from dln.core.constraints import Constraints
from dln.core.edit_record import EditRecord
from dln.core.gates import GATE_BY_NAME, Gate
from dln.core.labels import label_from_json
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
from dln.core.model_file.limits import BOUNDS, FORMAT, VERSION, check_bound, check_bounds
from dln.core.model_file.values import (
    get,
    read_integer,
    read_list,
    read_number,
    read_text,
    read_truth,
    refuse_others,
    show,
)
from dln.core.origin import Origin
from dln.core.parts import Node, Rule
from dln.core.readout import Readout, Votes
from dln.core.score import LINKS, Link, Score
from dln.core.value_range import ValueRange
from dln.errors import CircuitError, CircuitFileError

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

_PARTS = (
    *("format", "version", "columns", "literals", "gates", "readout", "rules"),
    *("locked", "edits"),
)
_PARTS_OF_READOUT = {
    "votes": ("base_votes", "classes", "temperature", "calibration", "constraints", "origin"),
    "score": ("offset", "digits", "link", "name", "constraints", "origin"),
}

_T = TypeVar("_T")


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
        check_bound("characters in the file", len(text))
    except CircuitError as error:
        raise CircuitFileError(str(error)) from error
    document = _read_document(text)
    try:
        document = _as_latest(document)
        check_bounds(document)
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
            locked=_read_parts({"locked": [], **document}, "locked", read_integer),
            edits=_read_parts({"edits": [], **document}, "edits", EditRecord.from_dict),
        )
    except ValueError as error:  # CircuitError among them
        raise CircuitFileError(str(error)) from error


def _read_readout(document: dict[str, Any]) -> Readout:
    if document["readout"] == "score":
        return Score(
            tuple(Rule(*rule) for rule in _read_parts(document, "rules", _read_points)),
            (read_integer(get(document, "offset")),),
            read_integer(get(document, "digits")),
            _read_link(get(document, "link")),
            read_text(get(document, "name")),
        )
    return Votes(
        tuple(Rule(*rule) for rule in _read_parts(document, "rules", _read_rule)),
        _read_parts(document, "base_votes", read_integer),
        _read_parts(document, "classes", label_from_json),
        read_number(get(document, "temperature")),
        _read_calibration(document["calibration"]) if "calibration" in document else None,
    )


def _read_calibration(part: Any) -> Calibration:
    try:
        refuse_others(part, ("leads", "values"))
        leads = read_list(part, "leads")
        tables = read_list(part, "values")
        if not all(isinstance(table, list) for table in tables):
            raise ValueError("expected a list of values for each table")
        return Calibration(
            tuple(read_integer(lead) for lead in leads),
            tuple(tuple(read_number(value) for value in table) for table in tables),
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
            f"the circuit has version {show(version)}, this dln reads versions 1 to {VERSION}; "
            "read it with the dln that wrote it, or train again"
        )
    return document


def _as_latest(document: dict[str, Any]) -> dict[str, Any]:
    """Refuse unknown parts, and add what version 1 leaves out."""
    if document["version"] == 1:
        later = ("readout", "calibration", "constraints", "locked", "edits")
        known = (*_PARTS, *_PARTS_OF_READOUT["votes"])
        refuse_others(document, tuple(part for part in known if part not in later))
        return {**document, "readout": "votes"}
    kind = get(document, "readout")
    if not isinstance(kind, str) or kind not in _PARTS_OF_READOUT:
        raise ValueError(f'"readout" is {show(kind)}, expected "votes" or "score"')
    refuse_others(document, (*_PARTS, *_PARTS_OF_READOUT[kind]))
    return document


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON allows")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object; refuse a repeated name, since Python would keep only its last value."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{show(name)} occurs twice in one object")
        found[name] = value
    return found


def _read_parts(document: dict[str, Any], key: str, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    parts = []
    for index, part in enumerate(read_list(document, key)):
        try:
            parts.append(read(part))
        except ValueError as error:
            raise CircuitError(f"{key}[{index}] is {show(part)}: {error}") from error
    return tuple(parts)


def _read_column(part: Any) -> Column:
    refuse_others(part, ("name", "kind", "categories", "binary", "immutable", "range"))
    categories = read_list(part, "categories") if "categories" in part else []
    return Column(
        read_text(get(part, "name")),
        _read_kind(get(part, "kind")),
        tuple(_read_category(category) for category in categories),
        read_truth(part.get("binary", False)),
        read_truth(part.get("immutable", False)),
        ValueRange.from_dict(part["range"]) if "range" in part else None,
    )


def _read_kind(value: Any) -> ColumnKind:
    for kind in COLUMN_KINDS:
        if value == kind:
            return kind
    raise ValueError(f"the kind {show(value)} is none of {', '.join(COLUMN_KINDS)}")


def _read_category(value: Any) -> Category:
    category = label_from_json(value)
    if not isinstance(category, (str, bool, int, float)):
        raise ValueError("a category must be text, a number, true or false")
    return category


def _read_literal(part: Any) -> Literal:
    column = read_integer(get(part, "column"))
    match {key: value for key, value in part.items() if key != "column"}:
        case {"above": cutoff, **rest} if not rest:
            return Above(column, read_number(cutoff))
        case {"among": list(categories), **rest} if not rest:
            return Among(column, tuple(read_integer(category) for category in categories))
        case {"missing": True, **rest} if not rest:
            return Missing(column)
    raise ValueError('expected "above": a number, "among": a list or "missing": true')


def _read_node(part: Any) -> tuple[Gate, int, int]:
    match part:
        case [str(name), a, b] if name in GATE_BY_NAME:
            return GATE_BY_NAME[name], read_integer(a), read_integer(b)
    raise ValueError("expected the name of a gate and two wires")


def _read_rule(part: Any) -> tuple[int, tuple[int, ...]]:
    refuse_others(part, ("wire", "votes"))
    votes = tuple(read_integer(vote) for vote in read_list(part, "votes"))
    return read_integer(get(part, "wire")), votes


def _read_points(part: Any) -> tuple[int, tuple[int]]:
    refuse_others(part, ("wire", "points"))
    return read_integer(get(part, "wire")), (read_integer(get(part, "points")),)


def _read_link(value: Any) -> Link:
    for link in LINKS:
        if value == link:
            return link
    raise ValueError(f"the link {show(value)} is none of {', '.join(LINKS)}")
