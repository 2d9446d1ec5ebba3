"""SQL beyond the conformance suite: columns of related types, dates, other settings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from postgres import postgresql
from tools import find_module

import dln
from dln import Above, Among, Circuit, Column, Missing, Rule

CIRCUIT = Circuit(
    (
        Column("number", "number"),
        Column("whole", "integer"),
        Column("flag", "boolean"),
        Column("when", "date"),
        Column("size", "category", (1, 2, 3)),
    ),
    (
        Above(0, 0.1),
        Above(1, 2.0),
        Above(2, 0.5),
        Above(3, datetime(2024, 3, 31, 12, tzinfo=UTC).timestamp()),
        Among(4, (0, 2)),
        Missing(3),
    ),
    (),
    tuple(Rule(wire, (2**wire, 0)) for wire in range(6)),
    (0, 20),
    ("many", "few"),
)
ROWS = (
    (0.1, 2, True, datetime(2024, 3, 31), 1),
    (0.25, 3, False, datetime(2024, 4, 1), 2),
    (None, None, None, None, None),
    (-1.5, -7, True, datetime(1960, 2, 29), 3),
)
TYPES = {
    "duckdb": [
        ("DOUBLE", "BIGINT", "BOOLEAN", "TIMESTAMP", "INTEGER"),
        ("DECIMAL(9, 4)", "SMALLINT", "BOOLEAN", "DATE", "DOUBLE"),
        ("DOUBLE", "HUGEINT", "BOOLEAN", "TIMESTAMP WITH TIME ZONE", "UTINYINT"),
        ("DOUBLE", "DOUBLE", "TINYINT", "TIMESTAMP_NS", "BIGINT"),
    ],
    "postgresql": [
        ("double precision", "bigint", "boolean", "timestamp", "integer"),
        ("numeric(9, 4)", "smallint", "boolean", "date", "numeric"),
        ("double precision", "numeric", "integer", "timestamptz", "bigint"),
    ],
    "sqlite": [
        ("REAL", "INTEGER", "BOOLEAN", "TEXT", "INTEGER"),
        ("NUMERIC", "NUMERIC", "INT", "DATETIME", ""),
    ],
}


@contextmanager
def connect(target: str) -> Iterator[Any]:
    if target == "sqlite":
        yield sqlite3.connect(":memory:")
    elif target == "duckdb":
        find_module("duckdb")
        import duckdb

        with duckdb.connect(":memory:") as connection:
            connection.execute("SET threads = 1")
            yield connection
    else:
        with postgresql() as connection:
            connection.execute("SET standard_conforming_strings = off")
            yield connection


@pytest.mark.parametrize("target", TYPES)
def test_columns_of_related_types_are_read_alike(target: str) -> None:
    expected = CIRCUIT.predict([list(row) for row in ROWS]).tolist()
    text = dln.export(CIRCUIT, to=target, table="my data").text
    query = f"SELECT predicted_class FROM ({text.rstrip().rstrip(';')}) AS answers"
    with connect(target) as connection:
        for types in TYPES[target]:
            names = ("number", "whole", "flag", "when", "size")
            listed = ", ".join(f'"{n}" {t}' for n, t in zip(names, types, strict=True))
            connection.execute(f'CREATE TABLE "my data" ({listed})')
            for row in ROWS:
                cells = ", ".join(_literal(cell, target) for cell in row)
                connection.execute(f'INSERT INTO "my data" VALUES ({cells})')
            answers = [row[-1] for row in connection.execute(query).fetchall()]
            assert answers == expected, types
            connection.execute('DROP TABLE "my data"')


def _literal(cell: Any, target: str) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        # Columns of integers take no boolean in PostgreSQL, but both take this.
        return f"'{int(cell)}'" if target == "postgresql" else str(int(cell))
    if isinstance(cell, datetime):
        zone = "+00" if target == "postgresql" else ""
        return f"'{cell.isoformat(sep=' ')}{zone}'"
    return repr(cell)


def test_text_dates_of_sqlite_count_to_the_millisecond() -> None:
    cutoff = datetime(2024, 5, 6, 7, 8, 9, 500_000, tzinfo=UTC).timestamp()
    circuit = Circuit(
        (Column("d", "date"),), (Above(0, cutoff),), (), (Rule(0, (0, 1)),), (0, 0), (0, 1)
    )
    query = dln.export(circuit, to="sqlite").text
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (d)")
    cells = ["2024-05-06 07:08:09.500", "2024-05-06T07:08:09.501", "2024-05-06 08:08:09.501+01:00"]
    for cell in (*cells, cutoff, cutoff + 1e-6, None):
        connection.execute("INSERT INTO data VALUES (?)", (cell,))
    assert [row[-1] for row in connection.execute(query)] == [0, 1, 1, 0, 1, 0]


def test_a_collation_does_not_make_categories_the_same() -> None:
    circuit = Circuit(
        (Column("c", "category", ("Red",)),),
        (Among(0, (0,)),),
        (),
        (Rule(0, (0, 1)),),
        (0, 0),
        (False, True),
    )
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (c TEXT COLLATE NOCASE)")
    connection.execute("INSERT INTO data VALUES ('red'), ('Red')")
    query = dln.export(circuit, to="sqlite").text
    assert [row[-1] for row in connection.execute(query)] == [0, 1]


def test_a_circuit_too_wide_for_a_database_is_refused() -> None:
    circuit = Circuit(
        (Column("x", "number"),),
        tuple(Above(0, float(cutoff)) for cutoff in range(2100)),
        (),
        tuple(Rule(wire, (1,)) for wire in range(2100)),
        (0,),
        ("a",),
    )
    for target, most in (("sqlite", 2000), ("postgresql", 1600)):
        with pytest.raises(dln.OptionError, match=f"2100 values of a row .* at most {most}"):
            dln.export(circuit, to=target)
