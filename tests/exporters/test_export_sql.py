"""SQL beyond the conformance suite: columns of related types, dates, other settings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

import dln
from dln import Above, Among, Circuit, Column, Missing, Rule
from tests.support.export.sql_engines import connect

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
    "mysql": [
        ("DOUBLE", "BIGINT", "BOOLEAN", "DATETIME(6)", "INTEGER"),
        ("DECIMAL(9, 4)", "SMALLINT", "BIT", "DATE", "DECIMAL(9, 4)"),
        ("FLOAT", "DECIMAL(20)", "INTEGER", "DATETIME", "TINYINT"),
    ],
    "sqlite": [
        ("REAL", "INTEGER", "BOOLEAN", "TEXT", "INTEGER"),
        ("NUMERIC", "NUMERIC", "INT", "DATETIME", ""),
    ],
}


@pytest.mark.parametrize("target", TYPES)
def test_columns_of_related_types_give_the_same_answers(target: str) -> None:
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


def places(rows: Iterable[Any]) -> list[list[int]]:
    """Return the places of the rules that fired; SQL numbers rules from 1."""
    return [[rule - 1 for rule in json.loads(row[-1])["rules"]] for row in rows]


def _literal(cell: Any, target: str) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        # In PostgreSQL, integer columns refuse TRUE. Integer and boolean columns accept '1'.
        return f"'{int(cell)}'" if target == "postgresql" else str(int(cell))
    if isinstance(cell, datetime):
        zone = "+00" if target == "postgresql" else ""
        return f"'{cell.isoformat(sep=' ')}{zone}'"
    return repr(cell)


@pytest.mark.parametrize(
    ("target", "types"),
    [
        ("duckdb", ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS")),
        ("postgresql", ("date", "timestamp", "timestamptz")),
    ],
)
def test_infinite_dates_are_after_and_before_all_others(
    target: str, types: tuple[str, ...]
) -> None:
    circuit = Circuit(
        (Column("d", "date"),),
        (Above(0, -1e15), Above(0, 0.0), Above(0, 1e15), Missing(0)),
        (),
        tuple(Rule(wire, (2**wire,)) for wire in range(4)),
        (0,),
        ("a",),
    )
    text = dln.export(circuit, to=target, explain=True).text.rstrip("\n;")
    query = f"SELECT explanation FROM ({text}) AS answers"  # Python has no infinite date
    cells = ["'infinity'", "'-infinity'", "'2024-01-02'", "'1960-01-02'", "NULL"]
    with connect(target) as connection:
        for kind in types:
            connection.execute("DROP TABLE IF EXISTS data")
            connection.execute(f"CREATE TABLE data (d {kind})")
            connection.execute(f"INSERT INTO data VALUES ({'), ('.join(cells)})")
            found = places(connection.execute(query).fetchall())
            assert found == [[0, 1, 2], [], [0, 1], [0], [3]], kind


def test_an_infinite_number_of_seconds_is_a_date_in_sqlite() -> None:
    circuit = Circuit(
        (Column("d", "date"),), (Above(0, 1e15),), (), (Rule(0, (0, 1)),), (0, 0), (0, 1)
    )
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (d)")
    connection.execute("INSERT INTO data VALUES (9e999), (-9e999), (NULL)")
    query = dln.export(circuit, to="sqlite").text
    assert [row[-1] for row in connection.execute(query)] == [1, 0, 0]


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


def test_text_that_is_not_a_number_is_missing_in_sqlite() -> None:
    """All values of a file that SQLite has imported are text, and missing values are empty."""
    circuit = Circuit(
        (Column("x", "number"), Column("flag", "boolean"), Column("size", "category", (0, 1))),
        (Missing(0), Above(0, -1.0), Above(0, 9.0), Above(1, 0.5), Missing(1), Among(2, (0,))),
        (),
        tuple(Rule(wire, (2**wire, 0)) for wire in range(6)),
        (0, 0),
        ("some", "none"),
    )
    query = dln.export(circuit, to="sqlite", explain=True).text
    cells: list[tuple[Any, Any, Any, list[int]]] = [
        ("", "", "", [0, 4]),
        ("NA", "NA", "NA", [0, 4]),
        ("12 mg", "yes", "0 mg", [0, 4]),
        (b"12", b"1", b"0", [0, 4]),
        (None, None, None, [0, 4]),
        ("12", "true", "0", [1, 2, 3, 5]),
        (" 1e1 ", "TRUE", "0.0", [1, 2, 3, 5]),
        (12, 1, 0, [1, 2, 3, 5]),
        (2**53 + 1, 1, 0, [1, 2, 3, 5]),
        (str(2**53 + 1), "1", "1", [1, 2, 3]),
        ("0", "False", "1", [1]),
        (0.0, 0, 1, [1]),
        (float("-inf"), 0, 1, []),
    ]
    connection = sqlite3.connect(":memory:")
    for types in ("x, flag, size", "x TEXT, flag TEXT, size TEXT", "x REAL, flag INT, size NUM"):
        connection.execute(f"CREATE TABLE data ({types})")
        rows = [row[:3] for row in cells if "TEXT" not in types or row[0] != float("-inf")]
        connection.executemany("INSERT INTO data VALUES (?, ?, ?)", rows)
        fired = places(connection.execute(query))
        assert fired == [row[3] for row in cells[: len(rows)]], types
        connection.execute("DROP TABLE data")


WORDS = Circuit(
    (
        Column("smoker", "category", ("no", "yes")),
        Column("agrees", "category", ("false", "true")),
        Column("ward", "category", ("1", "2")),
        Column("zip", "category", ("01234", "12345")),
    ),
    tuple(Among(column, (1,)) for column in range(4)),
    (),
    tuple(Rule(wire, (0, 1)) for wire in range(4)),
    (0, 0),
    ("none", "some"),
)


@pytest.mark.parametrize("target", ["duckdb", "postgresql"])
def test_a_column_type_that_changes_the_text_of_categories_is_refused(target: str) -> None:
    """A database that infers the types of CSV files reads yes and no as booleans."""
    text = dln.export(WORDS, to=target).text
    kind = "VARCHAR" if target == "duckdb" else "text"
    fits = [kind, "BOOLEAN", "INTEGER", kind]
    with connect(target) as connection:
        connection.execute("CREATE TYPE answer AS ENUM ('yes', 'no', 'never')")
        for place, other in ((None, ""), (0, "answer"), (0, "VARCHAR(9)")):
            types = [other if index == place else fit for index, fit in enumerate(fits)]
            _make_words(connection, types)
            assert [row[-1] for row in connection.execute(text).fetchall()] == ["some", "none"]
        for place, other, said in (
            (0, "BOOLEAN", "'smoker' must be (VARCHAR, not BOOLEAN|text, not boolean)"),
            (1, "INTEGER", "'agrees' must be (VARCHAR, not INTEGER|text, not integer)"),
            (2, "NUMERIC(9, 2)", "'ward' must be (VARCHAR, not DECIMAL|text, not numeric)"),
            (3, "BIGINT", "'zip' must be (VARCHAR, not BIGINT|text, not bigint)"),
        ):
            types = [other if index == place else fit for index, fit in enumerate(fits)]
            _make_words(connection, types)
            with pytest.raises(Exception, match=said):
                connection.execute(text).fetchall()


def _make_words(connection: Any, types: list[str]) -> None:
    """Fill a table of these types with two rows. The first row is in every set of categories."""
    names = ("smoker", "agrees", "ward", "zip")
    connection.execute("DROP TABLE IF EXISTS data")
    listed = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    connection.execute(f"CREATE TABLE data ({listed})")
    agrees = ("'1'", "'0'") if types[1] == "INTEGER" else ("'true'", "'false'")
    for row, smoker in enumerate(("yes", "no")):
        cells = f"'{smoker}', {agrees[row]}, '{2 - row}', '{(12345, 99999)[row]}'"
        connection.execute(f"INSERT INTO data VALUES ({cells})")


@pytest.mark.parametrize("target", TYPES)
def test_the_statement_lists_the_type_of_each_column(target: str) -> None:
    export = dln.export(CIRCUIT, to=target)
    for column in export.inputs:
        assert f"--   {column.column!r}: {column.type}\n" in export.text


def test_a_collation_does_not_merge_categories() -> None:
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
