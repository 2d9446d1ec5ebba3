"""Write a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from os import PathLike
from pathlib import Path


def write_whole(path: str | PathLike[str], content: bytes | str) -> None:
    """Write beside the target, then rename: nobody ever sees half a file.

    Text becomes UTF-8; half a surrogate pair, which has none, gets the backslash form that JSON
    and Python write for it.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():  # such as /dev/stdout
        target.write_bytes(data)
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to save {path} in")
    draft = target.with_name(f".{secrets.token_hex(8)}.dln")
    try:
        with open(draft, "xb") as stream:
            stream.write(data)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
