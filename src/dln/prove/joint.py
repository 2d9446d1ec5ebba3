"""Two circuits -> one circuit that votes for the classes of the first, then of the second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dln.core.circuit import Circuit
from dln.core.parts import Node, Rule
from dln.data.codes import places_of
from dln.data.table import Table, read_table
from dln.prove.miter import check_comparable
from dln.prove.search import Demand


@dataclass(frozen=True)
class Joint:
    """The circuit of both; classes of the second have numbers from `n_classes` on."""

    circuit: Circuit
    n_classes: int

    def wins(self, winner: int, shift: int) -> list[Demand]:
        """Return the demands under which a class is predicted by one of the circuits."""
        found = []
        for other in range(self.n_classes):
            if other != winner:
                a, b, by = self.circuit._search.beats(winner, other)
                found.append((a + shift, b + shift, by))
        return found

    def table(self, X: Any) -> Table:
        """Return rows with the columns of the joint circuit, found by name or by position."""
        table = read_table(X)
        if table.names is not None:
            return table
        used = self.circuit.logic.used_columns
        places = places_of(table, self.circuit.columns, used)
        return replace(table, read=lambda index: table.read(places[index]))


def join_circuits(a: Circuit, b: Circuit) -> Joint:
    """Join two circuits. Raises `CircuitError` if they cannot be compared."""
    check_comparable(a, b, "find_differences")
    places = {column.name: place for place, column in enumerate(a.columns)}
    columns = list(a.columns)
    for column in b.columns:
        if column.name not in places:
            places[column.name] = len(columns)
            columns.append(column)
    moved = [
        replace(literal, column=places[b.columns[literal.column].name]) for literal in b.literals
    ]
    n_literals = a.n_literals + b.n_literals

    def of_a(wire: int) -> int:
        return wire if wire < a.n_literals else wire + b.n_literals

    def of_b(wire: int) -> int:
        if wire < b.n_literals:
            return a.n_literals + wire
        return n_literals + a.n_gates + wire - b.n_literals

    nodes = [Node(gate, of_a(x), of_a(y)) for gate, x, y in a.nodes]
    nodes += [Node(gate, of_b(x), of_b(y)) for gate, x, y in b.nodes]
    none = (0,) * a.n_classes
    rules = [Rule(of_a(wire), (*votes, *none)) for wire, votes in a.rules]
    rules += [Rule(of_b(wire), (*none, *votes)) for wire, votes in b.rules]
    base = (*a.base_votes, *b.base_votes)
    classes = tuple(range(len(base)))
    return Joint(Circuit(columns, (*a.literals, *moved), nodes, rules, base, classes), a.n_classes)
