"""What the commands print: messages to standard error, results and JSON to standard output.

Names and values of a table may hold control characters, which could change what a terminal shows.
Everything printed here shows them as escapes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from dln._util.messages import no_such_name

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters except tab and line feed, and characters that change the text direction."""


def escape_controls(text: str) -> str:
    r"""Write control characters as escapes, so that a terminal does not execute them.

    >>> print(escape_controls("red\x1b[31m"))
    red\x1b[31m
    """
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def print_message(text: str) -> None:
    """Write a message line to standard error."""
    sys.stderr.write(f"{escape_controls(text)}\n")
    sys.stderr.flush()


def message_printer(quiet: bool) -> Callable[[str], None]:
    """Return `print_message`, or a function that prints nothing."""
    return (lambda _: None) if quiet else print_message


def print_result(text: str, *, to_stderr: bool = False) -> None:
    """Write a result to standard output; with `to_stderr` to standard error.

    `to_stderr` is used if a model or table is written to standard output.
    """
    _write(escape_controls(text), to_stderr=to_stderr)


def print_json(document: Any, *, to_stderr: bool = False) -> None:
    """Write a result for programs."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    _write(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text), to_stderr=to_stderr)


def _write(text: str, *, to_stderr: bool) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    # Characters that the terminal's encoding lacks are written as escapes.
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def no_such_column(name: str, known: Sequence[str]) -> str:
    """Return the message for a column that does not exist, with a suggestion.

    >>> no_such_column("agee", ["age", "city"])
    "there is no column 'agee'; did you mean 'age'? The columns are: age, city"
    """
    return no_such_name("column", name, known)
