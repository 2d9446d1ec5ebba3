"""Scene -> PNG and PDF, drawn by matplotlib on a light page.

Characters that matplotlib's font lacks, for example emoji, are drawn as an empty box.
"""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from dln._util.colours import CLASS_COLOURS, FILLS, PAPER, class_colour
from dln.draw.canvas import escape_dollars, make_axes
from dln.draw.diagram.scene import Box, Diamond, Item, Path, Round, Scene, Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 96.0  # screen pixels per inch
_LETTER = 72 / _POINTS  # points per inch, the unit of font sizes
_SHARP = 200.0
_MOST_PIXELS = 30_000.0
_FONT = "DejaVu Sans"  # comes with matplotlib
BOX = "□"
"""Replaces a character that cannot be drawn."""


def paint(scene: Scene, form: OneOf["png", "pdf"]) -> bytes:
    """Draw a scene. Requires matplotlib."""
    figure = to_figure(scene)
    buffer = io.BytesIO()
    sharp = min(_SHARP, _MOST_PIXELS * _POINTS / max(scene.width, scene.height))
    # Without a creation time, so that the same circuit gives the same bytes.
    metadata: dict[str, Any] = {"CreationDate": None} if form == "pdf" else {}
    figure.savefig(buffer, format=form, dpi=sharp, metadata={"Title": scene.title, **metadata})
    return buffer.getvalue()


def lacking(scene: Scene) -> str:
    """Return the characters of a scene that cannot be drawn. Requires matplotlib."""
    texts = [shape for item in scene.items for shape in item.shapes if isinstance(shape, Text)]
    letters = [letter for x in texts for letter in x.text if ord(letter) not in _glyphs(x.bold)]
    return "".join(dict.fromkeys(letters))


@cache
def _glyphs(bold: bool) -> frozenset[int]:
    """Return the code points of the characters in the font."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    weight = "bold" if bold else "normal"
    return frozenset(get_font(findfont(FontProperties(family=_FONT, weight=weight))).get_charmap())


def to_figure(scene: Scene) -> Figure:
    """Draw a scene on a matplotlib figure of the same size."""
    (ax,) = make_axes(None, 1, (scene.width / _POINTS, scene.height / _POINTS))
    figure: Figure = ax.figure.figure
    figure.set_layout_engine("none")
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(0, scene.width), ylim=(scene.height, 0))
    ax.axis("off")
    for order, item in enumerate(scene.items):
        fill, line = _colours(item)
        for shape in item.shapes:
            if isinstance(shape, Text):
                _write(ax, shape, item, order)
            else:
                patch = _patch(shape, fill, line)
                patch.set_zorder(order)
                patch.set_linewidth((2.0 if item.kind == "class" else 1.3) * _LETTER)
                ax.add_patch(patch)
    return figure


def _colours(item: Item) -> tuple[str, str]:
    if item.label is not None and item.kind in ("class", "vote"):
        return PAPER["class"].light, CLASS_COLOURS[class_colour(item.label)]
    fill, line = FILLS.get(item.kind, ("page", "line"))
    return PAPER[fill].light, PAPER[line].light


def _write(ax: Any, text: Text, item: Item, order: int) -> None:
    across = {"start": "left", "middle": "center", "end": "right"}[text.anchor]
    glyphs = _glyphs(text.bold)
    painted = "".join(letter if ord(letter) in glyphs else BOX for letter in text.text)
    ax.text(
        text.x,
        text.base,
        escape_dollars(painted),
        fontsize=text.size * _LETTER,
        fontweight="bold" if text.bold else "normal",
        family=_FONT,
        ha=across,
        va="baseline",
        color=PAPER["muted" if item.kind == "note" else "ink"].light,
        zorder=order + 0.5,
    )


def _patch(shape: Box | Diamond | Round | Path, fill: str, line: str) -> Any:
    from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path as Curve

    match shape:
        case Box():
            left, top = shape.x - shape.width / 2, shape.y - shape.height / 2
            style = f"round,pad=0,rounding_size={shape.radius}"
            size = (left, top), shape.width, shape.height
            return FancyBboxPatch(*size, boxstyle=style, facecolor=fill, edgecolor=line)
        case Diamond():
            return Polygon(shape.corners, closed=True, facecolor=fill, edgecolor=line)
        case Round():
            return Circle((shape.x, shape.y), shape.radius, facecolor=fill, edgecolor=line)
        case Path():
            codes = [Curve.MOVETO] + [Curve.CURVE4] * (len(shape.points) - 1)
            dashes: Any = (0, (4.0, 3.0)) if shape.dashed else "-"
            curve = Curve(shape.points, codes)
            colour = PAPER["line"].light if shape.neutral else line
            return PathPatch(curve, facecolor="none", edgecolor=colour, linestyle=dashes)
