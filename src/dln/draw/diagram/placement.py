"""Positions of vertices and edges: the result of a layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dln.draw.diagram.scene import Point


@dataclass(frozen=True)
class Frame:
    """The centre of a vertex and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """The left border."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """The right border."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """The upper border."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The lower border."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Waypoint:
    """A straight stretch of an edge, past the vertices of a layer."""

    left: float
    right: float
    y: float


@dataclass(frozen=True)
class Placement:
    """A frame for each vertex by its key; waypoints and arrivals in the order of the edges.

    The arrival of an edge is the point where it meets its target.
    """

    frames: dict[str, Frame]
    waypoints: tuple[tuple[Waypoint, ...], ...]
    arrivals: tuple[Point, ...]

    def moved_to(self, left: float, top: float) -> Placement:
        """Move everything so that the upper left corner is here."""
        ways = [way for chain in self.waypoints for way in chain]
        dx = left - min(frame.left for frame in self.frames.values())
        dy = top - min([frame.top for frame in self.frames.values()] + [way.y for way in ways])
        frames = {
            key: replace(frame, x=frame.x + dx, y=frame.y + dy)
            for key, frame in self.frames.items()
        }
        waypoints = tuple(
            tuple(Waypoint(way.left + dx, way.right + dx, way.y + dy) for way in chain)
            for chain in self.waypoints
        )
        arrivals = tuple((x + dx, y + dy) for x, y in self.arrivals)
        return Placement(frames, waypoints, arrivals)

    @property
    def right(self) -> float:
        """The right border of all vertices."""
        return max(frame.right for frame in self.frames.values())

    @property
    def bottom(self) -> float:
        """The lower border of all vertices and edges."""
        ways = [way.y for chain in self.waypoints for way in chain]
        return max([frame.bottom for frame in self.frames.values()] + ways)
