"""CircuitPath <-> JSON: one file with all circuits, each as in a model file.

All circuits of a path have the same origin, which is written once.

Reading runs no code and checks every circuit, as for model files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, get_args

from dln._util.atomic_file import write_atomically
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.core.origin import Origin
from dln.errors import CircuitFileError, DlnError
from dln.paths.path import NUMBER_MEASURES, CircuitPath, PathPoint, Validation

FORMAT = "dln path"
VERSION = 1


def path_to_json(path: CircuitPath) -> str:
    """Write a path as JSON, one line for each circuit."""
    origin = path.circuit.origin
    if any(point.circuit.origin != origin for point in path):
        origin = None
    if origin is not None:
        path = path.changed(lambda circuit: replace(circuit, origin=None))
    points = ",\n".join(
        json.dumps(
            {
                "accuracy": None if math.isnan(point.accuracy) else point.accuracy,
                "standard_error": (
                    None if math.isnan(point.standard_error) else point.standard_error
                ),
                "circuit": json.loads(circuit_to_json(point.circuit)),
            },
            ensure_ascii=False,
        )
        for point in path
    )
    head = json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "measure": path.measure,
            "chosen": path.chosen,
            "validation": path.validation,
            **({} if origin is None else {"origin": origin.to_dict()}),
        },
        ensure_ascii=False,
    )
    return f'{head[:-1]}, "points": [\n{points}\n]}}\n'


def path_from_json(text: str) -> CircuitPath:
    """Read a path; raises `CircuitFileError` if the text does not hold a valid one."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CircuitFileError(f"the file is not JSON: {error}") from None
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise CircuitFileError(
            f"the file has the format {found!r}, expected {FORMAT!r}; "
            "write one with dln train --path"
        )
    if document.get("version") != VERSION:
        raise CircuitFileError(
            f"the path file has version {document.get('version')!r}, expected {VERSION}; "
            "use another version of dln or train again"
        )
    points = _get(document, "points", lambda value: isinstance(value, list) and bool(value))
    chosen = _get(document, "chosen", lambda value: type(value) is int and 0 <= value < len(points))
    measure = _get(document, "measure", lambda value: isinstance(value, str))
    validation = document.get("validation", "cross-validated")  # the only one at first
    if validation not in get_args(Validation):
        known = " or ".join(map(repr, get_args(Validation)))
        raise CircuitFileError(
            f"the path file has {str(validation)[:60]!r} for 'validation', expected {known}"
        )
    points = tuple(_read_point(point, measure) for point in points)
    path = CircuitPath(points, chosen, measure, validation)
    if "origin" not in document:
        return path
    try:
        origin = Origin.from_dict(document["origin"])
    except ValueError as error:
        raise CircuitFileError(f"the path file has an invalid origin: {error}") from None
    return path.changed(lambda circuit: replace(circuit, origin=origin))


def _read_point(part: Any, measure: str) -> PathPoint:
    is_valid = _is_number if measure in NUMBER_MEASURES else _is_share
    circuit = circuit_from_json(json.dumps(_get(part, "circuit", lambda value: True)))
    accuracy, error = (
        math.nan if value is None else float(value)
        for value in (_get(part, key, is_valid) for key in ("accuracy", "standard_error"))
    )
    return PathPoint(circuit, accuracy, error)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (number and math.isfinite(value))


def _is_share(value: Any) -> bool:
    return _is_number(value) and (value is None or 0 <= value <= 1)


def _get(part: Any, key: str, is_valid: Callable[[Any], bool]) -> Any:
    if not isinstance(part, dict) or key not in part or not is_valid(part[key]):
        found = part.get(key, "nothing") if isinstance(part, dict) else part
        raise CircuitFileError(f"the path file has {str(found)[:60]!r} for {key!r}; train again")
    return part[key]


def is_path(text: str) -> bool:
    """Check whether a text claims to hold a path, not a single circuit."""
    return f'"format": "{FORMAT}"' in text[:100]


def save_path(path: CircuitPath, target: str | PathLike[str]) -> None:
    """Save a path; an existing file is replaced only by a complete new one."""
    write_atomically(target, path_to_json(path))


def load_path(source: str | PathLike[str]) -> CircuitPath:
    """Load a saved path; raises `CircuitFileError` if the file is not valid."""
    try:
        return path_from_json(Path(source).read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise CircuitFileError(f"{source} is not UTF-8 text: {error}") from None
    except DlnError as error:
        raise CircuitFileError(f"{source}: {error}") from None
