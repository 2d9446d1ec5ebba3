"""Write a file completely or not at all.

Promise: until the new content is complete and on disk, a file of that name stays as it was. A file
that is replaced keeps its permissions and, where the system allows it, its owner. A new file gets
the permissions that the umask allows. If writing fails or is interrupted, nothing is left behind.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO


def write_atomically(path: str | PathLike[str], content: bytes | str) -> None:
    """Write a file's content; text is encoded as UTF-8.

    UTF-8 cannot encode an unpaired surrogate, so it is written as a backslash escape.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with open_atomically(path) as stream:
        stream.write(data)


@contextmanager
def open_atomically(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a draft next to the target; it gets the target's name when the block ends normally."""
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():  # a device or a pipe, for example /dev/stdout
        with open(target, "wb") as stream:
            yield stream
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to write {path} in")
    draft = target.with_name(f".{secrets.token_hex(8)}.dln")
    try:
        with open(draft, "xb", opener=_open_private if target.exists() else None) as stream:
            if target.exists():
                _copy_access(target, draft)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def finish_draft(draft: Path, target: Path) -> None:
    """Give a complete draft its final name, once its content is on disk."""
    with open(draft, "rb") as file:
        os.fsync(file.fileno())
    os.replace(draft, target)
    _sync_folder(target.parent)


def _open_private(path: str, flags: int) -> int:
    """Open a file that only its owner can read until it gets the access of the file it replaces."""
    return os.open(path, flags, 0o600)


def _copy_access(old: Path, new: Path) -> None:
    """Copy the owner, the group and the permissions of a file, as far as is allowed."""
    status = old.stat()
    mode = status.st_mode & 0o777
    if hasattr(os, "chown"):
        try:
            os.chown(new, -1, status.st_gid)
        except OSError:
            # The file now belongs to another group, which must not gain access: it gets the
            # permissions of everybody else.
            mode = mode & ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
        with suppress(OSError):  # only the superuser can give a file to somebody else
            os.chown(new, status.st_uid, -1)
    with suppress(OSError):  # a file system without permissions
        os.chmod(new, mode)


def _sync_folder(folder: Path) -> None:
    """Make sure that the new name survives a power failure, where the system can."""
    with suppress(OSError):  # Windows and some network file systems cannot sync a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
