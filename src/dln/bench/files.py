"""Result files, written completely or not at all: a killed run leaves no partial file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dln import whole


def write_whole(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document as JSON; creates the folders that are missing."""
    text = json.dumps(document, indent=1) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole.write_whole(path, text)
