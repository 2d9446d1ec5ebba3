"""SQL for Snowflake."""

from __future__ import annotations

from collections.abc import Sequence

from dln.exporters.databases.database import LARGEST_EXP, Database, Limits, StageColumn, quote

_NUMBER = "NULLIF(CAST({x} AS DOUBLE), CAST('NaN' AS DOUBLE))"


def join_stage(columns: Sequence[StageColumn], name: str) -> str:
    """Join a row with a subquery that reads it."""
    listed = ",\n    ".join(f"{column.value} AS {column.name}" for column in columns)
    return f"CROSS JOIN LATERAL (SELECT\n    {listed}\n) AS {name}"


SNOWFLAKE = Database(
    title="Snowflake",
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": "CAST(CAST({x} AS INTEGER) AS DOUBLE)",
        "date": (
            "CAST(DATE_PART(EPOCH_MICROSECOND, CAST({x} AS TIMESTAMP_NTZ)) AS DOUBLE)"
            " / CAST('1000000' AS DOUBLE)"
        ),
    },
    text="COLLATE(CAST({x} AS VARCHAR), 'utf8')",
    number=lambda value: f"CAST('{value!r}' AS DOUBLE)",
    infinity="CAST('inf' AS DOUBLE)",
    exp=f"CASE WHEN {{x}} > {LARGEST_EXP} THEN CAST('inf' AS DOUBLE) ELSE EXP({{x}}) END",
    quote=lambda text: quote(text.replace("\\", "\\\\")),
    character="CHR({code})",
    types={
        "number": "DOUBLE",
        "integer": "INTEGER",
        "boolean": "BOOLEAN",
        "date": "DATE or TIMESTAMP_NTZ",
        "category": "VARCHAR",
    },
    notes=(
        "NULL and NaN are missing values. Columns of other types are converted. Names of columns",
        "are in quotes, so their letter case matters.",
    ),
    around="chain",
    stage=join_stage,
    limits=Limits(deepest=50, stages=250, columns=10**4, name=255, name_unit="characters"),
    folds_case=False,
    stored=str.upper,
)
