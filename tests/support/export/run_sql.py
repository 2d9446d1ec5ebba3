"""Run exported SQL in SQLite, in DuckDB, in Spark and in servers of PostgreSQL and MariaDB."""

from __future__ import annotations

import datetime
import json
import math
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dln
from dln.core.literals import Column
from dln.exporters.categories import holds_numbers, spell
from dln.exporters.databases import DATABASES, DatabaseName
from dln.exporters.sql_labels import INTEGERS
from dln.exporters.text import label_words
from tests.support.export.mysql import Connection, mysql
from tests.support.export.nasty import Answers, Case
from tests.support.export.postgres import postgresql
from tests.support.export.spark import spark
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


def run_mariadb(cases: Sequence[Case], folder: Path) -> list[Answers]:
    with mysql() as connection:
        return [
            _answer(
                case, "mysql", connection.execute, lambda run, case: _fill_mysql(connection, case)
            )
            for case in cases
        ]


def run_spark(cases: Sequence[Case], folder: Path) -> list[Answers]:
    session = spark()

    class Result:
        def __init__(self, text: str) -> None:
            self.fetchall = session.sql(text).collect

    return [
        _answer(case, "spark", Result, lambda run, case: _show(session, case)) for case in cases
    ]


def run_translated(target: DatabaseName, dialect: str) -> Callable[..., list[Answers]]:
    """Return a function that runs SQL for another database in DuckDB, translated by sqlglot."""

    def run(cases: Sequence[Case], folder: Path) -> list[Answers]:
        find_module("duckdb")
        find_module("sqlglot")
        import duckdb

        with duckdb.connect(":memory:") as connection:
            connection.execute("SET threads = 1")
            return [
                _answer(
                    case,
                    target,
                    lambda text: connection.execute(to_duckdb(text, dialect)),
                    lambda run, case: _register(connection, case),
                )
                for case in cases
            ]

    run.__name__ = "run_in_duckdb"
    return run


def to_duckdb(text: str, dialect: str) -> str:
    """Translate a statement, which sqlglot must understand."""
    from sqlglot import ErrorLevel, exp, parse_one

    def adapt(node: Any) -> Any:
        if isinstance(node, exp.National):  # N'text'
            return exp.Literal.string(node.name)
        if isinstance(node, exp.Add) and isinstance(node.expression, exp.National):
            text = exp.Literal.string(node.expression.name)
            return exp.DPipe(this=node.this, expression=text)
        if isinstance(node, exp.DataType):
            node.set("expressions", [])  # NVARCHAR(MAX)
            if node.this == exp.DataType.Type.BIT:  # a string of bits in DuckDB
                node.set("this", exp.DataType.Type.BOOLEAN)
        if isinstance(node, exp.Join) and isinstance(node.this, exp.Lateral):
            node.set("kind", "CROSS")  # CROSS APPLY would become an inner join
            node.this.set("cross_apply", None)
        return node

    def without_collation(node: Any) -> Any:  # DuckDB compares bytes in any case
        return node.this if isinstance(node, exp.Collate) else node

    text = text.replace("NCHAR(", "CHAR(")  # sqlglot does not know it
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)  # sqlglot reads and writes nested expressions by recursion
    try:
        tree = parse_one(text, dialect=dialect).transform(adapt).transform(without_collation)
        return tree.sql("duckdb", unsupported_level=ErrorLevel.IGNORE, comments=False)
    finally:
        sys.setrecursionlimit(usual)


def without_nul(case: Case) -> Case:
    """Remove NUL characters, which text in PostgreSQL cannot contain."""
    rows = [
        [None if isinstance(cell, str) and "\0" in cell else cell for cell in row]
        for row in case.rows
    ]
    return Case(case.circuit, rows)


def without_infinities(case: Case) -> Case:
    """Remove NaN and infinities, which numbers in MySQL cannot be."""
    rows = [
        [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row]
        for row in case.rows
    ]
    return Case(case.circuit, rows)


def _answer(
    case: Case, target: DatabaseName, run: Callable[..., Any], fill: Callable[[Any, Case], None]
) -> Answers:
    proba = case.has_table
    # Spark refuses permanent views of temporary tables; test_export_dialects.py creates one.
    view = "answers" if target in ("sqlite", "duckdb", "postgresql", "mysql") else None
    export = dln.export(case.circuit, to=target, view=view, explain=True, proba=proba)
    fill(run, _read_only(case, export))
    source = f"({_without_end(export.text)})"
    if view is not None:
        run(export.text)
        source = view
    answer = "prediction" if case.predicts_number else "predicted_class"
    n_shares = case.circuit.readout.n_outputs * proba
    shares = [f", probability_{number}" for number in range(n_shares)]
    columns = f"{answer}, explanation{''.join(shares)}"
    order = DATABASES[target].name(ORDER)
    said = run(f"SELECT {columns} FROM {source} ORDER BY {order}").fetchall()
    if view is not None:
        run(f"DROP VIEW {view}")
    alone = _without_end(dln.export(case.circuit, to=target).text)  # the SELECT by itself
    assert len(run(f"SELECT {answer} FROM ({alone}) AS rows_").fetchall()) == len(case.rows)
    parts = [json.loads(row[1]) for row in said]
    if case.predicts_number:
        points = [[part["points"]] for part in parts]
        # A database without infinity says NULL.
        numbers = [math.inf if row[0] is None else row[0] for row in said]
        return Answers(numbers, points, [[rule - 1 for rule in part["rules"]] for part in parts])
    labels = expected_labels(case, target)
    return Answers(
        [labels.index(row[0]) for row in said],
        [part["votes"] for part in parts],
        [[rule - 1 for rule in part["rules"]] for part in parts],
        [list(row[2:]) for row in said] if proba else None,
    )


def _without_end(text: str) -> str:
    return text.rstrip().rstrip(";")


def _read_only(case: Case, export: dln.Export) -> Case:
    """Remove the columns that the export does not read: a database may not allow their names."""
    read = [x.column for x in export.inputs]
    kept = [index for index, x in enumerate(case.circuit.columns) if x.name in read]
    columns = tuple(case.circuit.columns[index] for index in kept)
    rows = [[row[index] for index in kept] for row in case.rows]
    return Case(dln.Circuit(columns, (), (), (), (0,), ("none",)), rows)


def expected_labels(case: Case, target: DatabaseName = "sqlite") -> list[Any]:
    """Return the labels as the database returns them; ONNX returns those of SQLite."""
    classes = case.circuit.classes
    kinds = {type(label) for label in classes}
    infinite = kinds == {float} and any(map(math.isinf, classes))  # type: ignore[arg-type]
    if infinite and DATABASES[target].infinity == "NULL":
        return [label_words(label) for label in classes]
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
    connection.register("data", _arrow(case))


def _show(session: Any, case: Case) -> None:
    table = _arrow(case)
    plain = [f"c{place}" for place in range(table.num_columns)]
    session.createDataFrame(table.rename_columns(plain)).createOrReplaceTempView("plain")
    # Only in SQL may a name contain a backquote.
    name = DATABASES["spark"].name
    listed = (f"{x} AS {name(y)}" for x, y in zip(plain, table.column_names, strict=True))
    session.sql(f"CREATE OR REPLACE TEMP VIEW data AS SELECT {', '.join(listed)} FROM plain")


def _arrow(case: Case) -> Any:
    import pyarrow as pa

    types = {
        "number": pa.float64(),
        "integer": pa.int64(),
        "boolean": pa.bool_(),
        "date": pa.timestamp("us"),
    }
    arrays = {ORDER: pa.array(range(len(case.rows)), pa.int64())}
    for index, column in enumerate(case.circuit.columns):
        words = pa.float64() if holds_numbers(column) else pa.string()
        cells = [_cell(row[index], column) for row in case.rows]
        arrays[column.name] = pa.array(cells, types.get(column.kind, words))
    return pa.table(arrays)


def _fill_mysql(connection: Connection, case: Case) -> None:
    types = {"number": "DOUBLE", "integer": "BIGINT", "boolean": "BOOLEAN", "date": "DATETIME(6)"}
    columns = case.circuit.columns
    name = DATABASES["mysql"].name
    listed = [f"{name(ORDER)} INT"] + [
        f"{name(x.name)} {types.get(x.kind, 'DOUBLE' if holds_numbers(x) else 'TEXT')}"
        for x in columns
    ]
    connection.execute("DROP TABLE IF EXISTS data")
    connection.execute(f"CREATE TABLE data ({', '.join(listed)}) ENGINE = MyISAM")
    rows = []
    for number, row in enumerate(case.rows):
        cells = (_cell(cell, column) for cell, column in zip(row, columns, strict=True))
        # The driver would round floats to 15 digits.
        rows.append((number, *(repr(x) if isinstance(x, float) else x for x in cells)))
    marks = ", ".join(["%s"] * (1 + len(columns)))
    connection.executemany(f"INSERT INTO data VALUES ({marks})", rows)


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
