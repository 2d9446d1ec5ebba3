"""SQL for SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from dln.exporters.databases.database import LOGIC, Database, Limits, quote

_EXACT_INTEGER = 2**53
_EXACT_TENS = 15
_STEP = 40
_MOST_ARGUMENTS = 100


def exact_number(value: float) -> str:
    """Write a number exactly, even if the database reads decimals inexactly.

    SQLite reads some decimals as a neighbour of the nearest float64. Decimals that are exactly a
    float64 are safe, and so are quotients: the decimal as a fraction of integers, or, if it has too
    many digits, an integer and powers of two.

    >>> exact_number(54.5), exact_number(-0.1), exact_number(2.0**-60)
    ('54.5', '(-1 / 10.0)', '(1 / 1099511627776.0 / 1048576.0)')
    """
    decimal = Decimal(repr(value))
    sign, digits, exponent = decimal.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    if abs(whole) < _EXACT_INTEGER and -_EXACT_TENS <= exponent <= 0:
        if decimal == Decimal(value):
            return format(decimal, "f") if exponent else f"{whole}.0"
        return f"({whole} / {10**-exponent}.0)"
    top, bottom = value.as_integer_ratio()
    powers = []
    while top and top % 2**_STEP == 0:
        top //= 2**_STEP
        powers.append(f" * {2**_STEP}.0")
    while bottom > 1:
        step = min(bottom, 2**_STEP)
        bottom //= step
        powers.append(f" / {step}.0")
    while abs(top) >= _EXACT_INTEGER:  # at most _STEP - 1 rounds, see the first loop
        top //= 2
        powers.append(" * 2.0")
    return f"({top}{''.join(powers) or ' * 1.0'})"


def _greatest(values: Sequence[str]) -> str:
    """Nest calls: a function takes at most 127 arguments. With one argument, max is an aggregate.

    >>> _greatest(["a", "b", "c"])
    'max(a, b, c)'
    """
    while len(values) > _MOST_ARGUMENTS:
        parts = [values[at : at + _MOST_ARGUMENTS] for at in range(0, len(values), _MOST_ARGUMENTS)]
        values = [f"max({', '.join(part)})" if len(part) > 1 else part[0] for part in parts]
    return f"max({', '.join(values)})"


# Columns of numbers may hold text from files. Compared with a REAL, SQLite converts text that is a
# number, and all other text is greater. A cast alone would turn other text into 0.
_NUMBER = "CASE WHEN {x} <= CAST(9e999 AS REAL) THEN CAST({x} AS REAL) END"

SQLITE = Database(
    title="SQLite",
    # SQLite reads TRUE and FALSE as columns if the table has columns of those names.
    logic=replace(LOGIC, never="0", always="1"),
    wire="COALESCE({test}, 0)",
    labels=("0", "1"),
    cells={
        "number": _NUMBER,
        "integer": _NUMBER,
        "boolean": (
            f"CASE lower({{x}}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 ELSE {_NUMBER} END"
        ),
        # SQLite has no type for dates: numbers are seconds, and text is read by strftime.
        "date": (
            "CASE WHEN typeof({x}) = 'text' THEN (CAST(strftime('%s', {x}) AS INTEGER) * 1000"
            " + CAST(substr(strftime('%f', {x}), 4) AS INTEGER)) / 1000.0"
            " ELSE CAST({x} AS REAL) END"
        ),
    },
    text="CAST({x} AS TEXT) COLLATE BINARY",
    number=exact_number,
    infinity="9e999",
    exp="exp({x})",
    character="char({code})",
    quote=quote,
    types={
        "number": "REAL",
        "integer": "INTEGER",
        "boolean": "0 or 1",
        "date": "seconds since 1970, or ISO text",
        "category": "TEXT",
    },
    notes=(
        "In columns of numbers, booleans and dates, text is converted. Text that cannot be",
        "converted, for example '', is a missing value. In TEXT columns only NULL is missing.",
    ),
    around="subquery",
    fence="LIMIT 1 OFFSET 0",
    greatest=_greatest,
    # The stack of its parser holds 100 symbols.
    limits=Limits(deepest=8, stages=5000, columns=2000, name=10**6, empty_names=True),
    refuses_duplicates=False,
)
