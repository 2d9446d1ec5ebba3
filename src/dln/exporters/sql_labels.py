"""Class labels as SQL expressions of one type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dln.core.labels import Label
from dln.errors import OptionError
from dln.exporters.databases.database import Database
from dln.exporters.text import label_words

INTEGERS = range(-(2**63), 2**63)


def label_expressions(classes: Sequence[Label], database: Database) -> list[str]:
    """Write labels as numbers or booleans if all are, and as text otherwise."""
    types = {type(label) for label in classes}
    write = _WRITERS.get(types.pop() if len(types) == 1 else str, _as_text)
    if any(_is_beyond(label, database) for label in classes):
        write = _as_text
    return [write(label, database) for label in classes]


def _is_beyond(label: Label, database: Database) -> bool:
    """Return whether a number is beyond what the database can hold."""
    if isinstance(label, float):
        return math.isinf(label) and database.infinity == "NULL"
    return type(label) is int and label not in INTEGERS


def _as_text(label: Label, database: Database) -> str:
    text = database.literal(label_words(label))
    if text is None:
        raise OptionError(f"{database.title} cannot hold the class {label!r}; rename the class")
    return text


def _as_integer(label: Label, database: Database) -> str:
    # The least integer of 64 bits would be read as minus a number that is too large.
    return str(label) if label != INTEGERS.start else f"({INTEGERS.start + 1} - 1)"


def _as_float(label: Label, database: Database) -> str:
    assert isinstance(label, float)
    return database.float64(label)


def _as_boolean(label: Label, database: Database) -> str:
    return database.labels[bool(label)]


_WRITERS: dict[type, Callable[[Label, Database], str]] = {
    str: _as_text,
    int: _as_integer,
    float: _as_float,
    bool: _as_boolean,
}
