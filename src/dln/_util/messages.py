"""Helpers for messages: names and the nearest one, counts with their noun, types, percentages."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal


def list_names(names: Iterable[str], most: int = 12) -> str:
    """List at most `most` names, and count the others.

    >>> list_names(["age", "city"])
    'age, city'
    >>> list_names(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    listed = list(names)
    more = len(listed) - most
    shown = ", ".join(listed[:most])
    return f"{shown} and {more} more" if more > 0 else shown


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """Find the known name that a misspelt one may stand for; None if none is similar.

    >>> nearest_name("agee", ["age", "city"]), nearest_name("Age ", ["age"])
    ('age', 'age')
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6) or [
        other for other in known if other.strip().casefold() == name.strip().casefold()
    ]
    return close[0] if close else None


def no_such_name(what: str, name: object, known: Sequence[str], plural: str = "") -> str:
    """Return the message for a name that does not exist, with a suggestion.

    >>> no_such_name("column", "agee", ["age", "city"])
    "there is no column 'agee'; did you mean 'age'? The columns are: age, city"
    """
    close = nearest_name(str(name), known)
    hint = "the" if close is None else f"did you mean {close!r}? The"
    return f"there is no {what} {name!r}; {hint} {plural or what + 's'} are: {list_names(known)}"


def type_name(value: object) -> str:
    """Name the type of a value, with its article.

    >>> type_name("text"), type_name(3)
    ('a str', 'an int')
    """
    return with_article(type(value).__name__)


def with_article(name: str) -> str:
    """Write a name after "a" or "an".

    >>> with_article("integer"), with_article("date")
    ('an integer', 'a date')
    """
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def percent(share: float | None) -> str:
    """Write a share in percent; "-" for None and NaN, which mean that there is none.

    >>> percent(0.125), percent(None)
    ('12.5 %', '-')
    """
    return "-" if share is None or math.isnan(share) else f"{100 * share:.1f} %"


def plain_text(value: float, digits: int, *, thousands: bool = False) -> str:
    """Write a number with some significant digits, without an exponent unless it is needed.

    >>> plain_text(1234567.0, 3), plain_text(0.00012345, 3), plain_text(-0.0, 3)
    ('1230000', '0.000123', '0')
    >>> plain_text(30512.0, 3, thousands=True)
    '30,500'
    """
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e16:  # infinity too
        return f"{value:.{digits}g}"
    found = Decimal(f"{value:.{digits - 1}e}").normalize()
    return f"{found:,f}" if thousands else f"{found:f}"


def count_of(number: int, noun: str) -> str:
    """Write a count with its noun.

    >>> count_of(1, "rule"), count_of(1200, "rule")
    ('1 rule', '1,200 rules')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
