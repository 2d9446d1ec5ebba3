"""A table to train on -> notes about its columns and its target.

Nothing is changed here. A note says how something was read, and how to change that.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln._util.messages import count_of, list_names
from dln.cli.arrow import Column, Frame, pa, pc
from dln.cli.kinds import CODE, quoted, tidy
from dln.cli.missing import DEFAULT_WORDS, MISSING_WORDS, NUMBER_WORDS, MissingWords
from dln.core.literals import ColumnKind

_MOSTLY = 0.8
"""If at least this share of a column's values has one form, the others look like mistakes."""
_FEW_ROWS = 2
_LEAST_ROWS = {"category": 21, "integer": 100}
"""Minimum number of rows for which unique values look like an identifier."""
_LEAST_NUMBERED = 10
"""Minimum number of rows for which the numbers 1, 2, 3, ... look like row numbers."""
_EXACT_DIGITS, _MOST_DIGITS = 16, 300
"""Integers of fewer digits are exact as float64; integers of more digits may overflow it."""
_ROW_NUMBER_NAMES = ("", "Unnamed: 0", "index", "rownames", "row.names")
"""Names that pandas and R give to row numbers."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_WITH_COMMAS = r"[+-]?(?:\d{1,3}(?:[., ']\d{3})+(?:[.,]\d+)?|\d+,\d+)"
_ANY_NUMBER = f"(?:{_NUMBER}|{_WITH_COMMAS})"
_UNIT = r"(?P<unit>%|[\pLµ°][\pLµ°²³/.]*)"
_DAY = r"(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./]\d{1,2}[./]\d{1,2})"
_TIME = r"(?:[ T]+\d{1,2}:\d{2}.*)?"


@dataclass(frozen=True)
class _Form:
    """A form of values that makes a column text.

    `change` says how to rewrite values of this form; empty if they need no change.
    """

    pattern: str
    what: str
    change: str = ""


_NUMBER_FORMS = (
    _Form(_NUMBER, "numbers"),
    _Form(
        _ANY_NUMBER,
        "numbers with separators",
        "write 1,234.5 or 1234,5 as 1234.5",
    ),
)
_DATE_FORMS = (
    _Form(
        _DAY + _TIME,
        "dates in another format than 2024-12-31",
        "write 31/12/2024 or 31.12.2024 as 2024-12-31",
    ),
    _Form(r"\d{4}-\d{2}-\d{2}" + _TIME, "dates"),
)


# -- columns ----------------------------------------------------------------------------------


def column_notes(
    raw: Frame,
    kinds: Mapping[str, ColumnKind],
    inferred: set[str],
    words: MissingWords = DEFAULT_WORDS,
) -> Iterator[str]:
    """Yield a note for each column that may not be read as the user intended.

    Columns in `inferred` were text, and their kind was inferred. `words` are read as missing.
    """
    for name, kind in kinds.items():
        cells = raw.column(name)
        note = _sameness(cells)
        if not note and kind == "category" and name in inferred:
            note = _mistake(tidy(cells, words.in_numbers), name)
        if not note and kind == "integer":
            note = _row_numbers(cells, name) or _rounding(cells, name)
        if not note and _is_unique(cells, kind):
            note = f"is unique in every row. If it is an identifier, add {_ignore(name)}."
        if not note and kind == "category" and name in inferred and words == DEFAULT_WORDS:
            note = _question_marks(cells)
        if note:
            yield f"Column {quoted(name)} {note}"


def _ignore(name: str) -> str:
    return f"--ignore {shlex.quote(name)}"


def _sameness(cells: Column) -> str:
    if cells.null_count == len(cells):
        return "is empty. It is not used."
    if len(cells) > 1 and pc.count_distinct(cells, mode="all").as_py() == 1:
        return "has the same value in every row. It is not used."
    return ""


def _row_numbers(cells: Column, name: str) -> str:
    """Recognise 0, 1, 2, ... and 1, 2, 3, ..., the row numbers that R and pandas write."""
    least = 2 if name in _ROW_NUMBER_NAMES else _LEAST_NUMBERED
    if len(cells) < least or cells.null_count:
        return ""
    first = str(cells[0].as_py()).strip()
    if first not in ("0", "1"):
        return ""
    found = [str(cell).strip() for cell in cells.to_pylist()]
    if found != [str(int(first) + place) for place in range(len(found))]:
        return ""
    return f"holds row numbers ({found[0]}, {found[1]}, ...). Add {_ignore(name)}."


def _rounding(cells: Column, name: str) -> str:
    """Note integers that differ but are equal as float64, with which the circuit computes."""
    found = {int(cell) for cell in pc.unique(cells).to_pylist() if _is_long(str(cell))}
    if len({float(value) for value in found}) == len(found):
        return ""
    return (
        "has integers beyond 2**53, and some differ by less than their rounding. "
        f"If they are codes, add --kind {shlex.quote(f'{name}=category')}."
    )


def _is_long(text: str) -> bool:
    digits = text.strip().lstrip("+-")
    return digits.isdecimal() and _EXACT_DIGITS <= len(digits) <= _MOST_DIGITS


def _is_unique(cells: Column, kind: ColumnKind) -> bool:
    least = _LEAST_ROWS.get(kind)
    return (
        least is not None
        and len(cells) >= least
        and bool(pc.count_distinct(cells).as_py() == len(cells))
    )


def _question_marks(cells: Column) -> str:
    # Not "-" and ".", which are often values in columns of text, such as "-" and "+".
    if not pc.any(pc.equal(cells, "?")).as_py():
        return ""
    return "has the category '?'. If it means missing, add --missing '?,NA' (list every such word)."


def _mistake(cells: Column, name: str) -> str:
    """Describe the exceptions in a column of text in which most values are numbers or dates."""
    found = cells.drop_null().value_counts()
    values, counts = found.field("values"), found.field("counts")
    if not len(values):
        return ""
    n_cells = pc.sum(counts).as_py()
    for form in _forms(values, counts):
        fits = pc.match_substring_regex(values, f"^{form.pattern}$")
        n_fits = pc.sum(pc.filter(counts, fits)).as_py() or 0
        if n_fits == n_cells and form.change:
            return f"is read as text. All values are {form.what}: {form.change}."
        if _MOSTLY * n_cells <= n_fits < n_cells:
            odd = pc.filter(values, pc.invert(fits))[0]
            row = pc.index(cells, odd).as_py() + 1
            change = f", {form.change}" if form.change else ""
            return (
                f"is read as text. {n_fits:,} of {n_cells:,} values are {form.what}, but not "
                f"{quoted(odd.as_py())} (row {row}). Correct such values{change}, or add "
                f"--kind {shlex.quote(f'{name}=category')}."
            )
    return ""


def _forms(values: Column, counts: Column) -> Iterator[_Form]:
    """List the forms that the values of a column may have."""
    # If one number is a code, such as the postcode 01234, the others are codes too.
    if not pc.any(pc.match_substring_regex(values, f"{CODE}+$")).as_py():
        yield from _NUMBER_FORMS
        unit = _commonest_unit(values, counts)
        if unit:
            yield _Form(
                rf"{_ANY_NUMBER}(?:\s*{re.escape(unit)})?",
                f"numbers with {unit!r} after them",
                f"remove the {unit!r}",
            )
    yield from _DATE_FORMS


def _commonest_unit(values: Column, counts: Column) -> str:
    """Find the most common text after a number; empty if there is none."""
    pattern = rf"^{_ANY_NUMBER}\s*{_UNIT}$"
    units = pc.struct_field(pc.extract_regex(values, pattern), "unit")
    known = pc.is_valid(units)
    names, places = np.unique(
        np.array(pc.filter(units, known).to_pylist(), dtype=str), return_inverse=True
    )
    weights = np.bincount(places, pc.filter(counts, known).to_numpy(zero_copy_only=False))
    return str(names[weights.argmax()]) if len(names) else ""


# -- missing values ---------------------------------------------------------------------------


def missing_word_notes(
    raw: Frame, kinds: Mapping[str, ColumnKind], target: str, classes: Column
) -> Iterator[str]:
    """Yield notes on words that were read as missing values but could be categories."""
    found = _counted(classes, MISSING_WORDS)
    if found:
        yield f"Target {quoted(target)}: {found} read as missing.{_KEEP_WORDS}"
    for name, kind in kinds.items():
        is_text = kind == "category"
        found = _counted(raw.column(name), MISSING_WORDS if is_text else NUMBER_WORDS)
        if found:
            yield f"Column {quoted(name)}: {found} read as missing.{_KEEP_WORDS if is_text else ''}"


_KEEP_WORDS = " To keep them as a category, add --missing ''."


def _counted(text: Column, words: Sequence[str]) -> str:
    """Describe how often words occur, for example "11 values 'NA' and 1 value 'null' are"."""
    chosen = pc.is_in(text, value_set=pa.array([word for word in words if word], pa.string()))
    counts = pc.filter(text, chosen).value_counts().to_pylist()
    found = [f"{count_of(entry['counts'], 'value')} {entry['values']!r}" for entry in counts]
    verb = "is" if sum(entry["counts"] for entry in counts) == 1 else "are"
    return f"{' and '.join(found)} {verb}" if found else ""


# -- target -----------------------------------------------------------------------------------


def target_notes(target: str, y: NDArray[Any]) -> Iterator[str]:
    """Yield notes on classes that may be the same, and on classes with very few rows."""
    labels, counts = np.unique(y, return_counts=True)
    alike: dict[str, list[str]] = {}
    for label in labels.tolist():
        if isinstance(label, str):
            alike.setdefault("".join(label.split()).casefold(), []).append(quoted(label))
    for group in alike.values():
        if len(group) > 1:
            yield (
                f"The classes {list_names(group)} of {target!r} differ only in spaces or case. "
                "If they are one class, write them alike."
            )
    rare = [quoted(label) for label in labels[counts <= _FEW_ROWS].tolist()]
    if rare:
        yield (
            f"The target {target!r} has only one or two rows of {list_names(rare)}. "
            "Remove them, or join them with other classes."
        )
