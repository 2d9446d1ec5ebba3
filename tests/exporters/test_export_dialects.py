"""SQL dialects beyond the conformance suite: syntax, comparison of text, types, and views."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import dln
from dln import Above, Among, Circuit, Column, Logic, Missing, Rule, Score
from dln.exporters.databases import DATABASES, DatabaseName
from tests.exporters.test_export_conformance import fitting
from tests.exporters.test_export_sql import places
from tests.support.export.mysql import mysql
from tests.support.export.nasty import Case, drawn_cases, fixed_cases, number_cases
from tests.support.export.run_sql import to_duckdb
from tests.support.export.spark import spark
from tests.support.tools import find_module

NAMES = {"postgresql": "postgres"}  # sqlglot's names, where they differ


def cases() -> tuple[Case, ...]:
    return (*fixed_cases()[2:], *drawn_cases()[::11], *number_cases()[::9])


@pytest.mark.parametrize("target", DATABASES)
def test_sqlglot_reads_every_statement_as_one_view(target: DatabaseName) -> None:
    find_module("sqlglot")
    from sqlglot import ErrorLevel, exp, parse

    for case in fitting(target, cases()):
        found = dln.export(
            case.circuit, to=target, view="answers", explain=True, proba=case.has_table
        )
        (tree,) = parse(found.text, NAMES.get(target, target), error_level=ErrorLevel.RAISE)
        assert isinstance(tree, exp.Create)
        assert tree.kind == "VIEW"
        answer = "prediction" if case.predicts_number else "predicted_class"
        assert [x.alias_or_name for x in tree.expression.selects][1:3] == [answer, "explanation"]


WORDS = ("Red", "red", "red ", "réd", "red\t", "")
COLOURS = Circuit(
    (Column("colour", "category", WORDS),),
    (*(Among(0, (code,)) for code in range(len(WORDS))), Missing(0)),
    (),
    tuple(Rule(wire, (1,)) for wire in range(len(WORDS) + 1)),
    (0,),
    ("a",),
)
FIRED = [[0], [1], [2], [3], [4], [5], [], [6]]
CELLS = (*WORDS, "RED", None)


@pytest.mark.parametrize(
    "collation", ["utf8mb4_general_ci", "utf8mb4_unicode_ci", "latin1_swedish_ci"]
)
def test_letter_case_accents_and_blanks_count_in_mysql(collation: str) -> None:
    text = dln.export(COLOURS, to="mysql", explain=True).text
    with mysql() as connection:
        kind = f"VARCHAR(9) CHARACTER SET {collation.partition('_')[0]} COLLATE {collation}"
        connection.execute(f"CREATE TABLE data (colour {kind})")
        connection.executemany("INSERT INTO data VALUES (%s)", [(cell,) for cell in CELLS])
        assert places(connection.execute(text).fetchall()) == FIRED


def test_blanks_count_in_sql_server() -> None:
    """All collations of SQL Server ignore blanks at the end, so a mark follows the text."""
    text = dln.export(COLOURS, to="tsql").text
    assert "(dln_row.[colour] + N'|') COLLATE Latin1_General_100_BIN2 IN (N'red |')" in text
    assert "CONCAT(CAST(N'' AS NVARCHAR(MAX)), N'red', NCHAR(9), N'|')" in text


MANY = Circuit(
    (Column("x", "category", tuple(float(k) for k in range(30))),),
    (Among(0, tuple(range(20))),),
    (),
    (Rule(0, (0, 1)),),
    (0, 0),
    (False, True),
)


def test_minus_zero_is_in_a_long_list_in_spark() -> None:
    """Spark makes a hash table of a long list, in which -0.0 and 0.0 differ."""
    session = spark()
    rows = session.createDataFrame([(-0.0,), (19.0,), (20.0,), (None,)], "x DOUBLE")
    rows.createOrReplaceTempView("data")
    found = session.sql(dln.export(MANY, to="spark").text.rstrip("\n;")).collect()
    assert [row[-1] for row in found] == [True, True, False, False]


def test_spark_creates_a_view_and_refuses_other_types_and_second_names() -> None:
    session = spark()
    session.sql("CREATE TABLE patients (colour STRING, age INT) USING parquet")
    session.sql("INSERT INTO patients VALUES ('Red', 1), ('red ', 2), (NULL, 3)")
    session.sql(
        dln.export(COLOURS, "spark", table="patients", view="v", explain=True).text.rstrip("\n;")
    )
    found = session.sql("SELECT * FROM v ORDER BY age").collect()
    assert places(found) == [[0], [2], [6]]
    assert found[0].asDict().keys() == {"colour", "age", "predicted_class", "explanation"}
    session.sql("DROP VIEW v")
    session.sql("DROP TABLE patients")
    session.sql("SELECT true AS colour").createOrReplaceTempView("data")
    with pytest.raises(Exception, match="column 'colour' must be STRING, not boolean"):
        session.sql(dln.export(COLOURS, to="spark", explain=True).text.rstrip("\n;")).collect()
    session.sql("CREATE TABLE twice (colour STRING, Predicted_Class INT) USING parquet")
    view = dln.export(COLOURS, to="spark", table="twice", view="v").text.rstrip("\n;")
    with pytest.raises(Exception, match=r"COLUMN_ALREADY_EXISTS.*predicted_class"):
        session.sql(view)
    session.sql("DROP TABLE twice")


def test_dates_of_spark_are_moments_or_utc() -> None:
    """The session is in New York. Only a TIMESTAMP depends on it."""
    noon = datetime(2024, 3, 31, 12, tzinfo=UTC).timestamp()
    circuit = Circuit(
        (Column("d", "date"),),
        (Above(0, noon), Missing(0)),
        (),
        (Rule(0, (1,)), Rule(1, (1,))),
        (0,),
        ("a",),
    )
    text = dln.export(circuit, to="spark", explain=True).text.rstrip("\n;")
    session = spark()
    for kind, cells, expected in (
        ("DATE", ("2024-03-31", "2024-04-01"), [[], [0], [1]]),
        ("TIMESTAMP_NTZ", ("2024-03-31 12:00:00", "2024-03-31 12:00:00.000001"), [[], [0], [1]]),
        ("TIMESTAMP_LTZ", ("2024-03-31 08:00:00", "2024-03-31 08:00:00.000001"), [[], [0], [1]]),
    ):
        rows = [f"(CAST('{cell}' AS {kind}))" for cell in cells] + [f"(CAST(NULL AS {kind}))"]
        session.sql(f"SELECT d FROM VALUES {', '.join(rows)} AS t (d)").createOrReplaceTempView(
            "data"
        )
        assert places(session.sql(text).collect()) == expected, kind


def test_a_prediction_beyond_float64_is_null_where_there_is_no_infinity() -> None:
    readout = Score((Rule(0, (800,)), Rule(1, (-800,))), (0,), link="log")
    logic = Logic((Column("x", "number"),), (Above(0, 0.5), Missing(0)), ())
    text = dln.export(Circuit(logic=logic, readout=readout), to="mysql").text
    with mysql() as connection:
        connection.execute("CREATE TABLE data (x DOUBLE)")
        connection.execute("INSERT INTO data VALUES (1), (0), (NULL)")
        found = [row[-1] for row in connection.execute(text).fetchall()]
    assert found == [None, 1.0, 0.0]


def test_texts_with_quotes_and_backslashes_survive_translation() -> None:
    """DuckDB reads the literals of the other dialects as sqlglot does: the same text."""
    find_module("sqlglot")
    find_module("duckdb")
    import duckdb

    texts = ("it's", "a\\b", "\\'", "`x`", "line\nbreak", "é🚀", "${x}", "%s", '"')
    circuit = Circuit((), (), (), (), tuple(range(len(texts))), texts)
    for target in ("bigquery", "snowflake", "tsql", "spark", "mysql"):
        database = DATABASES[target]
        for text in circuit.classes:
            query = to_duckdb(f"SELECT {database.literal(str(text))}", target)
            if "CONVERT" in str(database.literal(str(text))):
                continue  # hexadecimal; MariaDB itself reads it in the conformance suite
            assert duckdb.execute(query).fetchone() == (text,), (target, query)
