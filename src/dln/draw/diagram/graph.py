"""The content of a diagram, without positions: vertices with their texts, and edges."""

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
        Unique name of the vertex, of letters and digits.
    lines
        The complete text. A class has its base votes in a second line.
    title
        The tooltip.
    wire, label, rule
        The wire, class or rule of the circuit that it shows, if any.
    rules
        The rules that depend on the vertex, in order.
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
    """A connection to a gate, or the votes of a wire or a rule for a class.

    Attributes
    ----------
    source, target
        Keys of vertices.
    wire
        The wire that it shows.
    rules
        The rules that depend on the edge; for votes, the rules that give them.
    inverted
        Whether the gate reads the negated wire.
    votes
        Votes for the class if the wire is 1; 0 for a connection to a gate.
    label
        The class that gets the votes.
    text
        The votes as text.
    """

    source: str
    target: str
    kind: EdgeKind
    wire: int
    rules: tuple[int, ...]
    inverted: bool = False
    votes: int = 0
    label: int | None = None
    text: str = ""


@dataclass(frozen=True)
class Graph:
    """Vertices in reading order, edges, and lines of text below them."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...]
    title: str
