"""A circuit -> a circuit of pairs of rows that differ in some columns only.

Its columns are those of the circuit, and a second copy of the columns that differ. Its classes are
those of the first row, then those of the second row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dln.core.circuit import Circuit
from dln.core.literals import Literal
from dln.core.parts import Node, Rule
from dln.data.table import Table, read_table


@dataclass(frozen=True)
class Pair:
    """A circuit of pairs of rows, and the names of the columns of the second row."""

    circuit: Circuit
    second: Mapping[str, str]
    columns: tuple[int, ...]

    def table(self, data: Any) -> Table:
        """Return the rows of a table as pairs of equal rows."""
        table = read_table(data)
        n_first = len(self.circuit.columns) - len(self.columns)
        names = table.names
        if names is not None:
            extra = tuple(self.second[self.circuit.columns[index].name] for index in self.columns)
            at = {name: place for place, name in enumerate(names)}
            copied = [at[self.circuit.columns[index].name] for index in self.columns]
            n = len(names)
            return replace(
                table,
                n_columns=n + len(copied),
                names=(*names, *extra),
                read=lambda i: table.read(i if i < n else copied[i - n]),
            )
        return replace(
            table,
            n_columns=n_first + len(self.columns),
            read=lambda i: table.read(i if i < n_first else self.columns[i - n_first]),
        )


def pair_circuit(circuit: Circuit, names: Sequence[str]) -> Pair:
    """Make the circuit of pairs of rows that differ in these columns only."""
    known = {column.name for column in circuit.columns}
    second: dict[str, str] = {}
    numbers: dict[int, int] = {}
    for index, column in enumerate(circuit.columns):
        if column.name in names and index not in numbers:
            other = f"{column.name} (second row)"
            while other in known:
                other += "'"
            known.add(other)
            second[column.name] = other
            numbers[index] = len(circuit.columns) + len(numbers)
    columns = [
        *circuit.columns,
        *(
            replace(circuit.columns[index], name=second[circuit.columns[index].name])
            for index in numbers
        ),
    ]
    literals: list[Literal] = list(circuit.literals)
    place: dict[int, int] = {}  # wire of the first row -> the same wire of the second row
    for wire, literal in enumerate(circuit.literals):
        if literal.column in numbers:
            place[wire] = len(literals)
            literals.append(replace(literal, column=numbers[literal.column]))
    shift = len(literals) - circuit.n_literals
    moved = [wire if wire < circuit.n_literals else wire + shift for wire in range(circuit.n_wires)]
    nodes = [Node(gate, moved[a], moved[b]) for gate, a, b in circuit.nodes]
    for wire, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        if a in place or b in place:
            place[wire] = len(literals) + len(nodes)
            nodes.append(Node(gate, place.get(a, moved[a]), place.get(b, moved[b])))
    n = circuit.n_classes
    rules = []
    for wire, votes in circuit.rules:
        if wire in place:
            rules += [
                Rule(moved[wire], (*votes, *(0,) * n)),
                Rule(place[wire], (*(0,) * n, *votes)),
            ]
        else:
            rules.append(Rule(moved[wire], (*votes, *votes)))
    paired = Circuit(
        columns, literals, nodes, rules, circuit.base_votes * 2, tuple(np.arange(2 * n).tolist())
    )
    return Pair(paired, second, tuple(numbers))
