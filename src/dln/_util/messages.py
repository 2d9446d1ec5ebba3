"""Helpers for messages: some of many names, counts with their noun, types, percentages."""

from __future__ import annotations

import math
from collections.abc import Iterable


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


def type_name(value: object) -> str:
    """Name the type of a value, with its article.

    >>> type_name("text"), type_name(3)
    ('a str', 'an int')
    """
    name = type(value).__name__
    article = "an" if name[0].lower() in "aeiou" else "a"
    return f"{article} {name}"


def percent(share: float | None) -> str:
    """Write a share in percent; "-" for None and NaN, which mean that there is none.

    >>> percent(0.125), percent(None)
    ('12.5 %', '-')
    """
    return "-" if share is None or math.isnan(share) else f"{100 * share:.1f} %"


def count_of(number: int, noun: str) -> str:
    """Write a count with its noun.

    >>> count_of(1, "rule"), count_of(1200, "rule")
    ('1 rule', '1,200 rules')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
