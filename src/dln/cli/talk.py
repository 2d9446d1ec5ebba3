"""What the commands say: talk to standard error, results and JSON to standard output."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Sequence
from typing import Any

from dln.wording import some


def say(text: str) -> None:
    """Write a line for people, to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def show(text: str, *, aside: bool = False) -> None:
    """Write a result to standard output, or aside where that is taken by a model or table."""
    stream = sys.stderr if aside else sys.stdout
    # A terminal that is not UTF-8 shows what it can.
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def show_json(document: Any, *, aside: bool = False) -> None:
    """Write a result for programs."""
    show(json.dumps(document, indent=2, ensure_ascii=False, default=str), aside=aside)


def unknown(name: str, known: Sequence[str]) -> str:
    """Say which columns there are where one is not, and which was perhaps meant.

    >>> unknown("agee", ["age", "city"])
    "there is no column 'agee'; did you mean 'age'? The columns are: age, city"
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6) or [
        other for other in known if other.strip().casefold() == name.strip().casefold()
    ]
    hint = f"did you mean {close[0]!r}? The" if close else "the"
    return f"there is no column {name!r}; {hint} columns are: {some(known)}"
