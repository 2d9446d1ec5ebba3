"""SQL for PostgreSQL."""

from __future__ import annotations

from dln.exporters.databases.database import LARGEST_EXP, Database, Limits, quote


def _quote(text: str) -> str:
    """Quote text so that it means the same with and without standard_conforming_strings."""
    escaped = quote(text.replace("\\", "\\\\"))
    return f"E{escaped}" if "\\" in text else escaped


_NUMBER = "NULLIF(CAST({x} AS double precision), CAST('NaN' AS double precision))"

POSTGRESQL = Database(
    title="PostgreSQL",
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": "CAST(CAST({x} AS integer) AS double precision)",
        # The epoch of an infinite date is infinite and cannot be cast to bigint.
        "date": (
            "CASE WHEN isfinite({x}) THEN"
            " CAST(CAST(EXTRACT(EPOCH FROM {x}) * 1000000 AS bigint) AS double precision)"
            " / CAST(1000000 AS double precision)"
            " ELSE CAST(EXTRACT(EPOCH FROM {x}) AS double precision) END"
        ),
    },
    text='CAST({x} AS text) COLLATE "C"',
    # PostgreSQL has no function that raises an error, so a failing cast shows the message.
    strict_text=(
        "CASE WHEN CAST(pg_typeof({x}) AS text) IN ({types})"
        " THEN CAST(CAST({message} || pg_typeof({x}) AS boolean) AS text) ELSE {plain} END"
    ),
    other_types={
        "boolean": ("boolean",),
        "integer": ("smallint", "integer", "bigint"),
        "number": ("real", "double precision", "numeric"),
        "date": (
            *("date", "time without time zone"),
            *("timestamp without time zone", "timestamp with time zone"),
        ),
    },
    number=lambda value: f"CAST('{value!r}' AS double precision)",
    infinity="CAST('Infinity' AS double precision)",
    # It raises an error for a result that is infinite, zero or below the normal numbers.
    exp=(
        f"CASE WHEN {{x}} > {LARGEST_EXP} THEN CAST('Infinity' AS double precision)"
        " WHEN {x} < -745.1 THEN 0 WHEN {x} < -708 THEN exp({x} / 2) * exp({x} / 2)"
        " ELSE exp({x}) END"
    ),
    quote=_quote,
    types={
        "number": "double precision",
        "integer": "bigint",
        "boolean": "boolean",
        "date": "date or timestamp",
        "category": "text",
    },
    notes=("NULL and NaN are missing values. Columns of other types are converted or refused.",),
    around="lateral",
    fence="OFFSET 0",
    stored_every=4,
    limits=Limits(deepest=100, stages=1000, columns=1600, name=63),
    folds_case=False,
)
