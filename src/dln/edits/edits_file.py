"""Files of edits: JSON that `dln edit --apply` reads, and that the report lets people download."""

from __future__ import annotations

import json
from collections.abc import Iterable
from os import PathLike
from typing import Any

from dln._util.atomic_file import write_atomically
from dln.core.circuit import Circuit
from dln.core.edit_record import EditRecord
from dln.errors import OptionError
from dln.exporters.identity import circuit_id

FORMAT = "dln-edits"
VERSION = 1
_MOST_CHARACTERS = 2**24
_PARTS = ("format", "version", "model", "edits")


def load_edits(path: str | PathLike[str], circuit: Circuit | None = None) -> tuple[EditRecord, ...]:
    """Load the edits of a file; raises `OptionError` for anything else.

    Parameters
    ----------
    path
        A file that `save_edits` or the report wrote, or one written by hand (docs/guides/edit.md).
    circuit
        The circuit to be edited. If the file names a model, it must be this one.
    """
    with open(path, encoding="utf-8-sig") as stream:
        try:
            text = stream.read(_MOST_CHARACTERS + 1)
        except UnicodeDecodeError as error:
            raise OptionError(f"{path}: not a text file; expected edits as JSON") from error
    if len(text) > _MOST_CHARACTERS:
        raise OptionError(f"{path}: too large for a file of edits")
    try:
        return _read_edits(text, circuit)
    except ValueError as error:
        raise OptionError(f"{path}: {error}") from error


def save_edits(
    path: str | PathLike[str], edits: Iterable[EditRecord], circuit: Circuit | None = None
) -> None:
    """Save edits as a file that `load_edits` reads; `circuit` is the one before the edits."""
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if circuit is not None:
        document["model"] = circuit_id(circuit)
    document["edits"] = [record.to_dict() for record in edits]
    write_atomically(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _read_edits(text: str, circuit: Circuit | None) -> tuple[EditRecord, ...]:
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply to be edits") from error
    except ValueError as error:
        raise ValueError(f"not valid JSON ({error}); expected a file of edits") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'not a file of edits: it has no "format": "{FORMAT}"')
    if document.get("version") != VERSION:
        raise ValueError(f'"version" is {document.get("version")!r}, this dln reads {VERSION}')
    for name in document:
        if name not in _PARTS:
            raise ValueError(f"{name!r} is none of {', '.join(_PARTS)}")
    if circuit is not None and document.get("model", circuit_id(circuit)) != circuit_id(circuit):
        raise ValueError(
            f"the edits are for model {document['model']!r}, this is {circuit_id(circuit)!r}; "
            'give that model, or remove "model" from the file'
        )
    edits = document.get("edits")
    if not isinstance(edits, list):
        raise ValueError('"edits" must be a list')
    found = []
    for place, edit in enumerate(edits):
        try:
            found.append(EditRecord.from_dict(edit))
        except ValueError as error:
            raise ValueError(f"edits[{place}]: {error}") from error
    return tuple(found)
