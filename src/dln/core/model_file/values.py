"""Typed values of a JSON document. Each function raises ValueError for another type."""

from __future__ import annotations

import math
import reprlib
from typing import Any


def as_object(part: Any) -> dict[str, Any]:
    """Return a part that is an object."""
    if not isinstance(part, dict):
        raise ValueError('expected an object in "{ }"')
    return part


def refuse_others(part: Any, known: tuple[str, ...]) -> None:
    """Refuse an unknown key, which may be a misspelt one."""
    for key in as_object(part):
        if key not in known:
            raise ValueError(f"{show(key)} is none of {', '.join(known)}")


def get(part: Any, key: str) -> Any:
    """Return a value of an object, which must be there."""
    if key not in as_object(part):
        raise ValueError(f'"{key}" is missing')
    return part[key]


def read_list(part: Any, key: str) -> list[Any]:
    """Return a list of an object, which must be there."""
    value = get(part, key)
    if not isinstance(value, list):
        raise ValueError(f'"{key}" is {show(value)}, expected a list')
    return value


def read_text(value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise ValueError(f"{show(value)} is not text")
    return value


def read_truth(value: Any) -> bool:
    """Return a truth value; 0 and 1 are none."""
    if type(value) is not bool:
        raise ValueError(f"{show(value)} is not true or false")
    return value


def read_integer(value: Any) -> int:
    """Return an integer; true and false are none."""
    if type(value) is not int:
        raise ValueError(f"{show(value)} is not an integer")
    return value


def read_number(value: Any) -> float:
    """Return a number that float64 holds."""
    if type(value) not in (int, float):
        raise ValueError(f"{show(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{show(value)} is too large for float64")
    return number


def show(value: Any) -> str:
    """Show a value from the file in a few words, even if the value is large."""
    return reprlib.repr(value)
