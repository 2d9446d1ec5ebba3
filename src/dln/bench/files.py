"""Files of results, written whole or not at all: a run that is killed leaves no half of one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_whole(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document as JSON under another name first; makes the folders that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    unfinished.replace(path)
