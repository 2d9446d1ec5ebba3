"""A column, a sign and a value as text -> the tests that they stand for.

Missing values fail `>`, `>=`, `=` and `in`. The other signs are negations of these, so missing
values pass `<=`, `<`, `!=` and `not in`.
"""

from __future__ import annotations

import datetime
import math
import re

from dln._util.messages import list_names, nearest_name
from dln.core.literals import Above, Among, Column, format_category
from dln.core.moments import last_tick, seconds_at
from dln.language.expression import Condition, Joined, Test, negate
from dln.language.scanner import Scanner

_EPOCH = datetime.datetime(1970, 1, 1)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NUMBER = re.compile(_NUMBER, re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_SECONDS = re.compile(rf"({_NUMBER}) s since 1970", re.ASCII)
_END_OF_VALUE = re.compile(r"\s+(?:and|or|xor)(?=[\s()]|$)|\s*[<>]")
_END_OF_ITEM = re.compile(r"[,}]")
_OPEN, _COMMA, _CLOSE = (re.compile(re.escape(sign)) for sign in "{,}")


def read_comparison(
    scanner: Scanner, columns: tuple[Column, ...], index: int, sign: str
) -> Condition:
    """Read the value after a sign: <=, <, >=, >, = or !=. Return the condition."""
    column = columns[index]
    start = scanner.skip_spaces()
    if column.is_numeric:
        value = read_value(scanner, column)
        return compare(scanner, column, index, sign, value, start)
    if sign not in ("=", "!="):
        raise scanner.error(
            f"column {column.name!r} holds categories, which are compared with =, != or in {{…}}",
            start,
        )
    test = Test(Among(index, (_read_category(scanner, column, _END_OF_VALUE),)))
    return negate(test) if sign == "!=" else test


def read_choice(scanner: Scanner, columns: tuple[Column, ...], index: int) -> Condition:
    """Read `{a, b}` after "in"."""
    column = columns[index]
    start = scanner.skip_spaces()
    if column.is_numeric:
        raise scanner.error(
            f"column {column.name!r} is of kind {column.kind!r}; in {{…}} is for categories", start
        )
    scanner.take(_OPEN)
    found = [_read_category(scanner, column, _END_OF_ITEM)]
    while scanner.take(_COMMA):
        found.append(_read_category(scanner, column, _END_OF_ITEM))
    if not scanner.take(_CLOSE):
        raise scanner.error("expected , or } after a category")
    return Test(Among(index, tuple(dict.fromkeys(found))))


def compare(
    scanner: Scanner, column: Column, index: int, sign: str, value: float, place: int
) -> Condition:
    """Compare a column of numbers with a value; `place` is that of the value."""
    if sign in ("<=", "<", "!="):
        opposite = {"<=": ">", "<": ">=", "!=": "="}[sign]
        return negate(compare(scanner, column, index, opposite, value, place))
    if sign == ">":
        return Test(Above(index, value))
    if sign == "=" and value == 1 and column.kind == "boolean":
        return Test(Above(index, 0.5))
    if sign == "=" and value == 1 and column.binary:
        return Test(Above(index, 0.0))
    below = _largest_below(value, column)
    if not math.isfinite(below):
        raise scanner.error(f"no number is below {value!r}", place)
    if sign == ">=":
        return Test(Above(index, below))
    if column.kind == "integer" and not value.is_integer():
        raise scanner.error(
            f"column {column.name!r} holds integers and never equals {value!r}", place
        )
    return Joined("and", (Test(Above(index, below)), Test(Above(index, value), negated=True)))


def _largest_below(value: float, column: Column) -> float:
    """Find a cutoff that the values from `value` on are above, and no smaller ones."""
    match column.kind:
        case "integer":
            return math.ceil(value) - 1.0
        case "boolean":
            return value - 0.5
        case "date":
            tick = last_tick(value)
            return seconds_at(tick - 1) if seconds_at(tick) == value else value
        case _:
            return math.nextafter(value, -math.inf)


def read_value(scanner: Scanner, column: Column) -> float:
    """Read a number or a date, as the column holds them."""
    start = scanner.skip_spaces()
    quoted = scanner.take_quoted()
    text = scanner.take_bare(_END_OF_VALUE) if quoted is None else quoted
    value = value_of(text, column)
    if value is None:
        expected = "a date such as 2024-05-31" if column.kind == "date" else "a number"
        found = f"found {text!r}" if text else "nothing follows"
        raise scanner.error(f"expected {expected} for {column.name!r}, {found}", start)
    return value


def value_of(text: str, column: Column) -> float | None:
    """Return the number that a text stands for; None if it is none that the column can hold."""
    if column.kind == "date":
        return _seconds(text)
    if column.kind == "boolean" and text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    value = float(text) if NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def _seconds(text: str) -> float | None:
    stated = _SECONDS.fullmatch(text)
    if stated is not None:
        value = float(stated[1])
        return value if math.isfinite(value) else None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is not None else (moment - _EPOCH).total_seconds()


def _read_category(scanner: Scanner, column: Column, stop: re.Pattern[str]) -> int:
    """Read a category and return its number in the column."""
    start = scanner.skip_spaces()
    quoted = scanner.take_quoted()
    text = scanner.take_bare(stop) if quoted is None else quoted
    if quoted is None and not text:
        raise scanner.error(f"expected a category of {column.name!r}", start)
    # Numbers without quotes are numbers; a text that looks like one may lack its quotes.
    plain = None if quoted is not None else plain_value(text)
    for wanted in (text,) if plain is None else (plain, text):
        for number, category in enumerate(column.categories):
            if category == wanted and isinstance(category, str) == isinstance(wanted, str):
                return number
    shown = [format_category(category) for category in column.categories]
    close = nearest_name(text, [str(category) for category in column.categories])
    hint = "its" if close is None else f"did you mean {close!r}? Its"
    raise scanner.error(
        f"column {column.name!r} has no category {text!r}; {hint} categories are: "
        f"{list_names(shown)}",
        start,
    )


def plain_value(text: str) -> int | float | bool | None:
    """Return the number or truth value that a text without quotes stands for; None for text."""
    if text in ("True", "False"):
        return text == "True"
    if _WHOLE.fullmatch(text):
        return int(text)
    if NUMBER.fullmatch(text) or text in ("inf", "-inf"):
        return float(text)
    return None
