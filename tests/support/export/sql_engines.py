"""Connections to the real databases, which run the exported SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.export.mysql import mysql
from tests.support.export.postgres import postgresql
from tests.support.tools import find_module

DATABASES = ("sqlite", "duckdb", "postgresql", "mysql")


@contextmanager
def connect(target: str) -> Iterator[Any]:
    """Open an empty database. The result of its `execute` has `fetchall`."""
    if target == "sqlite":
        yield sqlite3.connect(":memory:")
    elif target == "duckdb":
        find_module("duckdb")
        import duckdb

        with duckdb.connect(":memory:") as connection:
            connection.execute("SET threads = 1")
            yield connection
    elif target == "mysql":
        with mysql() as opened:
            opened.execute("SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
            yield opened
    else:
        with postgresql() as connection:
            connection.execute("SET standard_conforming_strings = off")
            connection.prepare_threshold = None  # tables change under the statements
            yield connection


def quoted(name: str) -> str:
    """Write a name of a table or column."""
    return '"' + name.replace('"', '""') + '"'
