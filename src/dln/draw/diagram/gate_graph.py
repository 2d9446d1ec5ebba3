"""Circuit -> the graph of its literals, gates and classes with their connections.

Promise: each wire that a vote depends on is one vertex, and each reader of it one edge.
"""

from __future__ import annotations

from dln._util.messages import count_of
from dln.core.circuit import Circuit
from dln.draw.diagram.classes import circuit_title, class_key, class_vertices, vote_text
from dln.draw.diagram.graph import Edge, Graph, Vertex
from dln.draw.diagram.reach import rules_by_wire, voting_rules
from dln.draw.diagram.symbols import Symbol, gate_symbol, legend
from dln.explain.text import readout_note

Rules = dict[int, tuple[int, ...]]


def gate_graph(circuit: Circuit) -> Graph:
    """Make the graph. Literals are ordered by feature, then by cutoff or category."""
    rules = rules_by_wire(circuit)
    first_gate = circuit.n_literals
    literals = [wire for wire in rules if wire < first_gate]
    literals.sort(key=lambda wire: _feature_order(circuit, wire))
    gates = [wire for wire in rules if wire >= first_gate]
    symbols = {wire: gate_symbol(circuit.nodes[wire - first_gate].gate) for wire in gates}
    vertices = [_literal_vertex(circuit, wire, rules) for wire in literals]
    vertices += [_gate_vertex(circuit, wire, symbols[wire], rules) for wire in gates]
    edges = [edge for wire in gates for edge in _links(circuit, wire, symbols[wire], rules)]
    return Graph(
        vertices=(*vertices, *class_vertices(circuit)),
        edges=(*edges, *_votes(circuit)),
        notes=_notes(circuit, rules, set(symbols.values())),
        title=circuit_title(circuit),
    )


def _feature_order(circuit: Circuit, wire: int) -> tuple[object, ...]:
    literal = circuit.literals[wire]
    return literal.column, literal.kind, literal.cutoffs, literal.categories, wire


def _wire_key(wire: int) -> str:
    return f"w{wire}"


def _literal_vertex(circuit: Circuit, wire: int, rules: Rules) -> Vertex:
    literal = circuit.literals[wire]
    text = literal.describe(circuit.columns)
    key = _wire_key(wire)
    return Vertex(key, "literal", (text,), text, wire, rules=rules[wire], column=literal.column)


def _gate_vertex(circuit: Circuit, wire: int, symbol: Symbol, rules: Rules) -> Vertex:
    gate, a, b = circuit.nodes[wire - circuit.n_literals]
    sources = [source for source, reads in ((a, gate.reads_a), (b, gate.reads_b)) if reads]
    read = ", ".join(_wire_name(circuit, source) for source in sources)
    title = f"{_wire_name(circuit, wire)}: {gate.name}" + (f" of {read}" if read else "")
    return Vertex(_wire_key(wire), "gate", (symbol.sign,), title, wire, rules=rules[wire])


def _wire_name(circuit: Circuit, wire: int) -> str:
    if wire < circuit.n_literals:
        return circuit.literals[wire].describe(circuit.columns)
    return f"gate {wire - circuit.n_literals}"


def _links(circuit: Circuit, wire: int, symbol: Symbol, rules: Rules) -> list[Edge]:
    gate, a, b = circuit.nodes[wire - circuit.n_literals]
    readings = ((a, gate.reads_a, symbol.invert_a), (b, gate.reads_b, symbol.invert_b))
    return [
        Edge(_wire_key(source), _wire_key(wire), "link", source, rules[wire], inverted=inverted)
        for source, reads, inverted in readings
        if reads
    ]


def _votes(circuit: Circuit) -> list[Edge]:
    """Make one edge for each wire and class, with the votes of all rules that read the wire."""
    found: dict[tuple[int, int], list[int]] = {}
    for number in voting_rules(circuit):
        rule = circuit.rules[number]
        for label, votes in enumerate(rule.votes):
            if votes:
                found.setdefault((rule.wire, label), []).append(number)
    edges = []
    for (wire, label), numbers in found.items():
        votes = sum(circuit.rules[number].votes[label] for number in numbers)
        edges.append(
            Edge(
                source=_wire_key(wire),
                target=class_key(label),
                kind="vote",
                wire=wire,
                rules=tuple(numbers),
                votes=votes,
                label=label,
                text=vote_text(circuit, votes),
            )
        )
    return edges


def _notes(circuit: Circuit, rules: Rules, symbols: set[Symbol]) -> tuple[str, ...]:
    n_literals = sum(wire < circuit.n_literals for wire in rules)
    unread = (circuit.n_literals - n_literals, circuit.n_gates - (len(rules) - n_literals))
    left_out = [
        count_of(number, name)
        for number, name in zip(unread, ("literal", "gate"), strict=True)
        if number
    ]
    return (
        readout_note(circuit.readout),
        *([legend(symbols)] if symbols else []),
        *([f"Not shown: {' and '.join(left_out)} that no vote reads."] if left_out else []),
    )
