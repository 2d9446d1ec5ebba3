"""Circuit -> the graph of its rules as text, each under the classes that it votes for.

Promise: rules have the same text as in `dln.explain`, in the shortest form. If there are too many,
those with the most votes are shown, and a note says how many are not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from dln._util.messages import count_of
from dln.core.circuit import Circuit
from dln.draw.diagram.classes import circuit_title, class_vertices, vote_text
from dln.draw.diagram.graph import Edge, Graph, Vertex
from dln.draw.diagram.reach import rules_by_wire, voting_rules
from dln.explain.shortest import short_writer
from dln.explain.text import readout_note
from dln.explain.writer import Writer, missing_note, wires_to_name


def rule_graph(circuit: Circuit, most_rules: int) -> Graph:
    """Make the graph: for each class its rules, strongest first, then the parts they refer to."""
    ranked = [_of_class(circuit, label) for label in range(circuit.readout.n_outputs)]
    shown = _heaviest(circuit, ranked, most_rules)
    writer = short_writer(circuit.logic, circuit.readout.wires)
    numbers = sorted({number for kept in shown for number in kept})
    texts = {number: writer.text(circuit.rules[number].wire) for number in numbers}
    vertices: list[Vertex] = []
    edges: list[Edge] = []
    for label, vertex in enumerate(class_vertices(circuit)):
        for number in shown[label]:
            wire, votes = circuit.rules[number]
            key, text, rules = f"r{number}{vertex.key}", texts[number], (number,)
            vertices.append(Vertex(key, "rule", (text,), text, wire, label, number, rules))
            edges.append(
                Edge(
                    key,
                    vertex.key,
                    "vote",
                    wire,
                    rules,
                    votes=votes[label],
                    label=label,
                    text=vote_text(circuit, votes[label]),
                )
            )
        more = len(ranked[label]) - len(shown[label])
        lines = (*vertex.lines, f"{count_of(more, 'rule')} not shown") if more else vertex.lines
        vertices.append(replace(vertex, lines=lines))
    parts = _part_vertices(circuit, writer)
    more_parts = max(len(parts) - most_rules, 0)
    return Graph(
        vertices=(*vertices, *parts[:most_rules]),
        edges=tuple(edges),
        notes=_notes(circuit, len(voting_rules(circuit)) - len(numbers), more_parts),
        title=circuit_title(circuit),
    )


def _of_class(circuit: Circuit, label: int) -> list[int]:
    """List the rules that vote for or against a class, the strongest first."""
    voting = [number for number in voting_rules(circuit) if circuit.rules[number].votes[label]]
    return sorted(voting, key=lambda number: -abs(circuit.rules[number].votes[label]))


def _heaviest(circuit: Circuit, ranked: list[list[int]], most: int) -> list[list[int]]:
    """Keep the strongest votes. Of equal votes, keep those that come first in their class."""
    votes = [
        (-abs(circuit.rules[number].votes[label]), place, label)
        for label, numbers in enumerate(ranked)
        for place, number in enumerate(numbers)
    ]
    kept = Counter(label for _, _, label in sorted(votes)[:most])
    return [numbers[: kept[label]] for label, numbers in enumerate(ranked)]


def _part_vertices(circuit: Circuit, writer: Writer) -> list[Vertex]:
    definitions = writer.definitions()
    wires = {
        writer.name_or_text(wire): wire
        for wire in sorted(wires_to_name(circuit.logic, circuit.readout.wires))
    }
    rules = rules_by_wire(circuit)
    vertices = []
    for name, text in definitions:
        wire, whole = wires[name], f"{name}: {text}"
        key = f"p{wire}"
        vertices.append(Vertex(key, "part", (whole,), whole, wire, rules=rules[wire]))
    return vertices


def _notes(circuit: Circuit, more_rules: int, more_parts: int) -> tuple[str, ...]:
    left_out = []
    given = "votes" if circuit.task == "classes" else "points"
    if more_rules:
        left_out.append(f"{count_of(more_rules, 'more rule')}, none with more {given} than these")
    if more_parts:
        left_out.append(count_of(more_parts, "more named part"))
    return (
        readout_note(circuit.readout),
        *missing_note(circuit.logic),
        *([f"Not shown: {'; '.join(left_out)}."] if left_out else []),
    )
