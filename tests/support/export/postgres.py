"""A real PostgreSQL server on the loopback interface, in a temporary folder."""

from __future__ import annotations

import atexit
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.tools import find_module, find_tool, skip_or_fail

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_SECONDS = 60
_NUMBERS = itertools.count()


@contextmanager
def postgresql() -> Iterator[Any]:
    """Yield a connection to an empty database. One server runs for all tests of a process."""
    find_module("psycopg", package="psycopg[binary]")
    port = _server()
    name = f"test{next(_NUMBERS)}"
    with _connect(port, "postgres") as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
    with _connect(port, name) as connection:
        yield connection


@cache
def _server() -> int:
    """Start a server that stops when the process ends, and return its port."""
    initdb = find_tool("initdb", package="postgresql", folders=_FOLDERS)
    server = find_tool("postgres", package="postgresql", folders=_FOLDERS)
    owner = _owner()
    # Not pytest's folder, because only the user that runs the tests may read it.
    folder = Path(tempfile.mkdtemp(prefix="dln-postgresql-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
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
    atexit.register(_stop, process)
    _wait(port, process, folder / "log")
    return port


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=_SECONDS)


def _owner() -> dict[str, Any]:
    """Choose the user that runs the server: PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        skip_or_fail("there is no user postgres (Debian: apt-get install postgresql)")
    return {"user": user.pw_uid, "group": user.pw_gid}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _connect(port: int, database: str) -> Any:
    import psycopg

    return psycopg.connect(
        host="127.0.0.1", port=port, user="dln", dbname=database, autocommit=True
    )


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    end = time.monotonic() + _SECONDS
    while True:
        try:
            _connect(port, "postgres").close()
            return
        except psycopg.OperationalError:
            running = process.poll() is None and time.monotonic() < end
            assert running, log.read_text(errors="replace")
            time.sleep(0.05)
