"""SQL for DuckDB."""

from __future__ import annotations

from dln.exporters.databases.database import Database, Limits, quote

_NUMBER = "NULLIF(CAST({x} AS DOUBLE), CAST('NaN' AS DOUBLE))"

DUCKDB = Database(
    title="DuckDB",
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": _NUMBER,
        # The epoch of an infinite date is NULL, which would count as missing.
        "date": (
            "CASE {x} WHEN 'infinity' THEN CAST('Infinity' AS DOUBLE)"
            " WHEN '-infinity' THEN CAST('-Infinity' AS DOUBLE)"
            " ELSE CAST(epoch_us({x}) AS DOUBLE) / CAST(1000000 AS DOUBLE) END"
        ),
    },
    text="CAST({x} AS VARCHAR)",
    strict_text=(
        "CASE WHEN split_part(typeof({x}), '(', 1) IN ({types})"
        " THEN CAST(error({message} || typeof({x})) AS VARCHAR) ELSE {plain} END"
    ),
    other_types={
        "boolean": ("BOOLEAN",),
        "integer": (
            *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
            *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
        ),
        "number": ("FLOAT", "DOUBLE", "DECIMAL"),
        "date": (
            *("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
            *("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
        ),
    },
    number=lambda value: f"CAST('{value!r}' AS DOUBLE)",
    infinity="CAST('Infinity' AS DOUBLE)",
    exp="exp({x})",
    character="chr({code})",
    quote=quote,
    types={
        "number": "DOUBLE",
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "date": "DATE or TIMESTAMP",
        "category": "VARCHAR",
    },
    notes=("NULL and NaN are missing values. Columns of other types are converted or refused.",),
    around="struct",
    # The plain alias would be a column of that name, if the table has one.
    whole="struct_pack(*COLUMNS({row}.*))",
    # It limits nested expressions and subqueries to 1,000.
    limits=Limits(deepest=100, stages=900, columns=10**6, name=10**6),
    refuses_duplicates=False,
)
