"""Words that are read as missing values in a text table.

The default words are those of `pandas.read_csv`. They apply to every column and to the target, so
the command line and pandas agree on which values are missing. Parquet marks missing values itself,
so no word in it is read as missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dln.core.origin import Origin

MISSING_WORDS = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)
"""Missing in every column and in the target: the default of `pandas.read_csv`."""

NUMBER_WORDS = ("?", ".", "-")
"""Also missing in columns of numbers, booleans and dates, where they cannot be values."""

_SETTING = "missing"


@dataclass(frozen=True)
class MissingWords:
    """The words that are read as missing; an empty value always is.

    Attributes
    ----------
    everywhere
        In every column and in the target.
    in_numbers
        In columns of numbers, booleans and dates.
    option
        What `--missing` was given; None for the default words.
    """

    everywhere: tuple[str, ...] = MISSING_WORDS
    in_numbers: tuple[str, ...] = (*MISSING_WORDS, *NUMBER_WORDS)
    option: str | None = None

    @classmethod
    def from_option(cls, option: str) -> MissingWords:
        """Read `--missing`: words separated by commas, which replace the default words.

        >>> MissingWords.from_option("?, NA").everywhere
        ('', '?', 'NA')
        """
        given = (word.strip() for word in option.split(","))
        words = tuple(dict.fromkeys(["", *given]))
        return cls(words, words, option)


DEFAULT_WORDS = MissingWords()


def remember_words(origin: Origin, words: MissingWords | None) -> Origin:
    """Record the words of `--missing` in the origin, so that later commands use them too."""
    if words is None or words.option is None:
        return origin
    settings = {**dict(origin.settings), _SETTING: words.option}
    return replace(origin, settings=tuple(settings.items()))


def remembered_words(origin: Origin | None) -> MissingWords:
    """Return the words that a model was trained with, or the default words."""
    option = None if origin is None else dict(origin.settings).get(_SETTING)
    return MissingWords.from_option(option) if isinstance(option, str) else DEFAULT_WORDS
