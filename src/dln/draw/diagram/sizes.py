"""Vertex -> its displayed text and its size. All lengths are in pixels."""

from __future__ import annotations

from dataclasses import dataclass

from dln.draw.diagram.graph import Vertex, VertexKind
from dln.draw.diagram.metrics import BOLD, shorten, text_width, wrap

FONT, SMALL = 13.0, 11.0
MARGIN = 16.0
LINE = 17.0
"""Distance between lines of text."""
PORT_GAP = 19.0
"""Distance between the votes that a class receives, with room for a multiplier."""

_PADDING = 10.0
_DIAMOND = (44.0, 36.0)


@dataclass(frozen=True)
class TextSpace:
    """Maximum width and number of lines of a displayed text."""

    width: float
    most_lines: int


_SPACE: dict[VertexKind, TextSpace] = {
    "literal": TextSpace(270.0, 1),
    "class": TextSpace(170.0 / BOLD, 1),
    "rule": TextSpace(480.0, 4),
    "part": TextSpace(480.0, 4),
}


@dataclass(frozen=True)
class Size:
    """The displayed lines, and the width and height of the shape around them."""

    lines: tuple[str, ...]
    width: float
    height: float


def size_of(vertex: Vertex, n_votes: int) -> Size:
    """Return the size of a vertex. A class grows with the number of votes that it receives."""
    if vertex.kind == "gate":
        return Size(vertex.lines, *_DIAMOND)
    space = _SPACE[vertex.kind]
    lines: tuple[str, ...] = ()
    for line in vertex.lines:
        if space.most_lines == 1:
            lines += (shorten(line, FONT, space.width),)
        else:
            lines += wrap(line, FONT, space.width, space.most_lines)
    widest = max(text_width(line, FONT) for line in lines)
    if vertex.kind == "class":
        height = max(LINE * len(lines) + 20, PORT_GAP * n_votes + 8)
        return Size(lines, widest * BOLD + 4 * _PADDING, height)
    return Size(lines, widest + 2 * _PADDING, LINE * len(lines) + 11)
