"""A scene: shapes with places, in points of a screen, y downwards; all that a renderer needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from dln.draw.diagram.graph import EdgeKind, VertexKind

Point = tuple[float, float]
Kind = VertexKind | EdgeKind | OneOf["note"]


@dataclass(frozen=True)
class Box:
    """A rectangle around its middle; `radius` rounds its corners."""

    x: float
    y: float
    width: float
    height: float
    radius: float


@dataclass(frozen=True)
class Diamond:
    """A rhombus around its middle."""

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
    """A small circle: the sign of an inverted input."""

    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Path:
    """A smooth line: its first point, then two control points and an end for each piece.

    `neutral` is the stretch that votes for several classes share: it has no class's colour.
    """

    points: tuple[Point, ...]
    dashed: bool = False
    neutral: bool = False


@dataclass(frozen=True)
class Text:
    """A line of text; `y` is the middle of its height."""

    x: float
    y: float
    text: str
    size: float
    anchor: OneOf["start", "middle", "end"] = "middle"
    bold: bool = False

    @property
    def base(self) -> float:
        """Where its letters stand: a text with tails is not lower than one without."""
        return self.y + 0.36 * self.size


Shape = Box | Diamond | Round | Path | Text


@dataclass(frozen=True)
class Item:
    """The shapes of one vertex, edge or note, with what it stands for.

    The fields below `shapes` are those of `Vertex` and `Edge`; `rule` lists more than one where
    rules that read the same wire share a line.
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
    """A picture: items in the order in which they are painted."""

    width: float
    height: float
    items: tuple[Item, ...]
    title: str
    description: str
