"""A real PostgreSQL server on loopback, in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools import find_module, find_tool, lacking

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_SECONDS = 60


@contextmanager
def postgresql() -> Iterator[Any]:
    """Start a server, give a connection to it, and stop it."""
    find_module("psycopg", package="psycopg[binary]")
    initdb = find_tool("initdb", package="postgresql", folders=_FOLDERS)
    server = find_tool("postgres", package="postgresql", folders=_FOLDERS)
    owner = _owner()
    # Not pytest's folder: only the user who runs the tests may enter that one.
    folder = Path(tempfile.mkdtemp(prefix="dln-postgresql-"))
    try:
        if owner:
            shutil.chown(folder, **owner)
        data = folder / "data"
        make = [initdb, "-D", data, "-U", "dln", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*make, "--no-sync"], check=True, capture_output=True, cwd=folder, **owner)
        port = _free_port()
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-p", str(port)]
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                [server, "-D", data, "-k", folder, *options],
                stdout=log,
                stderr=log,
                cwd=folder,
                **owner,
            )
        try:
            with _connect(port, process, folder / "log") as connection:
                yield connection
        finally:
            process.terminate()
            process.wait(timeout=_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _owner() -> dict[str, Any]:
    """Choose who runs the server: PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        lacking("there is no user postgres (Debian: apt-get install postgresql)")
    return {"user": user.pw_uid, "group": user.pw_gid}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _connect(port: int, process: subprocess.Popen[bytes], log: Path) -> Any:
    import psycopg

    end = time.monotonic() + _SECONDS
    while True:
        try:
            return psycopg.connect(
                host="127.0.0.1", port=port, user="dln", dbname="postgres", autocommit=True
            )
        except psycopg.OperationalError:
            running = process.poll() is None and time.monotonic() < end
            assert running, log.read_text(errors="replace")
            time.sleep(0.05)
