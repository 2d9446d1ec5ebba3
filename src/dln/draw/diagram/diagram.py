"""Circuit -> Diagram, which can be saved, embedded and shown in notebooks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, cast, get_args
from typing import Literal as OneOf

from dln._util.atomic_file import write_atomically
from dln.core.circuit import Circuit, check_is_circuit
from dln.draw.canvas import ending_of
from dln.draw.diagram.compose import compose
from dln.draw.diagram.dot import to_dot
from dln.draw.diagram.gate_graph import gate_graph
from dln.draw.diagram.graph import Graph
from dln.draw.diagram.layers import place_layers
from dln.draw.diagram.paint import paint
from dln.draw.diagram.rule_graph import rule_graph
from dln.draw.diagram.scene import Scene
from dln.draw.diagram.sizes import size_of
from dln.draw.diagram.stack import place_stack
from dln.draw.diagram.svg import to_svg
from dln.errors import OptionError

Detail = OneOf["auto", "gates", "rules"]
Format = OneOf["svg", "dot", "png", "pdf"]

MOST_LITERALS, MOST_GATES, MOST_VOTES = 50, 50, 60
"""Circuits with more gates than this are shown as rules by default."""
MOST_RULES = 50
"""Number of rules that are shown by default."""


@dataclass(frozen=True)
class Diagram:
    """A diagram of a circuit.

    Attributes
    ----------
    graph
        The content: literals, gates and classes, or rules and classes.
    detail
        Which of the two it is: "gates" or "rules".
    """

    graph: Graph
    detail: OneOf["gates", "rules"]

    @cached_property
    def scene(self) -> Scene:
        """The shapes with their positions, computed on first use."""
        votes = Counter(edge.target for edge in self.graph.edges)
        sizes = {vertex.key: size_of(vertex, votes[vertex.key]) for vertex in self.graph.vertices}
        place = place_layers if self.detail == "gates" else place_stack
        return compose(self.graph, sizes, place(self.graph, sizes))

    def to_svg(self, prefix: str | None = None) -> str:
        """Return the diagram as SVG, for a file or as an element of an HTML page.

        Parameters
        ----------
        prefix
            Prefix of ids. By default it is derived from the content.
        """
        return to_svg(self.scene, prefix)

    def to_dot(self) -> str:
        """Return the graph as DOT, for Graphviz."""
        return to_dot(self.graph)

    def to_bytes(self, format: Format) -> bytes:
        """Return the content of a file in this format. PNG and PDF require matplotlib."""
        if format == "svg":
            return self.to_svg().encode()
        if format == "dot":
            return self.to_dot().encode()
        return paint(self.scene, format)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file. The format is chosen by its ending: .svg, .dot, .png or .pdf."""
        write_atomically(path, self.to_bytes(format_of(path)))

    def _repr_svg_(self) -> str:
        return self.to_svg()


def format_of(path: str | PathLike[str]) -> Format:
    """Return the format for the ending of a file name."""
    return cast("Format", ending_of(path, get_args(Format)))


def draw_circuit(
    circuit: Circuit, *, detail: Detail = "auto", most_rules: int = MOST_RULES
) -> Diagram:
    """Draw a circuit as a diagram, from left to right: features, gates, classes with votes.

    Parts without effect on a vote are not drawn. Rules that read the same wire share one line, and
    their votes for a class are added up.

    Parameters
    ----------
    circuit
        The circuit. `dln.simplify` it first for a smaller diagram.
    detail
        "gates" draws literals, gates and their connections. "rules" draws a box with the text of
        each rule, under each class that it votes for. "auto" draws gates if there are few, else
        rules.
    most_rules
        Maximum number of boxes of rules. Those with the most votes are shown, and a line says how
        many are not.

    Returns
    -------
    Diagram

    Raises
    ------
    OptionError
        If `detail` or `most_rules` is not valid.

    Examples
    --------
    >>> from dln import GATE_BY_NAME, Above, Circuit, Column, Node, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"), Column("smoker", "boolean")),
    ...     (Above(0, 54.0), Above(1, 0.5)),
    ...     (Node(GATE_BY_NAME["AND"], 0, 1),), (Rule(2, (0, 3)),), (1, 0), ("healthy", "ill"),
    ... )
    >>> diagram = draw_circuit(circuit)
    >>> diagram.detail
    'gates'
    >>> [vertex.lines[0] for vertex in diagram.graph.vertices]
    ['age > 54', 'smoker', '∧', 'healthy', 'ill']
    """
    check_is_circuit(circuit, "draw_circuit")
    if detail not in get_args(Detail):
        raise OptionError(
            f"detail is {detail!r}, expected one of {', '.join(map(repr, get_args(Detail)))}"
        )
    if not _is_count(most_rules):
        raise OptionError(f"most_rules is {most_rules!r}, expected a whole number of at least 1")
    chosen = _choose(circuit) if detail == "auto" else detail
    if chosen == "gates":
        return Diagram(gate_graph(circuit), "gates")
    return Diagram(rule_graph(circuit, most_rules), "rules")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _choose(circuit: Circuit) -> OneOf["gates", "rules"]:
    graph = gate_graph(circuit)
    kinds: Counter[str] = Counter(vertex.kind for vertex in graph.vertices)
    kinds.update(edge.kind for edge in graph.edges)
    most = {"literal": MOST_LITERALS, "gate": MOST_GATES, "vote": MOST_VOTES}
    return "gates" if all(kinds[kind] <= limit for kind, limit in most.items()) else "rules"
