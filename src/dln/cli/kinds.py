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
_CODE = r"^[+-]?0\d"
"""A number that begins so is a code, such as a postcode; as a number it would lose its zero."""
_WITH_COMMAS = r"^[+-]?(\d{1,3}([., ']\d{3})+([.,]\d+)?|\d+,\d+)$"


def guess_kind(text: Column) -> ColumnKind:
    """Find the narrowest kind that all cells of a column of text fit.

    >>> [guess_kind(pa.chunked_array([cells])) for cells in (["1", "NA"], ["1.5", "2"], ["007"])]
    ['integer', 'number', 'category']
    """
    cells = _tidy(text)
    known = cells.drop_null()
    if not len(known):
        return "number"
    if pc.all(pc.is_in(pc.utf8_lower(known), value_set=pa.array(["true", "false"]))).as_py():
        return "boolean"
    if _fits(known, pa.float64()):
        if pc.any(pc.match_substring_regex(known, _CODE)).as_py():
            return "category"
        whole = pc.all(pc.match_substring_regex(known, _WHOLE)).as_py()
        # Beyond 2**53 whole numbers are not told apart by the float64 of a cutoff.
        exact = whole and pc.max(pc.abs(pc.cast(known, pa.float64()))).as_py() <= 2**53
        return "integer" if exact else "number"
    return "date" if _moments(known) is not None else "category"


def looks_like_numbers(text: Column) -> bool:
    """Tell whether a column of text holds numbers with separators, which are not read as such."""
    return bool(pc.all(pc.match_substring_regex(text.drop_null(), _WITH_COMMAS)).as_py())


def read_cells(text: Column, kind: ColumnKind, name: str) -> Column:
    """Read cells of text as the kind that the column is known to have.

    Raises `ColumnTypeError` that shows the first cell which is something else.
    """
    if kind == "category":
        return text
    cells = _convert(text, kind)
    if cells is None:
        tidy = _tidy(text)
        cells = _convert(tidy, kind)
        if cells is None:
            raise ColumnTypeError(
                f"column {name!r} holds {_strangest(tidy, kind)}, expected {_EXPECTED[kind]}; "
                "correct the cell, or leave it empty where there is no value"
            )
    return cells


def _strangest(text: Column, kind: ColumnKind) -> str:
    """Show the first cell that is of another kind."""
    for cell in text:
        if _convert(pa.chunked_array([[cell]]), kind) is None:
            return repr(cell.as_py())
    return "moments with and without a time zone"  # nothing else fits alone, but not together


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


def _tidy(text: Column) -> Column:
    """Take away space around cells, and words that mean a missing one."""
    cells = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(cells, value_set=pa.array(["", *MISSING_WORDS]))
    return pc.if_else(missing, pa.scalar(None, pa.string()), cells)
