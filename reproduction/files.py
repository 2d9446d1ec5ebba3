"""Write files completely or not at all: a killed run leaves no partial file."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_atomically(path: Path, text: str) -> None:
    """Write a text file in one atomic step; creates the folders that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("wb", dir=path.parent, prefix=".", delete=False) as draft:
        try:
            draft.write(text.encode("utf-8"))
            draft.flush()
            os.fsync(draft.fileno())
            os.chmod(draft.name, 0o666 & ~_umask())
            os.replace(draft.name, path)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
