"""SQL for Spark SQL and Databricks."""

from __future__ import annotations

import re

from dln.exporters.databases.database import Database, Limits, TextFunctions

# Adding 0 turns -0.0 into 0.0: a long list of IN is a hash table in which they differ.
_NUMBER = "NULLIF(CAST({x} AS DOUBLE), CAST('NaN' AS DOUBLE)) + CAST('0' AS DOUBLE)"
_WALL_CLOCK = "CAST({x} AS TIMESTAMP_NTZ)"

SPARK = Database(
    title="Spark SQL",
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": _NUMBER,
        # A TIMESTAMP is a moment. Other types have no time zone and are read as UTC.
        "date": (
            "CAST(CASE WHEN typeof({x}) = 'timestamp' THEN unix_micros(CAST({x} AS TIMESTAMP_LTZ))"
            " ELSE CAST(unix_date(CAST({x} AS DATE)) AS BIGINT) * 86400000000"
            f" + CAST(hour({_WALL_CLOCK}) AS BIGINT) * 3600000000"
            f" + CAST(minute({_WALL_CLOCK}) AS BIGINT) * 60000000"
            f" + CAST(EXTRACT(SECOND FROM {_WALL_CLOCK}) * 1000000 AS BIGINT) END AS DOUBLE)"
            " / CAST('1000000' AS DOUBLE)"
        ),
    },
    text="CAST({x} AS STRING)",
    strict_text=(
        "CASE WHEN split_part(typeof({x}), '(', 1) IN ({types})"
        " THEN CAST(raise_error({message} || typeof({x})) AS STRING) ELSE {plain} END"
    ),
    other_types={
        "boolean": ("boolean",),
        "integer": ("tinyint", "smallint", "int", "bigint"),
        "number": ("float", "double", "decimal"),
        "date": ("date", "timestamp", "timestamp_ntz"),
    },
    number=lambda value: f"CAST('{value!r}' AS DOUBLE)",
    infinity="CAST('Infinity' AS DOUBLE)",
    exp="exp({x})",
    quote=lambda text: f"'{text}'",
    # A setting turns escapes off, and ${...} is replaced by variables, so nothing is escaped.
    special=re.compile(r"([\0-\x1f'\\$])"),
    character="char({code})",
    types={
        "number": "DOUBLE",
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "date": "DATE, TIMESTAMP or TIMESTAMP_NTZ",
        "category": "STRING",
    },
    notes=(
        "Runs in Spark from 3.4. NULL and NaN are missing values. Columns of other types are",
        "converted or refused.",
    ),
    texts=TextFunctions(cast="CAST({x} AS STRING)"),
    name_quotes=("`", "`"),
    around="struct",
    whole="struct({row}.*)",
    limits=Limits(deepest=50, stages=250, columns=10**6, name=10**6),
)
