"""Finished work of a fit in a folder: after a kill, the same fit continues with it.

Promise: a file that `read` and `path` return was complete when the process was killed, and belongs
to a fit with the same settings. One process at a time uses the folder. `remove` deletes only what
this module has written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dln._util.atomic_file import finish_draft, write_atomically
from dln.errors import OptionError

_SETTINGS = "fit.json"
_ENDINGS = (".data", ".part")
"""Of all other files."""

_DIGEST_BYTES = 16


class Storage:
    """A folder for one fit. Use it inside a `with` block: an error keeps what is finished.

    Attributes
    ----------
    is_kept
        Whether the fit was interrupted, so that the folder should stay at its end.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.is_kept = False
        self._settings: dict[str, Any] = {}
        self._lock: int | None = None

    @classmethod
    def open(cls, storage: Storage | str | os.PathLike[str]) -> Storage:
        """Open a folder; one that is open already stays as it is.

        Raises `OptionError` if the folder has other files, belongs to another version of dln, or is
        used by another process.
        """
        if isinstance(storage, Storage):
            return storage
        if not isinstance(storage, (str, os.PathLike)):
            raise OptionError(f"storage is {storage!r}, expected the name of a folder, or None")
        found = cls(storage)
        try:
            found._start()
        except BaseException:
            found._unlock()
            raise
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not any(self.folder.glob("*.data")):  # nothing is finished that could be used again
            self.remove()
        self._unlock()

    # -- settings ---------------------------------------------------------------------------------

    def check(self, what: str, settings: Mapping[str, Any]) -> None:
        """Store settings of a new fit, or compare them with the stored ones. They are JSON."""
        given = json.loads(json.dumps(settings))
        known = self._settings.get(what)
        if known is None:
            self._settings[what] = given
            write_atomically(self.folder / _SETTINGS, json.dumps(self._settings, indent=1))
            return
        for name in dict.fromkeys([*known, *given]):
            if known.get(name) != given.get(name):
                raise OptionError(
                    f"storage {str(self.folder)!r} holds a fit with other {name}"
                    f"{_values(known.get(name), given.get(name))}; use another folder, or the same "
                    f"{name}"
                )

    def setting(self, what: str, name: str) -> Any:
        """Return a stored setting; None if there is none."""
        return self._settings.get(what, {}).get(name)

    # -- files ------------------------------------------------------------------------------------

    def path(self, name: str) -> Path:
        """Return the place of a complete file."""
        return self.folder / f"{name}.data"

    def draft(self, name: str) -> Path:
        """Return the place of a file that is being written; `finish` completes it."""
        return self.folder / f"{name}.part"

    def finish(self, name: str) -> Path:
        """Declare that a draft is complete."""
        finish_draft(self.draft(name), self.path(name))
        return self.path(name)

    def write(self, name: str, content: bytes) -> None:
        """Write a small file."""
        digest = hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
        write_atomically(self.path(name), digest + content)

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file; None if it is not there or damaged."""
        try:
            found = self.path(name).read_bytes()
        except FileNotFoundError:
            return None
        digest, content = found[:_DIGEST_BYTES], found[_DIGEST_BYTES:]
        is_whole = hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest() == digest
        return content if is_whole else None

    def remove(self) -> None:
        """Delete the folder: the work is complete, or nothing of it is finished."""
        for file in self.folder.glob("*"):
            # Drafts of `write_atomically` have names that begin with a point.
            is_draft = file.name.startswith(".") and file.name.endswith(".dln")
            if file.name == _SETTINGS or is_draft or file.suffix in _ENDINGS:
                file.unlink(missing_ok=True)
        self._unlock()
        with suppress(OSError):
            self.folder.rmdir()

    # -- opening ----------------------------------------------------------------------------------

    def _start(self) -> None:
        folder = self.folder
        if folder.exists() and not folder.is_dir():
            raise OptionError(f"storage {str(folder)!r} is a file, expected a folder; name another")
        if not folder.absolute().parent.is_dir():
            raise OptionError(
                f"storage {str(folder)!r} cannot be made: there is no folder "
                f"{str(folder.absolute().parent)!r}"
            )
        strange = folder.is_dir() and not (folder / _SETTINGS).exists()
        if strange and any(folder.iterdir()):
            raise OptionError(
                f"storage {str(folder)!r} is a folder with other files; name a new folder, or that "
                "of an earlier fit"
            )
        folder.mkdir(mode=0o700, exist_ok=True)
        self._take_lock()
        if (folder / _SETTINGS).exists():
            self._settings = self._read_settings()
        self.check("version", {"dln": version("dln")})

    def _read_settings(self) -> dict[str, Any]:
        try:
            found = json.loads((self.folder / _SETTINGS).read_text("utf-8"))
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(own, dict) for own in found.values()):
            raise OptionError(
                f"storage {str(self.folder)!r} is damaged: {_SETTINGS} cannot be read; delete the "
                "folder, and start again"
            )
        return found

    def _take_lock(self) -> None:
        """Lock the folder; the system unlocks it if the process is killed."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OptionError(
                f"storage {str(self.folder)!r} is used by another process; wait for it, or use "
                "another folder"
            ) from None

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _values(known: Any, given: Any) -> str:
    """Show two settings, unless they are digests or lists."""
    shown = all(isinstance(value, (int, float, str, bool, type(None))) for value in (known, given))
    digests = any(str(value).startswith(DIGEST) for value in (known, given))
    return f" ({known!r}, now {given!r})" if shown and not digests else ""


DIGEST = "digest "
"""How a setting begins that stands for something larger."""
