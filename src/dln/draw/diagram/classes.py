"""Classes of a circuit -> the vertices that votes go to."""

from __future__ import annotations

from dln.core.circuit import Circuit
from dln.core.labels import label_text
from dln.draw.diagram.graph import Vertex
from dln.draw.diagram.reach import voting_rules


def class_key(number: int) -> str:
    """Name the vertex of a class."""
    return f"c{number}"


def class_vertices(circuit: Circuit) -> list[Vertex]:
    """Make a vertex for each class, with its base votes."""
    voting = voting_rules(circuit)
    vertices = []
    for number, (label, base) in enumerate(zip(circuit.classes, circuit.base_votes, strict=True)):
        rules = tuple(rule for rule in voting if circuit.rules[rule].votes[number])
        # A number alone in a box would not be clear.
        lines = [label_text(label) if isinstance(label, str) else f"class {label_text(label)}"]
        if base:
            lines.append(f"{base:+d} always".replace("-", "−"))
        elif not rules:
            lines.append("no votes")
        vertices.append(
            Vertex(
                key=class_key(number),
                kind="class",
                lines=tuple(lines),
                title=": ".join(lines),
                label=number,
                rules=rules,
            )
        )
    return vertices


def circuit_title(circuit: Circuit) -> str:
    """Describe the picture for screen readers."""
    labels = [label_text(label) for label in circuit.classes]
    return f"Circuit that decides between {', '.join(labels[:6])}{' …' if len(labels) > 6 else ''}"
