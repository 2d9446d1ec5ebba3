"""Options that constrain rules -> parameters of an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from dln._util.messages import list_names
from dln.cli.asking import read_names
from dln.cli.options import parameter
from dln.cli.output import no_such_column
from dln.core.labels import Label, label_text
from dln.errors import OptionError

Monotone = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=SIGN",
        help="age=+: the second class never loses votes, or the number never falls, as age grows; "
        "age=-: the opposite. Another class: ill:age=+. Repeatable.",
    ),
]
Interactions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Comma-separated columns that may occur together in a rule. Repeatable; a column in "
        "no group occurs alone.",
    ),
]
ForbiddenPair = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN,COLUMN", help="Two columns that never occur together in a rule. Repeatable."
    ),
]
Unused = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Comma-separated columns that no rule may read."),
]
MaxColumnsPerRule = Annotated[
    int | None, parameter("max_columns_per_rule", metavar="N", show_default=False)
]


def read_constraint_options(
    columns: Sequence[str],
    classes: Sequence[Label],
    *,
    monotone: Sequence[str] | None,
    interactions: Sequence[str] | None,
    forbidden_pair: Sequence[str] | None,
    unused: Sequence[str] | None,
    max_columns_per_rule: int | None,
) -> dict[str, Any]:
    """Return the parameters that are given.

    `classes` is empty for a circuit that predicts a number.

    >>> nothing = dict(interactions=None, unused=None, max_columns_per_rule=None)
    >>> read_constraint_options(
    ...     ["age", "sex"], ["no", "yes"], monotone=["age=+"], forbidden_pair=["age,sex"], **nothing
    ... )
    {'monotone': {'yes': {'age': '+'}}, 'forbidden_pairs': (('age', 'sex'),)}
    """
    found = {
        "monotone": _read_directions(monotone or (), columns, classes),
        "interactions": tuple(tuple(read_names(columns, [text])) for text in interactions or ()),
        "forbidden_pairs": tuple(
            tuple(read_names(columns, [text])) for text in forbidden_pair or ()
        ),
        "unused_columns": tuple(read_names(columns, unused)),
        "max_columns_per_rule": max_columns_per_rule,
    }
    return {name: value for name, value in found.items() if value not in (None, (), {})}


def _read_directions(
    texts: Sequence[str], columns: Sequence[str], classes: Sequence[Label]
) -> dict[Any, Any]:
    found: dict[Label | None, dict[str, str]] = {}
    for text in texts:
        name, _, sign = text.rpartition("=")
        if sign not in ("+", "-"):
            raise OptionError(f"--monotone is {text!r}, expected COLUMN=+ or COLUMN=-")
        label, column = _find_class(text, name, columns, classes)
        if found.setdefault(label, {}).setdefault(column, sign) != sign:
            raise OptionError(f"--monotone asks for both directions of {column!r}")
    return found if classes else found.get(None, {})


def _find_class(
    text: str, name: str, columns: Sequence[str], classes: Sequence[Label]
) -> tuple[Label | None, str]:
    """Split CLASS:COLUMN; a name of a column alone means the second of two classes."""
    if name in columns:
        if len(classes) in (0, 2):
            return (classes[1] if classes else None), name
        raise OptionError(
            f"--monotone is {text!r}, but there are {len(classes)} classes; name the class: "
            f"{label_text(classes[-1])}:{text}"
        )
    for label in classes:
        for word in (label_text(label), str(label)):
            if name.startswith(f"{word}:") and name.removeprefix(f"{word}:") in columns:
                return label, name.removeprefix(f"{word}:")
    word, _, column = name.rpartition(":")
    if column in columns and not classes:
        raise OptionError(f"--monotone is {text!r}, but a number is predicted; leave out the class")
    if column in columns:
        known = list_names(map(label_text, classes))
        raise OptionError(f"--monotone: there is no class {word!r}; the classes are: {known}")
    raise OptionError(f"--monotone: {no_such_column(column, columns)}")
