"""A scene: all shapes with positions, in screen pixels with y downwards, for the renderers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from dln.draw.diagram.graph import EdgeKind, VertexKind

Point = tuple[float, float]
Kind = VertexKind | EdgeKind | OneOf["note"]


@dataclass(frozen=True)
class Box:
    """A rectangle, given by its centre; `radius` rounds its corners."""

    x: float
    y: float
    width: float
    height: float
    radius: float


@dataclass(frozen=True)
class Diamond:
    """A rhombus, given by its centre."""

    x: float
    y: float
    width: float
    height: float

    @property
    def corners(self) -> tuple[Point, Point, Point, Point]:
        """The left, upper, right and lower corner."""
        dx, dy = self.width / 2, self.height / 2
        x, y = self.x, self.y
        return (x - dx, y), (x, y - dy), (x + dx, y), (x, y + dy)


@dataclass(frozen=True)
class Round:
    """A small circle, which marks an inverted input."""

    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Path:
    """A smooth line: its first point, then two control points and an end for each piece.

    A `neutral` path is shared by votes for several classes, so it has no class colour.
    """

    points: tuple[Point, ...]
    dashed: bool = False
    neutral: bool = False


@dataclass(frozen=True)
class Text:
    """A line of text; `y` is its vertical centre."""

    x: float
    y: float
    text: str
    size: float
    anchor: OneOf["start", "middle", "end"] = "middle"
    bold: bool = False

    @property
    def base(self) -> float:
        """The y of the baseline, which does not depend on the letters."""
        return self.y + 0.36 * self.size


Shape = Box | Diamond | Round | Path | Text


@dataclass(frozen=True)
class Item:
    """The shapes of one vertex, edge or note, and what it represents.

    The fields after `shapes` are those of `Vertex` and `Edge`. `rule` has several entries if rules
    that read the same wire share a line.
    """

    kind: Kind
    shapes: tuple[Shape, ...]
    title: str = ""
    wire: int | None = None
    label: int | None = None
    rule: tuple[int, ...] = ()
    rules: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scene:
    """A picture: items in drawing order."""

    width: float
    height: float
    items: tuple[Item, ...]
    title: str
    description: str
