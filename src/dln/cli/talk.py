"""What the commands print: messages to standard error, results and JSON to standard output.

Names and values of a table may hold control characters, which could change what a terminal shows.
Everything printed here shows them as escapes.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from dln.wording import some

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters except tab and new line, and those that reverse the order of text."""


def visible(text: str) -> str:
    r"""Write control characters as escapes, so that no terminal obeys them.

    >>> print(visible("red\x1b[31m"))
    red\x1b[31m
    """
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str) -> None:
    """Write a line for people, to standard error."""
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()


def sayer(quiet: bool) -> Callable[[str], None]:
    """Return `say`, or a function that prints nothing."""
    return (lambda _: None) if quiet else say


def show(text: str, *, aside: bool = False) -> None:
    """Write a result to standard output, or to standard error where a model or table goes there."""
    _write(visible(text), aside=aside)


def show_json(document: Any, *, aside: bool = False) -> None:
    """Write a result for programs."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    _write(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text), aside=aside)


def _write(text: str, *, aside: bool) -> None:
    stream = sys.stderr if aside else sys.stdout
    # A terminal that is not UTF-8 shows what it can.
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def unknown(name: str, known: Sequence[str]) -> str:
    """Return the message for a column that does not exist, with the one that was perhaps meant.

    >>> unknown("agee", ["age", "city"])
    "there is no column 'agee'; did you mean 'age'? The columns are: age, city"
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6) or [
        other for other in known if other.strip().casefold() == name.strip().casefold()
    ]
    hint = f"did you mean {close[0]!r}? The" if close else "the"
    return f"there is no column {name!r}; {hint} columns are: {some(known)}"
