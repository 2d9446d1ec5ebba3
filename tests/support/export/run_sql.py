"""Run exported SQL in SQLite, in DuckDB and in a PostgreSQL server."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dln
from dln.core.literals import Column
from dln.exporters.categories import holds_numbers, spell
from dln.exporters.sql_labels import INTEGERS
from dln.exporters.text import label_words
from tests.support.export.nasty import Answers, Case
from tests.support.export.postgres import postgresql
from tests.support.tools import find_module

ORDER = "order of rows"


def run_sqlite(cases: Sequence[Case], folder: Path) -> list[Answers]:
    with sqlite3.connect(":memory:") as connection:
        return [_answer(case, "sqlite", connection.execute, _fill_sqlite) for case in cases]


def run_duckdb(cases: Sequence[Case], folder: Path) -> list[Answers]:
    find_module("duckdb")
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute("SET threads = 1")
        return [
            _answer(
                case, "duckdb", connection.execute, lambda run, case: _register(connection, case)
            )
            for case in cases
        ]


def run_postgresql(cases: Sequence[Case], folder: Path) -> list[Answers]:
    with postgresql() as connection, connection.cursor() as cursor:

        def run(text: str) -> Any:
            return cursor.execute(text.encode())

        return [
            _answer(case, "postgresql", run, lambda run, case: _fill_postgresql(cursor, case))
            for case in cases
        ]


def without_nul(case: Case) -> Case:
    """Remove NUL characters, which text in PostgreSQL cannot contain."""
    rows = [
        [None if isinstance(cell, str) and "\0" in cell else cell for cell in row]
        for row in case.rows
    ]
    return Case(case.circuit, rows)


def _answer(
    case: Case, target: str, run: Callable[..., Any], fill: Callable[[Any, Case], None]
) -> Answers:
    proba = case.has_table
    export = dln.export(case.circuit, to=target, view="answers", explain=True, proba=proba)
    fill(run, _read_only(case, export))
    run(export.text)
    answer = "prediction" if case.predicts_number else "predicted_class"
    n_shares = case.circuit.readout.n_outputs * proba
    shares = [f", probability_{number}" for number in range(n_shares)]
    columns = f"{answer}, explanation{''.join(shares)}"
    said = run(f'SELECT {columns} FROM answers ORDER BY "{ORDER}"').fetchall()
    run("DROP VIEW answers")
    alone = dln.export(case.circuit, to=target).text  # the SELECT by itself
    assert len(run(alone).fetchall()) == len(case.rows)
    parts = [json.loads(row[1]) for row in said]
    if case.predicts_number:
        points = [[part["points"]] for part in parts]
        return Answers(
            [row[0] for row in said],
            points,
            [[rule - 1 for rule in part["rules"]] for part in parts],
        )
    labels = expected_labels(case)
    return Answers(
        [labels.index(row[0]) for row in said],
        [part["votes"] for part in parts],
        [[rule - 1 for rule in part["rules"]] for part in parts],
        [list(row[2:]) for row in said] if proba else None,
    )


def _read_only(case: Case, export: dln.Export) -> Case:
    """Remove the columns that the export does not read: a database may not allow their names."""
    read = [x.column for x in export.inputs]
    kept = [index for index, x in enumerate(case.circuit.columns) if x.name in read]
    columns = tuple(case.circuit.columns[index] for index in kept)
    rows = [[row[index] for index in kept] for row in case.rows]
    return Case(dln.Circuit(columns, (), (), (), (0,), ("none",)), rows)


def expected_labels(case: Case) -> list[Any]:
    """Return the labels as the database returns them."""
    classes = case.circuit.classes
    kinds = {type(label) for label in classes}
    if kinds in ({float}, {bool}) or (kinds == {int} and all(x in INTEGERS for x in classes)):
        return list(classes)
    return [label_words(label) for label in classes]


def _cell(cell: Any, column: Column) -> Any:
    if cell is None or column.kind != "category":
        return cell
    if holds_numbers(column):
        return None if isinstance(cell, str) else float(cell)
    return spell(cell)


def _fill_sqlite(run: Callable[..., Any], case: Case) -> None:
    columns = case.circuit.columns
    names = ", ".join(_name(column.name) for column in columns)
    run("DROP TABLE IF EXISTS data")
    run(f'CREATE TABLE data ("{ORDER}" INTEGER{", " if columns else ""}{names})')
    for number, row in enumerate(case.rows):
        cells = [_sqlite_cell(cell, column) for cell, column in zip(row, columns, strict=True)]
        run(f"INSERT INTO data VALUES ({', '.join('?' * (1 + len(cells)))})", (number, *cells))


def _sqlite_cell(cell: Any, column: Column) -> Any:
    if isinstance(cell, datetime.datetime):
        tick = datetime.timedelta(microseconds=1)
        return (cell - datetime.datetime(1970, 1, 1)) // tick / 1e6
    return _cell(cell, column)


def _register(connection: Any, case: Case) -> None:
    import pyarrow as pa

    types = {
        "number": pa.float64(),
        "integer": pa.int64(),
        "boolean": pa.bool_(),
        "date": pa.timestamp("us"),
    }
    arrays = {ORDER: pa.array(range(len(case.rows)))}
    for index, column in enumerate(case.circuit.columns):
        words = pa.float64() if holds_numbers(column) else pa.string()
        cells = [_cell(row[index], column) for row in case.rows]
        arrays[column.name] = pa.array(cells, types.get(column.kind, words))
    connection.register("data", pa.table(arrays))


def _fill_postgresql(cursor: Any, case: Case) -> None:
    types = {
        "number": "double precision",
        "integer": "bigint",
        "boolean": "boolean",
        "date": "timestamp",
    }
    columns = case.circuit.columns
    listed = [f'"{ORDER}" integer'] + [
        f"{_name(x.name)} " + types.get(x.kind, "double precision" if holds_numbers(x) else "text")
        for x in columns
    ]
    cursor.execute("DROP TABLE IF EXISTS data")
    cursor.execute(f"CREATE TABLE data ({', '.join(listed)})".encode())
    rows = [
        (number, *(_cell(cell, column) for cell, column in zip(row, columns, strict=True)))
        for number, row in enumerate(case.rows)
    ]
    marks = ", ".join(["%s"] * (1 + len(columns)))
    cursor.executemany(f"INSERT INTO data VALUES ({marks})", rows)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
