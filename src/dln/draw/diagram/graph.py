"""What a diagram shows, before anything has a place: vertices with their texts, and edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

VertexKind = OneOf["literal", "gate", "class", "rule", "part"]
EdgeKind = OneOf["link", "vote"]


@dataclass(frozen=True)
class Vertex:
    """A literal, a gate, a class, a rule under one of its classes, or a named part of rules.

    Attributes
    ----------
    key
        Names the vertex in its graph: letters and digits.
    lines
        The text, whole; a class has its base votes in a second line.
    title
        The text that is shown when the vertex is pointed at.
    wire, label, rule
        Which wire of the circuit it is, which class, which rule, where it is one.
    rules
        The rules whose path leads through the vertex, in order.
    column
        The column that a literal reads.
    """

    key: str
    kind: VertexKind
    lines: tuple[str, ...]
    title: str
    wire: int | None = None
    label: int | None = None
    rule: int | None = None
    rules: tuple[int, ...] = ()
    column: int | None = None


@dataclass(frozen=True)
class Edge:
    """What a gate reads, or the votes that a wire or a rule gives to a class.

    Attributes
    ----------
    source, target
        Keys of vertices.
    wire
        The wire that it carries.
    rules
        The rules whose path leads through the edge; of votes, the rules that give them.
    inverted
        Whether the gate reads the opposite of the wire.
    votes
        What the class gets where the wire is 1; 0 for a link.
    label
        The class that gets the votes.
    """

    source: str
    target: str
    kind: EdgeKind
    wire: int
    rules: tuple[int, ...]
    inverted: bool = False
    votes: int = 0
    label: int | None = None


@dataclass(frozen=True)
class Graph:
    """Vertices in the order in which they are read, edges, and lines of text below them."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...]
    title: str


def times(votes: int) -> str:
    """Write the multiplier of a vote.

    >>> times(3), times(-2)
    ('×3', '×−2')
    """
    return f"×{votes}".replace("-", "−")


def count_of(number: int, noun: str) -> str:
    """Write how many there are of something.

    >>> count_of(1, "rule"), count_of(1200, "rule")
    ('1 rule', '1,200 rules')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
