"""Names in the user's database that also occur in the exported SQL do not change the answer.

The names come from the SQL itself: each word, quoted name, text and number in it becomes a column
of the table that is read, a table and a view, in several letter cases.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import dln
from dln import GATES, Above, Among, Circuit, Column, Missing, Node, Rule
from tests.support.export.sql_engines import DATABASES, connect, quoted

LITERALS = (
    Above(0, 0.5),
    Above(1, 2.0),
    Above(2, 0.5),
    Above(3, 86_400.0),
    Among(4, (1,)),
    Among(5, (0,)),
    *(Missing(column) for column in range(6)),
)
N_LITERALS = len(LITERALS)
CIRCUIT = Circuit(
    (
        Column("amount", "number"),
        Column("visits", "integer"),
        Column("smoker", "boolean"),
        Column("since", "date"),
        Column("size", "category", (1, 2.5)),
        Column("ward", "category", ("yes", "no")),
    ),
    LITERALS,
    (
        *(Node(gate, 0, 1) for gate in GATES),
        *(Node(GATES[6], N_LITERALS + number, 2 + number % 4) for number in range(16)),
    ),
    tuple(Rule(wire, (wire % 3, wire % 4 - 1)) for wire in range(2, N_LITERALS + 32)),
    (0, 1),
    (False, True),
)
TYPES = {
    "sqlite": "REAL, INTEGER, INTEGER, TEXT, REAL, TEXT",
    "duckdb": "DOUBLE, BIGINT, BOOLEAN, TIMESTAMP, DOUBLE, VARCHAR",
    "postgresql": "double precision, bigint, boolean, timestamp, double precision, text",
    "mysql": "DOUBLE, BIGINT, BOOLEAN, DATETIME(6), DOUBLE, VARCHAR(99)",
}
DAY = datetime.datetime(1970, 1, 3)
ROWS = [
    [0.75, 3, True, DAY, 2.5, "yes"],
    [0.25, 1, False, DAY - datetime.timedelta(days=400), 1.0, "no"],
    [None, None, None, None, None, None],
    [0.75, None, True, None, 1.0, "never seen"],
]
LETTER_CASES: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper, str.title)


def words_of(text: str) -> list[str]:
    """Return every name, literal and keyword of a statement, without its comments."""
    code = re.sub(r"--[^\n]*", "", text)
    tokens = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[A-Za-z_]\w*|\d[\w.]*"""
    return [token.strip("'\"`") for token in re.findall(tokens, code)]


def test_the_words_of_a_statement_are_found() -> None:
    text = "SELECT \"a b\", 'x y', 9e999, COALESCE(c0 > 1.5, FALSE) -- not\nFROM s0"
    found = ["SELECT", "a b", "x y", "9e999", "COALESCE", "c0", "1.5", "FALSE", "FROM", "s0"]
    assert words_of(text) == found


def other_names(text: str, letter_case: Callable[[str], str]) -> list[str]:
    """Return the words of a statement as names of columns beside those of the circuit."""
    taken = {column.name for column in CIRCUIT.columns}
    found: dict[str, str] = {}
    for word in words_of(text):
        name = letter_case(word[:60])  # PostgreSQL keeps 63 bytes of a name
        if name and name.lower() not in taken:
            found.setdefault(name.lower(), name)
    return list(found.values())


def make_table(connection: Any, target: str, names: Sequence[str]) -> None:
    """Fill a table with each row twice: with 0 and with 1 in all columns of these names."""
    columns = [
        f"{quoted(column.name)} {kind}"
        for column, kind in zip(CIRCUIT.columns, TYPES[target].split(", "), strict=True)
    ]
    columns += [f"{quoted(name)} INTEGER" for name in names]
    connection.execute("DROP TABLE IF EXISTS data")
    connection.execute(f"CREATE TABLE data ({', '.join(columns)})")
    for row in ROWS:
        for other in "01":
            cells = ", ".join([*map(literal, row), *[other] * len(names)])
            connection.execute(f"INSERT INTO data VALUES ({cells})")


def literal(cell: Any) -> str:
    if cell is None:
        return "NULL"
    return str(cell).upper() if isinstance(cell, (bool, int, float)) else f"'{cell}'"


EXPECTED = [
    (label, votes)
    for label, votes in zip(
        CIRCUIT.predict(ROWS).tolist(), CIRCUIT.votes(ROWS).tolist(), strict=True
    )
    for _ in "01"
]


def answers(connection: Any, query: str) -> list[tuple[Any, Any]]:
    rows = connection.execute(query).fetchall()
    return [(row[-2], json.loads(row[-1])["votes"]) for row in rows]


def test_both_classes_are_expected() -> None:
    assert {label for label, _ in EXPECTED} == {False, True}


@pytest.mark.parametrize("target", DATABASES)
def test_columns_named_like_parts_of_the_statement_do_not_change_the_answer(target: str) -> None:
    text = dln.export(CIRCUIT, to=target, explain=True).text
    with connect(target) as connection:
        for letter_case in LETTER_CASES:
            names = other_names(text, letter_case)
            assert len(names) > 50
            make_table(connection, target, names)
            assert answers(connection, text) == EXPECTED, letter_case


@pytest.mark.parametrize("target", DATABASES)
def test_the_circuit_may_read_a_column_named_like_a_part_of_the_statement(target: str) -> None:
    """Each word of the statement is a column that the circuit reads."""
    text = dln.export(CIRCUIT, to=target).text
    names = [name for name in other_names(text, str.lower) if name != "predicted_class"]
    if target == "postgresql":
        names += [name.upper() for name in names if not name.isupper() and name.isalpha()]
    literals = tuple(Above(column, 0.5) for column in range(len(names)))
    rules = tuple(Rule(wire, (wire % 3, 1)) for wire in range(len(names)))
    columns = tuple(Column(name, "number") for name in names)
    circuit = Circuit(columns, literals, (), rules, (0, 0), (False, True))
    rows = [[float(place % step == 0) for place in range(len(names))] for step in range(1, 9)]
    with connect(target) as connection:
        listed = ", ".join(f"{quoted(name)} {TYPES[target].split(',')[0]}" for name in names)
        connection.execute(f"CREATE TABLE data ({listed})")
        for row in rows:
            connection.execute(f"INSERT INTO data VALUES ({', '.join(map(str, row))})")
        found = connection.execute(dln.export(circuit, to=target).text).fetchall()
        assert [row[-1] for row in found] == circuit.predict(rows).tolist()


SMALL = Circuit(
    CIRCUIT.columns, LITERALS[:6], (), (Rule(0, (0, 1)), Rule(5, (0, 1))), (0, 0), (0, 1)
)


@pytest.mark.parametrize("target", DATABASES)
def test_tables_and_views_may_be_named_like_parts_of_the_statement(target: str) -> None:
    names = other_names(dln.export(SMALL, to=target, view="v").text, str)
    names = [name for name in names if name != "data" and not name[0].isdigit()]
    expected = [label for label in SMALL.predict(ROWS).tolist() for _ in "01"]
    with connect(target) as connection:
        make_table(connection, target, ())
        for name in names:  # all of these tables exist at the same time
            connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM data")
        for name in names:
            query = dln.export(SMALL, to=target, table=name).text
            assert [row[-1] for row in connection.execute(query).fetchall()] == expected, name
        for name in names:
            connection.execute(f"DROP TABLE {quoted(name)}")
            connection.execute(dln.export(SMALL, to=target, view=name).text)
            found = connection.execute(f"SELECT predicted_class FROM {quoted(name)}").fetchall()
            assert [row[-1] for row in found] == expected, name


@pytest.mark.parametrize("target", DATABASES)
def test_a_view_fails_where_the_table_has_a_column_named_like_the_answer(target: str) -> None:
    """A query of the view by that name would read the column of the table."""
    with connect(target) as connection:
        for name, explain in (("predicted_class", False), ("explanation", True)):
            view = dln.export(SMALL, to=target, view="risk", explain=explain).text
            connection.execute("DROP VIEW IF EXISTS risk")
            make_table(connection, target, (name,))
            with pytest.raises(
                Exception, match=rf"(?i)(ambiguous|duplicate).*{name}|{name}.* more than once"
            ):
                _query_view(connection, view, name)


def _query_view(connection: Any, view: str, name: str) -> None:
    connection.execute(view)  # SQLite resolves the names of a view only when it is queried
    connection.execute(f"SELECT {name} FROM risk").fetchall()
