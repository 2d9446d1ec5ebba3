"""Files: written completely or not at all, so that a killed run leaves no partial file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def write_atomically(path: Path, text: str) -> None:
    """Write a text file in one atomic step; creates the folders that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_records(path: Path, records: Iterable[Any]) -> Path:
    """Write dataclass instances as a JSON list, one in each line; return the path."""
    lines = ",\n ".join(json.dumps(asdict(record)) for record in records)
    write_atomically(path, f"[{lines}]\n")
    return path


def read_records(path: Path, kind: type[T]) -> list[T]:
    """Read instances of a dataclass; empty if there is no such file."""
    if not path.exists():
        return []
    return [kind(**record) for record in json.loads(path.read_text("utf-8"))]
