"""Pieces of Java code within the limits of the language: functions, strings, statements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dln.exporters.layout import CHUNK

_GROUP = 10
"""The most functions of one kind in one class."""
_PIECE = 100
"""The most comparisons or votes in one statement. javac parses long ones by recursion."""
_LONGEST = 10_000
"""The most characters in one string literal."""


@dataclass(frozen=True)
class Functions:
    """Functions that share one task, and the calls to them."""

    text: str
    calls: tuple[str, ...]


def functions(kind: str, stem: str, parameters: str, bodies: Iterable[Sequence[str]]) -> Functions:
    """Write each body as a function, because Java limits a function to 64 KB of code.

    All but the first few are in nested classes, because a class is limited to 65,535 constants.
    """
    arguments = ", ".join(parameter.split()[1] for parameter in parameters.split(", ") if parameter)
    groups: list[list[str]] = []
    calls = []
    for number, body in enumerate(bodies):
        if number % _GROUP == 0:
            groups.append([])
        opening = f"    private static {kind} {stem}{number}({parameters}) {{"
        groups[-1].append("\n".join([opening, *body, "    }"]) + "\n")
        holder = f"{_holder(stem, len(groups) - 1)}." if len(groups) > 1 else ""
        calls.append(f"{holder}{stem}{number}({arguments})")
    written = ["\n".join(group) for group in groups]
    for number, text in enumerate(written[1:], start=1):
        opening = f"    private static final class {_holder(stem, number)} {{"
        written[number] = f"{opening}\n{text}    }}\n"
    return Functions("\n".join(written), tuple(calls))


def _holder(stem: str, number: int) -> str:
    return f"{stem.capitalize()}${number}"  # names that a user chose never contain $


def text_functions(stem: str, texts: Iterable[str]) -> Functions:
    """Write functions that return arrays of strings."""
    lines = ((1, f"            {java_text(text)},") for text in texts)
    bodies = (["        return new String[] {", *part, "        };"] for part in parts_of(lines))
    return functions("String[]", stem, "", bodies)


def parts_of(lines: Iterable[tuple[int, str]]) -> Iterator[list[str]]:
    """Split statements, each with its weight, into parts that fit in one function."""
    part: list[str] = []
    total = 0
    for weight, line in lines:
        if part and total + weight > CHUNK:
            yield part
            part, total = [], 0
        part.append(line)
        total += weight
    if part:
        yield part


def cut(items: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split a long list into pieces that fit in one statement."""
    return (items[at : at + _PIECE] for at in range(0, len(items), _PIECE))


def java_string(text: str) -> str:
    r"""Write a string literal in ASCII.

    Control characters are octal: Java replaces \u escapes before it parses, so that \u000a would be
    a line break inside the literal.

    >>> print(java_string('é"\n\\u000a'))
    "\u00e9\"\012\\u000a"
    """
    written = []
    for letter in text:
        if letter in '"\\':
            written.append(f"\\{letter}")
        elif " " <= letter <= "~":
            written.append(letter)
        elif letter < " ":
            written.append(f"\\{ord(letter):03o}")
        else:
            units = letter.encode("utf-16-be", "surrogatepass")
            written += [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
    return '"' + "".join(written) + '"'


def java_double(value: float) -> str:
    """Write a number of type double."""
    if math.isinf(value):
        return "Double.POSITIVE_INFINITY" if value > 0 else "Double.NEGATIVE_INFINITY"
    return repr(value)


def java_text(text: str) -> str:
    """Write text of any length. Java limits a string literal to 65,535 bytes."""
    starts = range(0, len(text), _LONGEST)
    if len(starts) <= 1:
        return java_string(text)
    pieces = ", ".join(java_string(text[at : at + _LONGEST]) for at in starts)
    return f'String.join("", {pieces})'
