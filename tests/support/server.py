"""Start a server that stops when the process ends."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.tools import skip_or_fail

_SECONDS = 60


def make_folder(name: str, owner: dict[str, Any]) -> Path:
    """Make a temporary folder. Not pytest's: only the user that runs the tests may read that."""
    folder = Path(tempfile.mkdtemp(prefix=f"dln-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if owner:
        shutil.chown(folder, **owner)
    return folder


def find_owner(name: str, package: str) -> dict[str, Any]:
    """Choose the user that runs the server: databases refuse to run as root."""
    if os.getuid() != 0:
        return {}
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        skip_or_fail(f"there is no user {name} (Debian: apt-get install {package})")
    return {"user": user.pw_uid, "group": user.pw_gid}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def start(
    command: Sequence[str | Path],
    folder: Path,
    owner: dict[str, Any],
    connect: Callable[[], Any],
    not_ready: type[Exception],
) -> None:
    """Start a server, and wait until `connect` no longer raises `not_ready`."""
    log = folder / "log"
    with open(log, "wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=folder, **owner)
    atexit.register(_stop, process)
    end = time.monotonic() + _SECONDS
    while True:
        try:
            connect().close()
            return
        except not_ready:
            running = process.poll() is None and time.monotonic() < end
            assert running, log.read_text(errors="replace")
            time.sleep(0.05)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=_SECONDS)
