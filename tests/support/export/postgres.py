"""A real PostgreSQL server on the loopback interface, in a temporary folder."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.server import find_owner, free_port, make_folder, start
from tests.support.tools import find_module, find_tool

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
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
    import psycopg

    initdb = find_tool("initdb", package="postgresql", folders=_FOLDERS)
    server = find_tool("postgres", package="postgresql", folders=_FOLDERS)
    owner = find_owner("postgres", "postgresql")
    folder = make_folder("postgresql", owner)
    data = folder / "data"
    make = [initdb, "-D", data, "-U", "dln", "-A", "trust", "-E", "UTF8", "--locale=C"]
    subprocess.run([*make, "--no-sync"], check=True, capture_output=True, cwd=folder, **owner)
    port = free_port()
    options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-p", str(port)]
    command = [server, "-D", data, "-k", folder, *options]
    start(command, folder, owner, lambda: _connect(port, "postgres"), psycopg.OperationalError)
    return port


def _connect(port: int, database: str) -> Any:
    import psycopg

    return psycopg.connect(
        host="127.0.0.1", port=port, user="dln", dbname=database, autocommit=True
    )
