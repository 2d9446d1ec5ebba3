"""Outputs of a circuit, classes or a number -> the vertices that votes or points go to."""

from __future__ import annotations

from typing import assert_never

from dln.core.circuit import Circuit
from dln.core.labels import label_text
from dln.core.literals import format_name
from dln.core.readout import Votes
from dln.core.score import Score
from dln.draw.diagram.graph import Vertex
from dln.draw.diagram.reach import voting_rules


def class_key(number: int) -> str:
    """Name the vertex of a class."""
    return f"c{number}"


def class_vertices(circuit: Circuit) -> list[Vertex]:
    """Make a vertex for each class, with its base votes, or one for the number."""
    voting = voting_rules(circuit)
    vertices = []
    for number in range(circuit.readout.n_outputs):
        rules = tuple(rule for rule in voting if circuit.rules[rule].votes[number])
        lines = _lines(circuit, number, has_rules=bool(rules))
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


def _lines(circuit: Circuit, number: int, *, has_rules: bool) -> list[str]:
    """Write the name of an output, and what it has before any rule fires."""
    base = circuit.base_votes[number]
    match circuit.readout:
        case Score() as score:
            return [format_name(score.name), f"starts at {_minus(f'{score.decimal(base):f}')}"]
        case Votes() as votes:
            label = votes.classes[number]
            # A number alone in a box would not be clear.
            name = label_text(label) if isinstance(label, str) else f"class {label_text(label)}"
            if base:
                return [name, f"{_minus(f'{base:+d}')} always"]
            return [name] if has_rules else [name, "no votes"]
        case _:
            assert_never(circuit.readout)


def vote_text(circuit: Circuit, votes: int) -> str:
    """Write what a wire gives an output: a multiplier of a vote, or what it adds to a number."""
    match circuit.readout:
        case Score() as score:
            return _minus(f"{score.decimal(votes):+f}")
        case Votes():
            return _minus(f"×{votes}")
        case _:
            assert_never(circuit.readout)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def circuit_title(circuit: Circuit) -> str:
    """Describe the picture for screen readers."""
    if isinstance(circuit.readout, Score):
        return f"Circuit that predicts {format_name(circuit.readout.name)}"
    labels = [label_text(label) for label in circuit.classes]
    return f"Circuit that decides between {', '.join(labels[:6])}{' …' if len(labels) > 6 else ''}"
