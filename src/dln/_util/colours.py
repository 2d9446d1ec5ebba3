"""Colours of classes and of the parts of a diagram, on a light and on a dark page."""

from __future__ import annotations

from typing import NamedTuple

# After Okabe and Ito: colour-blind readers can distinguish them, and each has a contrast of at
# least 3 on white (tests/_util/test_colours.py).
COLOURS = ("#0072B2", "#D55E00", "#00875F", "#882255", "#6E4600", "#1F2F7A", "#8F6BE0")
GREY = "#6B7280"


class Ink(NamedTuple):
    """A colour on a light page and on a dark one."""

    light: str
    dark: str


PAPER = {
    "page": Ink("#ffffff", "#15181d"),
    "ink": Ink("#1a1a1a", "#ececec"),
    "muted": Ink("#5c5c5c", "#a8a8a8"),
    "line": Ink("#7a7f87", "#8b919b"),
    "literal": Ink("#fff3c4", "#453c16"),
    "literal-line": Ink("#b8912a", "#c9a644"),
    "gate": Ink("#e9eff8", "#24344b"),
    "gate-line": Ink("#4a6fa5", "#7ea3d8"),
    "rule": Ink("#f6f6f4", "#22262d"),
    "rule-line": Ink("#a5a5a0", "#616873"),
    "class": Ink("#ffffff", "#1d2127"),
    "lit": Ink("#c2185b", "#ff7eb6"),
}
"""Colours by their use."""

FILLS = {
    "literal": ("literal", "literal-line"),
    "gate": ("gate", "gate-line"),
    "rule": ("rule", "rule-line"),
    "part": ("page", "rule-line"),
    "link": ("page", "line"),
}
"""Fill and border of everything that has no class colour."""

CLASS_COLOURS = (*COLOURS, GREY)
"""Borders and votes of classes on a light page; classes beyond the last share it."""

DARK_CLASS_COLOURS = (
    "#56B4E9",
    "#F0934E",
    "#2FBF93",
    "#F4A6D7",
    "#F0E442",
    "#B3501F",
    "#8F7BE8",
    "#8A93A0",
)
"""The same on a dark page."""


def class_colour(number: int) -> int:
    """Return the index of a class's colour in `CLASS_COLOURS`."""
    return min(number, len(CLASS_COLOURS) - 1)
