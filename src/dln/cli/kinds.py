"""Cells of a text table -> numbers, booleans, dates or text: guessed once, in training.

Promise: the kind of a column is decided by all of its cells together, and where it is known, by
nothing else. So a part of a table is read like the whole: a chunk without decimals is numbers too.

An empty cell is missing in every column. `MISSING_WORDS` are missing in columns of numbers,
booleans and dates; in a column of text they are text like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from dln.circuit import Circuit
from dln.cli.arrow import Column, pa, pc
from dln.errors import ColumnTypeError
from dln.literals import Column as Feature
from dln.literals import ColumnKind

MISSING_WORDS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", ".", "-")

_EXPECTED = {
    "number": "numbers such as 1234.5",
    "integer": "numbers such as 1234",
    "boolean": "true or false",
    "date": "dates such as 2024-12-31 or 2024-12-31T23:59:59",
    "category": "text",
}
_WHOLE = r"^[+-]?\d+$"
CODE = r"^[+-]?0\d"
"""A number that begins so is a code, such as a postcode; as a number it would lose its zero."""
_MOST_LETTERS = 60


def guess_kind(text: Column) -> ColumnKind:
    """Find the narrowest kind that all cells of a column of text fit.

    >>> [guess_kind(pa.chunked_array([cells])) for cells in (["1", "NA"], ["1.5", "2"], ["007"])]
    ['integer', 'number', 'category']
    """
    cells = tidy(text)
    known = cells.drop_null()
    if not len(known):
        return "number"
    if pc.all(pc.is_in(pc.utf8_lower(known), value_set=pa.array(["true", "false"]))).as_py():
        return "boolean"
    if _fits(known, pa.float64()):
        if pc.any(pc.match_substring_regex(known, CODE)).as_py():
            return "category"
        whole = pc.all(pc.match_substring_regex(known, _WHOLE)).as_py()
        # Beyond 2**53 whole numbers are not told apart by the float64 of a cutoff.
        exact = whole and pc.max(pc.abs(pc.cast(known, pa.float64()))).as_py() <= 2**53
        return "integer" if exact else "number"
    return "date" if _moments(known) is not None else "category"


def tidy(text: Column) -> Column:
    """Take away space around cells, and words that mean a missing one."""
    cells = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(cells, value_set=pa.array(["", *MISSING_WORDS]))
    return pc.if_else(missing, pa.scalar(None, pa.string()), cells)


def quoted(value: object) -> str:
    r"""Show a cell in a message: in quotes, on one line, and not too much of it.

    >>> print(quoted("two\nlines"), quoted(100 * "z"))
    'two\nlines' 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...
    """
    whole = repr(value)
    return whole if len(whole) <= _MOST_LETTERS else f"{whole[: _MOST_LETTERS - 3]}..."


def clear(name: str) -> str:
    """Show a name as it is, or quoted where that would not be clear.

    >>> print(clear("heart rate"), clear("rate "), clear(""))
    heart rate 'rate ' ''
    """
    is_clear = name.isprintable() and name == name.strip() and 0 < len(name) < _MOST_LETTERS
    return name if is_clear else quoted(name)


def read_cells(
    text: Column, kind: ColumnKind, name: str, *, first_row: int | None = None
) -> Column:
    """Read cells of text as the kind that the column is known to have.

    Raises `ColumnTypeError` that shows the first cell which is something else, and its row where
    the number of the first row is given.
    """
    if kind == "category":
        return text
    cells = _convert(text, kind)
    if cells is None:
        known = tidy(text)
        cells = _convert(known, kind)
        if cells is None:
            raise ColumnTypeError(
                f"column {name!r} holds {_strangest(known, kind, first_row)}, "
                f"expected {_EXPECTED[kind]}; "
                "correct the cell, or leave it empty where there is no value"
            )
    return cells


def _strangest(text: Column, kind: ColumnKind, first_row: int | None) -> str:
    """Show the first cell that is of another kind, and its row."""
    start, end = 0, len(text)
    while end - start > 1:  # the cells before `start` fit, those before `end` do not
        middle = (start + end) // 2
        if _convert(text.slice(start, middle - start), kind) is None:
            end = middle
        else:
            start = middle
    if _convert(text.slice(start, 1), kind) is not None:
        return "moments with and without a time zone"  # each fits alone, but not together
    where = "" if first_row is None else f" (row {first_row + start})"
    return quoted(text[start].as_py()) + where


def reading_kind(feature: Feature) -> ColumnKind:
    """Say how to read the text of a column that a circuit knows.

    Categories that are numbers come from a table that was not text; they are found as numbers.
    """
    if feature.kind == "integer":  # one type for all chunks, also where one holds 2.5
        return "number"
    if feature.kind != "category" or not feature.categories:
        return feature.kind
    types = {type(category) for category in feature.categories}
    return "category" if str in types else "boolean" if types == {bool} else "number"


def used_features(circuit: Circuit) -> Sequence[Feature]:
    """List the columns that a circuit reads."""
    used = {literal.column for literal in circuit.literals}
    return [circuit.columns[index] for index in sorted(used)]


def _convert(text: Column, kind: ColumnKind) -> Column | None:
    """Read cells, or give None where some cell is of another kind."""
    if kind == "date":
        return _moments(text)
    try:
        if kind == "boolean":
            return pc.cast(text, pa.bool_())
        numbers = pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return None
    try:
        return pc.cast(numbers, pa.int64()) if kind == "integer" else numbers
    except pa.ArrowInvalid:  # 2.5 among integers is above 2 all the same
        return numbers


def _moments(text: Column) -> Column | None:
    """Read moments without time zone, those with one in UTC."""
    for moment in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns")):
        if _fits(text, moment):
            return pc.cast(pc.cast(text, moment), pa.timestamp("us"), safe=False)
    return None


def _fits(text: Column, kind: object) -> bool:
    try:
        pc.cast(text, kind)
    except pa.ArrowInvalid:
        return False
    return True
