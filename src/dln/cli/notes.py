"""A table to train on -> what a user may want to know of its columns and its target, a line each.

Nothing is changed here: a note says what was read, and how to have it read otherwise.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.cli.arrow import Column, Frame, pc
from dln.cli.kinds import CODE, clear, quoted, tidy
from dln.literals import ColumnKind
from dln.wording import some

_MOSTLY = 0.8
"""The part of the cells from which on the others look like mistakes."""
_FEW_ROWS = 2
_LEAST_ROWS = {"category": 21, "integer": 100}
"""From how many rows on cells that are all different make a name or number of the rows."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_WITH_COMMAS = r"[+-]?(?:\d{1,3}(?:[., ']\d{3})+(?:[.,]\d+)?|\d+,\d+)"
_ANY_NUMBER = f"(?:{_NUMBER}|{_WITH_COMMAS})"
_UNIT = r"(?P<unit>%|[\pLµ°][\pLµ°²³/.]*)"
_DAY = r"(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./]\d{1,2}[./]\d{1,2})"
_TIME = r"(?:[ T]+\d{1,2}:\d{2}.*)?"


@dataclass(frozen=True)
class _Form:
    """A way to write cells of which a column is text.

    `change` is what to do where all cells are written so; empty where that would do no harm.
    """

    pattern: str
    what: str
    change: str = ""


_NUMBER_FORMS = (
    _Form(_NUMBER, "numbers"),
    _Form(
        _ANY_NUMBER,
        "numbers with separators",
        "write 1,234.5 or 1234,5 as 1234.5 to have numbers",
    ),
)
_DATE_FORMS = (
    _Form(
        _DAY + _TIME,
        "dates that are not as 2024-12-31",
        "write 31/12/2024 or 31.12.2024 as 2024-12-31 to have dates",
    ),
    _Form(r"\d{4}-\d{2}-\d{2}" + _TIME, "dates"),
)


# -- columns ----------------------------------------------------------------------------------


def column_notes(
    raw: Frame, kinds: Mapping[str, ColumnKind], read_as_text: set[str]
) -> Iterator[str]:
    """Point out columns that may have been meant otherwise, in a note each.

    Those in `read_as_text` were text, and their kind was guessed.
    """
    for name, kind in kinds.items():
        cells = raw.column(name)
        note = _sameness(cells)
        if not note and kind == "category" and name in read_as_text:
            note = _mistake(cells, name)
        if not note and _tells_rows_apart(cells, kind):
            note = "is different in every row; --ignore it if it is a name or number"
        if note:
            yield f"{clear(name)} {note}"


def _sameness(cells: Column) -> str:
    if cells.null_count == len(cells):
        return "is empty"
    if len(cells) > 1 and pc.count_distinct(cells, mode="all").as_py() == 1:
        return "is the same in every row, so nothing is learned from it"
    return ""


def _tells_rows_apart(cells: Column, kind: ColumnKind) -> bool:
    least = _LEAST_ROWS.get(kind)
    return (
        least is not None
        and len(cells) >= least
        and bool(pc.count_distinct(cells).as_py() == len(cells))
    )


def _mistake(text: Column, name: str) -> str:
    """Say what most cells of a column of text are, where they are something else than text."""
    cells = tidy(text)
    found = cells.drop_null().value_counts()
    values, counts = found.field("values"), found.field("counts")
    if not len(values):
        return ""
    n_cells = pc.sum(counts).as_py()
    for form in _forms(values, counts):
        fits = pc.match_substring_regex(values, f"^{form.pattern}$")
        n_fits = pc.sum(pc.filter(counts, fits)).as_py() or 0
        if n_fits == n_cells and form.change:
            return f"is text: {form.change}"
        if _MOSTLY * n_cells <= n_fits < n_cells:
            odd = pc.filter(values, pc.invert(fits))[0]
            row = pc.index(cells, odd).as_py() + 1
            correct = "; correct such cells" + (form.change and f" and {form.change}")
            return (
                f"is text: {n_fits:,} of {n_cells:,} cells are {form.what}, but not "
                f"{quoted(odd.as_py())} (row {row}){correct}, or say --kind "
                + shlex.quote(f"{name}=category")
            )
    return ""


def _forms(values: Column, counts: Column) -> Iterator[_Form]:
    """List the forms that a column of some values may have."""
    # Where one number is a code, such as the postcode 01234, so are the others.
    if not pc.any(pc.match_substring_regex(values, f"{CODE}+$")).as_py():
        yield from _NUMBER_FORMS
        unit = _commonest_unit(values, counts)
        if unit:
            yield _Form(
                rf"{_ANY_NUMBER}(?:\s*{re.escape(unit)})?",
                f"numbers with {unit!r} after them",
                f"leave out the {unit!r} to have numbers",
            )
    yield from _DATE_FORMS


def _commonest_unit(values: Column, counts: Column) -> str:
    """Find what stands behind most numbers; empty where nothing does."""
    pattern = rf"^{_ANY_NUMBER}\s*{_UNIT}$"
    units = pc.struct_field(pc.extract_regex(values, pattern), "unit")
    known = pc.is_valid(units)
    names, places = np.unique(
        np.array(pc.filter(units, known).to_pylist(), dtype=str), return_inverse=True
    )
    weights = np.bincount(places, pc.filter(counts, known).to_numpy(zero_copy_only=False))
    return str(names[weights.argmax()]) if len(names) else ""


# -- target -----------------------------------------------------------------------------------


def target_notes(target: str, y: NDArray[Any]) -> Iterator[str]:
    """Point out classes that may be meant as one, and those with next to no rows."""
    labels, counts = np.unique(y, return_counts=True)
    alike: dict[str, list[str]] = {}
    for label in labels.tolist():
        if isinstance(label, str):
            alike.setdefault("".join(label.split()).casefold(), []).append(quoted(label))
    for group in alike.values():
        if len(group) > 1:
            yield (
                f"the classes {some(group)} of {target!r} differ in spaces or case only; "
                "write them alike if they are one"
            )
    rare = [quoted(label) for label in labels[counts <= _FEW_ROWS].tolist()]
    if rare:
        yield (
            f"{target!r} has only one or two rows of {some(rare)}; "
            "drop them or put them into other classes"
        )
