"""Conditions and tolerances on the command line: age=40..60, city=Bern,Chur, age=2.5."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from dln.cli.output import no_such_column
from dln.core.circuit import Circuit
from dln.core.literals import Column
from dln.errors import OptionError


def read_conditions(circuit: Circuit, texts: Sequence[str]) -> dict[str, Any]:
    """Read the texts of --where, as `dln.prove_rule` takes them."""
    conditions: dict[str, Any] = {}
    for text in texts:
        column, value = _split(circuit, text, "--where", "COLUMN=VALUE")
        if column.name in conditions:
            raise OptionError(f"--where names {column.name!r} twice; use one condition for it")
        conditions[column.name] = _condition(column, value)
    return conditions


def read_tolerances(circuit: Circuit, texts: Sequence[str]) -> dict[str, float]:
    """Read the texts of --tolerance."""
    tolerances = {}
    for text in texts:
        column, value = _split(circuit, text, "--tolerance", "COLUMN=NUMBER")
        try:
            tolerances[column.name] = float(value)
        except ValueError:
            raise OptionError(f"--tolerance {text!r} has no number after =") from None
    return tolerances


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


def _condition(column: Column, text: str) -> Any:
    if text == "missing" and "missing" not in column.categories:
        return None
    if not column.is_numeric:
        by_text = {str(category): category for category in column.categories}
        return [
            by_text.get(part, part) for part in ([text] if text in by_text else text.split(","))
        ]
    low, dots, high = text.partition("..")
    if not dots:
        return _end(column, text)
    return tuple(_end(column, end) if end else None for end in (low, high))


def _end(column: Column, text: str) -> Any:
    try:
        if column.kind == "date":
            return datetime.datetime.fromisoformat(text)
        if column.kind == "boolean" and text in ("true", "false"):
            return text == "true"
        return float(text)
    except ValueError:
        raise OptionError(
            f"--where {column.name}={text} is not a {column.kind}; write {column.name}=1..5, "
            f"{column.name}=1.. or {column.name}=missing"
        ) from None
