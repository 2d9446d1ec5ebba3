"""SQL for BigQuery (GoogleSQL)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dln.exporters.databases.database import (
    LARGEST_EXP,
    Database,
    Limits,
    StageColumn,
    TextFunctions,
)

_NUMBER = "IF(IS_NAN(CAST({x} AS FLOAT64)), NULL, CAST({x} AS FLOAT64))"


def _quote(text: str) -> str:
    r"""Write text with escapes: a literal in quotes ends with its line.

    >>> print(_quote("a'b\n"))
    'a\'b\u000a'
    """
    escaped = (
        f"\\{letter}"
        if letter in "'\\"
        else letter
        if letter.isprintable()
        else f"\\u{ord(letter):04x}"
        if ord(letter) < 2**16
        else f"\\U{ord(letter):08x}"
        for letter in text
    )
    return f"'{''.join(escaped)}'"


def _join_stage(columns: Sequence[StageColumn], name: str) -> str:
    listed = ",\n    ".join(f"{column.value} AS {column.name}" for column in columns)
    return f"CROSS JOIN UNNEST([STRUCT(\n    {listed}\n)]) AS {name}"


BIGQUERY = Database(
    title="BigQuery",
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": "CAST(CAST({x} AS INT64) AS FLOAT64)",
        "date": "CAST(UNIX_MICROS(TIMESTAMP({x})) AS FLOAT64) / 1e6",
    },
    # Only text has a collation, so columns of other types are refused.
    text="COLLATE({x}, '')",
    number=lambda value: f"CAST('{value!r}' AS FLOAT64)",
    infinity="CAST('inf' AS FLOAT64)",
    exp=f"IF({{x}} > {LARGEST_EXP}, CAST('inf' AS FLOAT64), EXP({{x}}))",
    quote=_quote,
    special=re.compile("((?!))"),  # none: `quote` writes every character
    types={
        "number": "FLOAT64",
        "integer": "INT64",
        "boolean": "BOOL",
        "date": "DATE, DATETIME or TIMESTAMP",
        "category": "STRING",
    },
    notes=(
        "NULL and NaN are missing values. Columns of other types than STRING are refused where",
        "text is expected.",
    ),
    integer="INT64",
    texts=TextFunctions(cast="CAST({x} AS STRING)", tail="SUBSTR({x}, 2)"),
    name_quotes=("`", "`"),
    around="chain",
    stage=_join_stage,
    limits=Limits(
        deepest=50,
        stages=250,
        columns=10**4,
        name=300,
        name_unit="characters",
        # Inside backquotes, a backslash begins an escape.
        bad_name=re.compile(r"[\0-\x1f!\"$()*,./;?@\[\]\\^`{}~\x7f]"),
    ),
)
