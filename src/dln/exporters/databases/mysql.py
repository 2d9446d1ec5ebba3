"""SQL for MySQL from 8.0.17 and MariaDB from 10.6.

MariaDB has no lateral joins. Both databases have JSON_TABLE, which may read the tables before it,
so each stage is a JSON_TABLE of one row. Neither database has NaN or infinity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dln.exporters.databases.database import (
    BITS,
    LARGEST_EXP,
    Database,
    Limits,
    StageColumn,
    TextFunctions,
    number_with_exponent,
)

_NUMBER = "CAST({x} AS DOUBLE)"
_PLAIN = re.compile(r"[ -&(-\[\]-~]*")
_TYPES = {"bit": "INT", "integer": "BIGINT", "number": "DOUBLE"}


def _quote(text: str) -> str:
    """Write text so that it means the same in every SQL mode and character set of a connection.

    >>> print(_quote("light blue"), _quote("é'"))
    'light blue' CONVERT(X'c3a927' USING utf8mb4)
    """
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CONVERT(X'{text.encode().hex()}' USING utf8mb4)"


def _join_stage(columns: Sequence[StageColumn], name: str) -> str:
    values = ",\n    ".join(column.value for column in columns)
    listed = ", ".join(
        f"{column.name} {_TYPES[column.type]} PATH '$[{place}]'"
        for place, column in enumerate(columns)
    )
    return f"CROSS JOIN JSON_TABLE(JSON_ARRAY(\n    {values}\n), '$' COLUMNS ({listed})) AS {name}"


MYSQL = Database(
    title="MySQL",
    logic=BITS,
    wire="CASE WHEN {test} THEN 1 ELSE 0 END",
    holds="{wire} = 1",
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": _NUMBER,
        "date": (
            "CAST(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', {x}) AS DOUBLE)"
            " / 1000000e0"
        ),
    },
    # Other collations ignore letter case, accents or blanks at the end.
    text="CAST(CONVERT({x} USING utf8mb4) AS BINARY)",
    number=number_with_exponent,
    infinity="NULL",
    exp=f"CASE WHEN {{x}} <= {LARGEST_EXP} THEN EXP({{x}}) END",
    quote=_quote,
    special=re.compile("((?!))"),  # none: `quote` writes every character
    types={
        "number": "DOUBLE",
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "date": "DATE or DATETIME(6)",
        "category": "VARCHAR or TEXT",
    },
    notes=(
        "Runs in MySQL from 8.0.17 and MariaDB from 10.6. NULL is a missing value. Columns of",
        "other types are converted: text that is not a number is 0.",
    ),
    integer="SIGNED",
    texts=TextFunctions(
        cast="CAST({x} AS CHAR)",
        tail="SUBSTRING({x}, 2)",
        join=lambda texts: f"CONCAT({', '.join(texts)})",
    ),
    name_quotes=("`", "`"),
    around="chain",
    stage=_join_stage,
    # A join has at most 61 tables: the user's, the stages, the votes and six for probabilities. In
    # the default stack of MariaDB, expressions of 400 gates fail.
    limits=Limits(
        deepest=200,
        stages=53,
        columns=2000,
        name=64,
        name_unit="characters",
        bad_name=re.compile(r"[\0\U00010000-\U0010ffff]|[\t-\r ]\Z"),
    ),
)
