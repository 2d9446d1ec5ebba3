"""Results on disk: one JSON Lines file for each model, and loose files while a run is going.

    dln.jsonl                  one line for each result, sorted
    running/dln/Heart-0.json   a result that is not in its file yet; git ignores this folder

Promise: no result is lost. Each is written in one atomic step. `keep` moves loose results into
their file; it deletes a loose result only when the file on disk holds it. Two different results of
one key are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dln import TableError
from reproduction.files import write_atomically

Document = Mapping[str, Any]
Key = tuple[str, str | int]
"""What names a result within its file: a dataset, and a seed or a variant."""


@dataclass(frozen=True)
class Store:
    """The results of one model: a file and its loose results.

    Attributes
    ----------
    folder
        Folder of all results.
    name
        Name of the file, without its ending.
    key_of
        Returns the key of a result; raises ValueError, TypeError or LookupError if it is none.
    """

    folder: Path
    name: str
    key_of: Callable[[Document], Key]

    @property
    def path(self) -> Path:
        """The file of kept results."""
        return self.folder / f"{self.name}.jsonl"

    def loose_path(self, key: Key) -> Path:
        """Return the path of a loose result."""
        return self._running / f"{key[0]}-{key[1]}.json"

    def add(self, document: Document) -> None:
        """Write a loose result; it replaces a loose one of the same key."""
        write_atomically(
            self.loose_path(self.key_of(document)), json.dumps(document, indent=1) + "\n"
        )

    def has(self, key: Key) -> bool:
        """Return whether there is a result, kept or loose."""
        # Loose ones first: `keep` may move the result meanwhile.
        return self.loose_path(key).exists() or self.has_kept(key)

    def has_kept(self, key: Key) -> bool:
        """Return whether the file has a result."""
        return key in self._kept()

    def read(self) -> list[Document]:
        """Read all results, sorted by key."""
        return [json.loads(line) for line in self._merge(self._loose()).values()]

    def keep(self) -> int:
        """Move the loose results into the file; return how many there were."""
        if not self._running.exists():
            return 0
        with _locked(self._running):
            loose = self._loose()
            if loose:
                write_atomically(
                    self.path, "".join(f"{line}\n" for line in self._merge(loose).values())
                )
            kept = self._kept()
            for key, line in loose.items():
                path = self.loose_path(key)
                if kept[key] == line == self._line(path.read_text("utf-8"), str(path))[1]:
                    path.unlink()
        return len(loose)

    @property
    def _running(self) -> Path:
        return self.folder / "running" / self.name

    def _loose(self) -> dict[Key, str]:
        found = {}
        for path in sorted(self._running.glob("[!.]*.json")):
            key, line = self._line(path.read_text("utf-8"), str(path))
            if path != self.loose_path(key):
                raise TableError(f"{path} is named wrongly; rename it to {self.loose_path(key)}")
            found[key] = line
        return found

    def _kept(self) -> Mapping[Key, str]:
        if not self.path.exists():
            return {}
        status = self.path.stat()
        return _read(self, (status.st_ino, status.st_mtime_ns, status.st_size))

    def _merge(self, loose: Mapping[Key, str]) -> dict[Key, str]:
        kept = self._kept()
        for key, line in loose.items():
            if kept.get(key, line) != line:
                raise TableError(
                    f"{self.loose_path(key)} differs from the same result in {self.path}; "
                    "delete the wrong one"
                )
        return dict(sorted({**kept, **loose}.items()))

    def _line(self, text: str, where: str) -> tuple[Key, str]:
        """Return the key of a result and its line in the file."""
        try:
            document = json.loads(text)
            return self.key_of(document), json.dumps(document)
        except (ValueError, TypeError, LookupError) as error:
            raise TableError(f"{where} is not a result; delete it and run again") from error


@lru_cache(maxsize=64)
def _read(store: Store, status: tuple[int, ...]) -> Mapping[Key, str]:
    """Read the file of a store, again only if its status has changed."""
    found: dict[Key, str] = {}
    for number, text in enumerate(store.path.read_text("utf-8").splitlines(), 1):
        where = f"{store.path}, line {number},"
        key, line = store._line(text, where)
        if found.setdefault(key, line) != line:
            raise TableError(f"{where} differs from an earlier line of the same result; delete one")
    return found


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait for other processes that keep results of the same folder."""
    import fcntl  # Windows does not have it

    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
