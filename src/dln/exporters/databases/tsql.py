"""SQL for SQL Server from 2016 and Azure SQL (T-SQL), which have no NaN and no infinity."""

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
    quote,
)

_NUMBER = "CAST({x} AS DOUBLE PRECISION)"


def _join(texts: Sequence[str]) -> str:
    """Join texts of any length: the sum of short texts ends after 8,000 bytes."""
    return f"CONCAT(CAST(N'' AS NVARCHAR(MAX)), {', '.join(texts)})"


def _join_stage(columns: Sequence[StageColumn], name: str) -> str:
    listed = ",\n    ".join(f"{column.value} AS {column.name}" for column in columns)
    return f"CROSS APPLY (SELECT\n    {listed}\n) AS {name}"


def _greatest(values: Sequence[str]) -> str:
    """Write the maximum of a table: the function GREATEST is new in SQL Server 2022."""
    rows = ", ".join(f"({value})" for value in values)
    return f"(SELECT MAX(dln_value) FROM (VALUES {rows}) AS dln_values (dln_value))"


TSQL = Database(
    title="SQL Server",
    logic=BITS,
    wire="CASE WHEN {test} THEN 1 ELSE 0 END",
    holds="{wire} = 1",
    labels=("CAST(0 AS BIT)", "CAST(1 AS BIT)"),
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": _NUMBER,
        "date": (
            "CAST(DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2), {x})"
            " AS DOUBLE PRECISION) / 1000000e0"
        ),
    },
    # Other collations ignore letter case. All ignore blanks at the end, so a mark follows them.
    text="({x} + N'|') COLLATE Latin1_General_100_BIN2",
    mark="|",
    number=number_with_exponent,
    infinity="NULL",
    exp=f"CASE WHEN {{x}} <= {LARGEST_EXP} THEN EXP({{x}}) END",
    quote=lambda text: f"N{quote(text)}",
    # A backslash at the end of a line would join it with the next line.
    special=re.compile(r"([\0-\x1f])"),
    character="NCHAR({code})",
    types={
        "number": "DOUBLE PRECISION",
        "integer": "BIGINT",
        "boolean": "BIT",
        "date": "DATE or DATETIME2",
        "category": "NVARCHAR",
    },
    notes=("Runs in SQL Server from 2016. NULL is a missing value.",),
    texts=TextFunctions(
        cast="CAST({x} AS NVARCHAR(MAX))",
        tail="SUBSTRING({x}, 2, 2147483647)",
        join=_join,
    ),
    name_quotes=("[", "]"),
    around="chain",
    stage=_join_stage,
    greatest=_greatest,
    limits=Limits(deepest=50, stages=250, columns=4000, name=128, name_unit="characters"),
)
