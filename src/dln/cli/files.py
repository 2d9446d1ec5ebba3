"""Open a path to read or to write: files, "-" for standard input and output, gzip.

Promise: an output file is written completely or not at all. Until it is complete, an existing file
of that name is not changed.
"""

from __future__ import annotations

import glob
import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from dln._util.atomic_file import open_atomically
from dln.core.circuit import Circuit
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.errors import OptionError, TableError

STANDARD = "-"
HEAD_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


def input_name(path: str) -> str:
    """Return the name of an input for messages."""
    return "standard input" if path == STANDARD else path


# -- reading ----------------------------------------------------------------------------------


def part_files(path: str) -> list[str] | None:
    """Return the files that a pattern or a folder stands for, in order; None for a single file."""
    place = Path(path)
    if place.is_dir():
        found = sorted(map(str, place.glob("*.parquet")))
        if not found:
            raise TableError(f"the folder {path} has no file *.parquet; name a table")
        return found
    if place.exists() or not glob.has_magic(path):
        return None
    found = sorted(glob.glob(path))
    if not found:
        raise TableError(f"no file matches {path!r}; check the pattern, or name a table")
    return found


@contextmanager
def refuse_changes(path: str) -> Iterator[None]:
    """Raise `TableError` if a file changes within the block; pipes are not checked."""
    stamp = _stamp(path)
    try:
        yield
    except (TableError, OSError) as error:
        if _stamp(path) != stamp:
            raise _changed(path) from error
        raise
    if _stamp(path) != stamp:
        raise _changed(path)


def _stamp(path: str) -> tuple[int, int] | None:
    """Return the size of a file and the time of its last change."""
    if path == STANDARD or not os.path.isfile(path):
        return None
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def _changed(path: str) -> TableError:
    return TableError(f"{path} changed while it was read; try again when it is complete")


@contextmanager
def open_input(path: str) -> Iterator[tuple[bytes, IO[bytes]]]:
    """Open a file or standard input and decompress it; yield its beginning and a stream of all."""
    if path != STANDARD and part_files(path) is not None:
        raise TableError(
            f"{path} stands for several files, which only dln train and dln predict read as one "
            "table; name one file"
        )
    with ExitStack() as stack:
        raw: IO[bytes] = (
            sys.stdin.buffer if path == STANDARD else stack.enter_context(open(path, "rb"))
        )
        head, stream = _peek(raw)
        if head.startswith(_GZIP_MAGIC):
            packed = stack.enter_context(gzip.GzipFile(fileobj=stream, mode="rb"))
            try:
                head, stream = _peek(cast("IO[bytes]", packed))
            except (OSError, EOFError) as error:
                raise TableError(f"{input_name(path)} is not a whole gzip file: {error}") from error
        yield head, stream


def _peek(stream: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    """Read the beginning, and put it back."""
    head = stream.read(HEAD_BYTES)
    return head, cast("IO[bytes]", io.BufferedReader(_Joined(head, stream), HEAD_BYTES))


class _Joined(io.RawIOBase):
    """A stream whose beginning was already read; standard input cannot seek back."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        part: bytes | memoryview
        if self._head:
            part = self._head[: len(buffer)]
            self._head = self._head[len(buffer) :]
        else:
            part = self._rest.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)


def load_model(path: str) -> Circuit:
    """Read a circuit from a file or from standard input."""
    if path == STANDARD:
        return circuit_from_json(sys.stdin.read())
    return Circuit.load(path)


# -- writing ----------------------------------------------------------------------------------


def check_output(path: str, *others: str | None) -> None:
    """Refuse an output that cannot be written or is one of the command's other files.

    Called before the work, not after it. None means that a file was not requested.
    """
    if path == STANDARD:
        return
    target = Path(path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to write {path} in")
    for other in others:
        if other is None or other == STANDARD:
            continue
        if _is_same(target, Path(other).resolve()):
            raise OptionError(
                f"the output {path} is the same file as {other}, which would be overwritten; "
                "name another file"
            )


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two resolved paths are one regular file; a terminal may be used twice."""
    if not (one.exists() and other.exists()):
        return one == other
    return one.is_file() and one.samefile(other)


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open a file or standard output; a regular file is replaced once everything is written."""
    check_output(path)
    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open_atomically(path) as file, _packed(file, path) as stream:
        yield stream


@contextmanager
def _packed(file: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    if not path.lower().endswith(".gz"):
        yield file
        return
    # No name and no time in the file, so the same table gives the same bytes.
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        yield cast("IO[bytes]", packed)


def save_model(circuit: Circuit, path: str) -> None:
    """Write a circuit to a file or to standard output."""
    if path == STANDARD:
        sys.stdout.write(circuit_to_json(circuit))
    else:
        circuit.save(path)
