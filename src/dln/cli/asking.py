"""Columns and classes that a question about a model names."""

from __future__ import annotations

from collections.abc import Sequence

from dln.cli.output import no_such_column
from dln.core.circuit import Circuit
from dln.core.labels import Label, label_text
from dln.errors import OptionError


def find_names(circuit: Circuit, texts: Sequence[str] | None) -> list[str]:
    """Return names of a circuit's columns; see `read_names`."""
    return read_names([column.name for column in circuit.columns], texts)


def read_names(known: Sequence[str], texts: Sequence[str] | None) -> list[str]:
    """Return names of columns; each text is one name, or several separated by commas."""
    found = []
    for text in texts or ():
        # A text that is the name of a column is not split at its commas.
        names = (
            [text] if text in known else [n if n in known else n.strip() for n in text.split(",")]
        )
        for name in names:
            if name not in known:
                raise OptionError(no_such_column(name, known))
            found.append(name)
    return found


def find_class(circuit: Circuit, text: str | None, option: str) -> Label:
    """Find a class by its name in rules, or by its plain text."""
    for label in circuit.classes:
        if text in (label_text(label), str(label)):
            return label
    classes = ", ".join(map(label_text, circuit.classes))
    found = f"{option} is missing" if text is None else f"there is no class {text!r}"
    raise OptionError(f"{found}; the classes are: {classes}")
