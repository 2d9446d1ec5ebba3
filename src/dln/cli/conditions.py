"""Values of columns on the command line: age=40..60, city=Bern,Chur, age=2.5."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from dln._util.messages import with_article
from dln.cli.output import no_such_column
from dln.core.circuit import Circuit
from dln.core.literals import Column
from dln.errors import OptionError

_EXAMPLES = {"date": "2024-01-31..", "boolean": "true"}
"""Conditions by the kind of the column; for numbers, a range."""


def read_conditions(
    circuit: Circuit, texts: Sequence[str] | None, option: str = "--where"
) -> dict[str, Any]:
    """Read the texts of an option, as `dln.prove_rule` takes conditions."""
    conditions: dict[str, Any] = {}
    for text in texts or ():
        column, value = _split(circuit, text, option, "COLUMN=VALUE")
        if column.name in conditions:
            raise OptionError(f"{option} names {column.name!r} twice; use one condition for it")
        conditions[column.name] = _condition(column, value, option)
    return conditions


def read_numbers(circuit: Circuit, texts: Sequence[str] | None, option: str) -> dict[str, float]:
    """Read the texts of an option that gives columns a number each, such as --tolerance."""
    numbers = {}
    for text in texts or ():
        column, value = _split(circuit, text, option, "COLUMN=NUMBER")
        try:
            numbers[column.name] = float(value)
        except ValueError:
            raise OptionError(f"{option} {text!r} has no number after =") from None
    return numbers


def _split(circuit: Circuit, text: str, option: str, form: str) -> tuple[Column, str]:
    known = {column.name: column for column in circuit.columns}
    # A name may contain "=": the longest name that fits is meant.
    fits = [name for name in known if text.startswith(f"{name}=")]
    if fits:
        name = max(fits, key=len)
        return known[name], text[len(name) + 1 :]
    name, sign, _ = text.partition("=")
    if not sign:
        raise OptionError(f"{option} is {text!r}, expected {form}")
    raise OptionError(no_such_column(name, list(known)))


def _condition(column: Column, text: str, option: str) -> Any:
    if text == "missing" and "missing" not in column.categories:
        return None
    if not column.is_numeric:
        by_text = {str(category): category for category in column.categories}
        return [
            by_text.get(part, part) for part in ([text] if text in by_text else text.split(","))
        ]
    low, dots, high = text.partition("..")
    if not dots:
        return _end(column, text, option)
    return tuple(_end(column, end, option) if end else None for end in (low, high))


def _end(column: Column, text: str, option: str) -> Any:
    try:
        if column.kind == "date":
            return datetime.datetime.fromisoformat(text)
        if column.kind == "boolean" and text in ("true", "false"):
            return text == "true"
        number = float(text)
        return int(number) if number.is_integer() else number  # people write 3, not 3.0
    except ValueError:
        raise OptionError(
            f"{option} {column.name}={text} is not {with_article(column.kind)}; write "
            f"{column.name}={_EXAMPLES.get(column.kind, '1..5')} or {column.name}=missing"
        ) from None
