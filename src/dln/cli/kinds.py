"""Values of a text table -> numbers, booleans, dates or text.

Training infers the kind of a column from all of its values. Later commands take the kind from the
model, so all chunks of a table are read alike: a chunk without decimals still holds numbers.

`dln.cli.missing` lists the words that are read as missing values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dln.cli.arrow import Column, pa, pc
from dln.cli.missing import DEFAULT_WORDS, MissingWords
from dln.core.circuit import Circuit
from dln.core.literals import Category, ColumnKind
from dln.core.literals import Column as Feature
from dln.errors import ColumnTypeError

_EXPECTED = {
    "number": "numbers such as 1234.5",
    "integer": "numbers such as 1234",
    "boolean": "true or false",
    "date": "dates such as 2024-12-31 or 2024-12-31T23:59:59",
    "category": "text",
}
_WHOLE = r"^[+-]?\d+$"
_WHOLE_SPELLINGS = r"^\+|\.0*$"
"""Parts of a whole number that Arrow does not accept in an integer: a plus sign, and ".00"."""
CODE = r"^[+-]?0\d"
"""A number with a leading zero is a code, such as a postcode; a number would lose the zero."""
_MOST_LETTERS = 60
_ANY_DIGIT = re.compile(r"\d")
_USUAL = DEFAULT_WORDS.in_numbers


@dataclass(frozen=True)
class Reading:
    """How to read one column of text: its kind, and the words that are missing values in it."""

    kind: ColumnKind
    missing: tuple[str, ...]

    @property
    def has_number_words(self) -> bool:
        """Whether a number, such as -999, is read as a missing value."""
        return any(map(_ANY_DIGIT.search, self.missing)) and self.missing != _USUAL

    @property
    def is_plain_number(self) -> bool:
        """Whether every number is a value."""
        return self.kind == "number" and not self.has_number_words


def reading_of(kind: ColumnKind, words: MissingWords = DEFAULT_WORDS) -> Reading:
    """Return how a column of a known kind is read."""
    return Reading(kind, words.everywhere if kind == "category" else words.in_numbers)


def reading_for(feature: Feature, words: MissingWords, *, is_text: bool) -> Reading:
    """Return how a column is read for a circuit.

    A word that is one of the circuit's categories is never missing: the circuit was trained on a
    table where it was a value. Words in columns of text are missing only in text tables.
    """
    kind = reading_kind(feature)
    if kind != "category":
        return reading_of(kind, words)
    values = set(feature.categories)
    missing = [word for word in words.everywhere if is_text and word not in values]
    return Reading(kind, tuple(missing))


def infer_kind(text: Column, words: MissingWords = DEFAULT_WORDS) -> ColumnKind:
    """Find the narrowest kind that all values of a column of text fit.

    >>> [infer_kind(pa.chunked_array([cells])) for cells in (["1", "NA"], ["1.5", "2"], ["007"])]
    ['integer', 'number', 'category']
    """
    known = tidy(text, words.in_numbers).drop_null()
    if not len(known):
        return "number"
    if pc.all(pc.is_in(pc.utf8_lower(known), value_set=pa.array(["true", "false"]))).as_py():
        return "boolean"
    if _fits(known, pa.float64()):
        if pc.any(pc.match_substring_regex(known, CODE)).as_py():
            return "category"
        return "integer" if is_whole(known) else "number"
    return "date" if _moments(known) is not None else "category"


def is_whole(text: Column) -> bool:
    """Return whether all values are written as whole numbers."""
    return bool(pc.all(pc.match_substring_regex(text, _WHOLE)).as_py())


def tidy(text: Column, missing: Sequence[str] = DEFAULT_WORDS.in_numbers) -> Column:
    """Strip whitespace, then replace words for missing values by nulls."""
    return without_words(pc.utf8_trim_whitespace(text), missing)


def without_words(text: Column, missing: Sequence[str]) -> Column:
    """Replace words by nulls; a column without such a word is returned unchanged.

    Of a dictionary, only the distinct texts are compared.
    """
    if pa.types.is_dictionary(text.type):
        parts = [part.dictionary for part in text.chunks]
        words = pa.array(missing, pa.string())
        if not any(pc.any(pc.is_in(part, value_set=words)).as_py() for part in parts):
            return text
        text = text.cast(pa.string())
    found = pc.is_in(text, value_set=pa.array(missing, pa.string()))
    if not pc.any(found).as_py():
        return text
    return pc.if_else(found, pa.scalar(None, pa.string()), text)


def is_number(text: Column) -> bool:
    """Return whether every value of a column of text is a number, without words for missing."""
    return _fits(text, pa.float64())


def quoted(value: object) -> str:
    r"""Return a value for a message: in quotes, on one line, and shortened.

    >>> print(quoted("two\nlines"), quoted(100 * "z"))
    'two\nlines' 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...
    """
    whole = repr(value)
    return whole if len(whole) <= _MOST_LETTERS else f"{whole[: _MOST_LETTERS - 3]}..."


def quoted_if_unclear(name: str) -> str:
    """Return a name unchanged, or in quotes if it could be misread.

    >>> print(quoted_if_unclear("heart rate"), quoted_if_unclear("rate "), quoted_if_unclear(""))
    heart rate 'rate ' ''
    """
    is_clear = name.isprintable() and name == name.strip() and 0 < len(name) < _MOST_LETTERS
    return name if is_clear else quoted(name)


def read_cells(
    text: Column, reading: Reading, name: str, *, first_row: int | None = None
) -> Column:
    """Read values of text as the kind that the column is known to have.

    Raises `ColumnTypeError` that shows the first value of another kind, and its row if `first_row`
    is given.
    """
    if reading.kind == "category":
        return without_words(text, reading.missing)
    # Most columns have no words for missing values and no spaces, so the first attempt succeeds.
    cells = None if reading.has_number_words else _convert(text, reading.kind)
    if cells is None or (reading.kind == "integer" and pa.types.is_floating(cells.type)):
        known = tidy(text, reading.missing)
        cells = _convert(known, reading.kind)
        if cells is None:
            raise ColumnTypeError(
                f"column {name!r} holds {_first_misfit(known, reading.kind, first_row)}, "
                f"expected {_EXPECTED[reading.kind]}; "
                "correct the value, or leave it empty where there is none"
            )
    return cells


def _first_misfit(text: Column, kind: ColumnKind, first_row: int | None) -> str:
    """Show the first value that is of another kind, and its row."""
    start, end = 0, len(text)
    while end - start > 1:  # the values before `start` fit, those before `end` do not
        middle = (start + end) // 2
        if _convert(text.slice(start, middle - start), kind) is None:
            end = middle
        else:
            start = middle
    if _convert(text.slice(start, 1), kind) is not None:
        return "times with and without a time zone"  # each fits alone, but not together
    where = "" if first_row is None else f" (row {first_row + start})"
    return quoted(text[start].as_py()) + where


def reading_kind(feature: Feature) -> ColumnKind:
    """Return how to read the text of a column that a circuit knows.

    Categories that are numbers come from a table with types; they are read as numbers.
    """
    if feature.kind == "integer":  # one type for all chunks, even if one of them holds 2.5
        return "number"
    if feature.kind != "category" or not feature.categories:
        return feature.kind
    types: set[type[Category]] = {type(category) for category in feature.categories}
    if str in types:
        return "category"
    return "boolean" if types == {bool} else "integer" if types == {int} else "number"


def used_features(circuit: Circuit) -> Sequence[Feature]:
    """List the columns that a circuit reads."""
    used = {literal.column for literal in circuit.literals}
    return [circuit.columns[index] for index in sorted(used)]


def _convert(text: Column, kind: ColumnKind) -> Column | None:
    """Convert values; returns None where some value is of another kind."""
    if kind == "date":
        return _moments(text)
    try:
        if kind == "boolean":
            return pc.cast(text, pa.bool_())
        numbers = pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return None
    return numbers if kind == "number" else _whole_numbers(text, numbers)


def _whole_numbers(text: Column, numbers: Column) -> Column:
    """Read text as exact integers; as floats if a value is not whole or exceeds 64 bits."""
    digits = pc.replace_substring_regex(text, _WHOLE_SPELLINGS, "")
    for whole in (pa.int64(), pa.uint64()):
        if _fits(digits, whole):
            return pc.cast(digits, whole)
    return numbers


def _moments(text: Column) -> Column | None:
    """Read dates and times; those with a time zone are converted to UTC."""
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
