"""Estimate the width of a text without a font; cut and wrap text to a width.

Promise: for Western European letters, the estimate is at least the width in DejaVu Sans, a wide
font that comes with matplotlib. The fonts in the SVG are not wider.
"""

from __future__ import annotations

import unicodedata

_EM = {
    letter: width
    for width, letters in (
        (0.30, "'ijl"),
        (0.36, " ,.I/:;\\|·"),
        (0.42, "!()-[]frt"),
        (0.58, '"*?_`cksz'),
        (0.84, "#+<=>^~¬±×÷−∧∨⊕→ħŉ"),
        (1.08, "%@MWm…—©®ÆŒæœ¼½¾ŴĦ"),
        (0.9, "&wŵ○"),
    )
    for letter in letters
}
BOLD = 1.18
"""Maximum width of bold letters relative to regular ones."""


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text, in the unit of the font size."""
    return size * sum(map(_em, text))


def _em(letter: str) -> float:
    if letter in _EM:
        return _EM[letter]
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.8 if letter.isupper() or ord(letter) > 0x24F else 0.65


def shorten(text: str, size: float, width: float) -> str:
    """Cut the end of a text so that it fits, and mark that with ….

    >>> shorten("petal length (cm) > 2.5", 10, 80)
    'petal length…'
    """
    if _count_fitting(text, size, width) == len(text):
        return text
    n_kept = _count_fitting(text, size, width, after=_em("…"))
    return f"{text[:n_kept].rstrip()}…"


def _count_fitting(text: str, size: float, width: float, after: float = 0.0) -> int:
    """Count the letters that fit, with `after` em of room behind them; stop at the first misfit."""
    total = 0.0
    for n_fitting, letter in enumerate(text):
        total += _em(letter)
        if size * (total + after) > width:
            return n_fitting
    return len(text)


def wrap(text: str, size: float, width: float, most_lines: int) -> tuple[str, ...]:
    """Break a text between words into lines that fit. If there are too many, cut it with ….

    >>> wrap("age > 54 and not smoker and dose <= 3", 10, 90, 2)
    ('age > 54 and', 'not smoker an…')
    """
    words = text.split(" ")
    lines: list[str] = []
    while words and len(lines) < most_lines - 1:
        line = words.pop(0)
        while words and text_width(f"{line} {words[0]}", size) <= width:
            line = f"{line} {words.pop(0)}"
        if text_width(line, size) > width:  # one long word continues in the next line
            whole = line
            line = shorten(whole, size, width).removesuffix("…")
            words.insert(0, whole[len(line) :])
        lines.append(line)
    rest = " ".join(words)
    return (*lines, shorten(rest, size, width)) if rest else tuple(lines)
