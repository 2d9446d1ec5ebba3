"""A real MariaDB server on a socket, in a temporary folder."""

from __future__ import annotations

import itertools
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.server import find_owner, make_folder, start
from tests.support.tools import find_module, find_tool

_PACKAGE = "mariadb-server"
_NUMBERS = itertools.count()


class Connection:
    """A connection whose `execute` returns a cursor, as in the other databases."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def execute(self, text: str, values: Any = None) -> Any:
        cursor = self._raw.cursor()
        cursor.execute(text, values)
        return cursor

    def executemany(self, text: str, rows: Sequence[Sequence[Any]]) -> None:
        self._raw.cursor().executemany(text, rows)


@contextmanager
def mysql() -> Iterator[Connection]:
    """Yield a connection to an empty database. One server runs for all tests of a process."""
    find_module("pymysql")
    path = _server()
    name = f"test{next(_NUMBERS)}"
    with _connect(path) as raw:
        connection = Connection(raw)
        # The default of older servers, in which texts are equal if only case and blanks differ.
        connection.execute(f"CREATE DATABASE {name} COLLATE utf8mb4_general_ci")
        connection.execute(f"USE {name}")
        yield connection
        connection.execute(f"DROP DATABASE {name}")


@cache
def _server() -> Path:
    """Start a server that stops when the process ends, and return its socket."""
    install = find_tool("mariadb-install-db", package=_PACKAGE)
    server = find_tool("mariadbd", package=_PACKAGE, folders=["/usr/sbin"])
    owner = find_owner("mysql", _PACKAGE)
    folder = make_folder("mysql", owner)
    data, path = folder / "data", folder / "socket"
    make = [install, "--no-defaults", f"--datadir={data}", "--skip-test-db"]
    make.append("--auth-root-authentication-method=normal")
    subprocess.run(make, check=True, capture_output=True, cwd=folder, **owner)
    options = [f"--socket={path}", "--skip-networking", "--innodb-flush-log-at-trx-commit=0"]
    command = [server, "--no-defaults", f"--datadir={data}", *options]
    start(command, folder, owner, lambda: _reach(path), OSError)
    return path


def _reach(path: Path) -> socket.socket:
    """Open the socket. The driver would not close it if the server is not ready."""
    plain = socket.socket(socket.AF_UNIX)
    try:
        plain.connect(str(path))
    except OSError:
        plain.close()
        raise
    return plain


def _connect(path: Path) -> Any:
    import pymysql

    return pymysql.connect(unix_socket=str(path), user="root", charset="utf8mb4", autocommit=True)
