"""A file is replaced completely or not at all, and keeps its permissions and its owner."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dln._util import atomic_file
from dln._util.atomic_file import open_atomically, write_atomically

MODES = [0o600, 0o640, 0o644, 0o664, 0o400, 0o755]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_replaced_file_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(mode)
    write_atomically(path, "new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", mode)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_gets_the_permissions_that_the_umask_allows(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "new.json", "new")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new.json") == 0o666 & ~umask


def test_a_draft_is_private_until_it_has_the_permissions_of_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret.json"
    path.write_text("old")
    path.chmod(0o600)
    seen = []

    def look(old: Path, new: Path) -> None:
        seen.append((mode_of(old), mode_of(new)))

    monkeypatch.setattr(atomic_file, "_copy_access", look)
    write_atomically(path, "new")
    assert seen == [(0o600, 0o600)]


def test_a_replaced_file_keeps_its_owner_and_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")
    status, asked = path.stat(), []
    monkeypatch.setattr(atomic_file.os, "chown", lambda _, uid, gid: asked.append((uid, gid)))
    write_atomically(path, "new")
    assert asked == [(-1, status.st_gid), (status.st_uid, -1)]


@pytest.mark.parametrize(("mode", "kept"), [(0o660, 0o600), (0o664, 0o644), (0o640, 0o600)])
def test_another_group_gains_no_access(
    mode: int, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(mode)
    monkeypatch.setattr(atomic_file.os, "chown", refuse)
    write_atomically(path, "new")
    assert (path.read_text(), mode_of(path)) == ("new", kept)


def test_content_and_name_reach_the_disk_in_this_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content is synced before the name changes, and the folder after it."""
    path, events, sync, rename = tmp_path / "model.json", [], os.fsync, os.replace

    def record_sync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        events.append("sync folder" if is_folder else f"sync {os.fstat(descriptor).st_size}")
        sync(descriptor)

    def record_rename(old: Path, new: Path) -> None:
        events.append("rename")
        rename(old, new)

    monkeypatch.setattr(atomic_file.os, "fsync", record_sync)
    monkeypatch.setattr(atomic_file.os, "replace", record_rename)
    write_atomically(path, "hello")
    assert events == ["sync 5", "rename", "sync folder"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, ValueError])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")

    def write() -> None:
        with open_atomically(path) as stream:
            stream.write(b"half of the")
            raise error

    with pytest.raises(error):
        write()
    assert (os.listdir(tmp_path), path.read_text()) == (["model.json"], "old")


def test_only_one_module_renames_files() -> None:
    """There is one atomic writer. Another one would have to keep the same promises."""
    sources = Path(atomic_file.__file__).parent
    renaming = ("os.replace(", "os.rename(", ".rename(", "mkstemp", "NamedTemporaryFile")
    found = {
        path.name
        for path in sources.rglob("*.py")
        if any(word in path.read_text("utf-8") for word in renaming)
    }
    assert found == {"atomic_file.py"}
