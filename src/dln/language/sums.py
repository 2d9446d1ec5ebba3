"""Rules of a number: the line that says how they add up, and what each of them adds, as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from dln.core.score import MAX_DIGITS, Link
from dln.language.scanner import Scanner

_START = r"(?P<start>[+-]?(?:\d+\.?\d*|\.\d+)) plus what the rules add"
_FORMS: dict[Link, str] = {
    "identity": _START,
    "log": rf"exp\({_START}\)(?:: \S+ times the factors of the rules)?",
    "logit": rf"1 / \(1 \+ exp\(-s\)\), where s is {_START}",
}
_SUMS = {link: re.compile(rf" is {form}\.", re.ASCII) for link, form in _FORMS.items()}
_FACTOR = re.compile(r"\((?:odds )?× [\d.e+-]+\)(?=\s|$)", re.ASCII)


@dataclass(frozen=True)
class Sum:
    """What a number is called, the link of its score, and the score before any rule adds to it."""

    name: str
    link: Link
    start: Decimal


def read_sum(line: str, scanner: Scanner) -> Sum | None:
    """Read a line such as "price is 12.5 plus what the rules add."; None for any other line."""
    if "plus what the rules add" not in line or not line.endswith("."):
        return None
    name = scanner.take_quoted()
    if name is not None:
        return _sum_at(line, scanner.place, name)
    # A name without quotes may contain " is ", but the formula does so only once.
    places = [found.start() for found in re.finditer(" is ", line)]
    for place in places:
        found = _sum_at(line, place, line[:place])
        if found is not None:
            return found
    return None


def _sum_at(line: str, place: int, name: str) -> Sum | None:
    for link, pattern in _SUMS.items():
        found = pattern.fullmatch(line, place)
        if found is not None:
            return Sum(name, link, Decimal(found["start"]))
    return None


def skip_factor(scanner: Scanner, link: Link) -> None:
    """Skip the factor that a rule of a number with a link is worth: (× 1.38)."""
    if link != "identity":
        scanner.take(_FACTOR)


def points_and_digits(amounts: Sequence[Decimal]) -> tuple[list[int], int]:
    """Return amounts as whole points, and the number of decimals of a point.

    >>> points_and_digits([Decimal("12.5"), Decimal("-0.25")])
    ([1250, -25], 2)
    >>> points_and_digits([Decimal(4000), Decimal(-12000)])
    ([4, -12], -3)
    """
    exponents = [
        int(amount.normalize().as_tuple().exponent) for amount in amounts if not amount.is_zero()
    ]
    digits = max(-min(exponents, default=0), -MAX_DIGITS)
    return [int(amount.scaleb(digits)) for amount in amounts], digits
