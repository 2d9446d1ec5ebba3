"""Pairs of circuits to compare: changed ones, rewritten ones, and large ones made to measure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.conditions import column_atoms
from dln.core.gates import GATE_BY_NAME, GATES, gate_of
from dln.core.literals import Above, Among, Column, Literal, Missing
from dln.core.parts import Node, Rule
from dln.prove import simulate
from tests.support.strategies import literals_of, nodes_over, rules_over

NUMBER, INTEGER, DATE = Column("x", "number"), Column("x", "integer"), Column("x", "date")
BOOLEAN = Column("x", "boolean")
HUE = Column("hue", "category", ("red", "green", "blue"))

_FORCED = {"_MOST_ROWS": 0}
TRIES: dict[str, dict[str, Any]] = {
    "all rows": {},
    "SAT": _FORCED,
    "SAT alone": _FORCED | {"_RANDOM_ROWS": 1},
}


def by(tries: str) -> AbstractContextManager[Any]:
    """Use methods for small circuits that are otherwise used only for large ones."""
    return mock.patch.multiple(simulate, **TRIES[tries]) if TRIES[tries] else nullcontext()


class Wires:
    """Nodes under construction over some literals. Every method returns the new wire."""

    def __init__(self, n_literals: int) -> None:
        self.nodes: list[Node] = []
        self._n_literals = n_literals

    def gate(self, name: str, a: int, b: int) -> int:
        self.nodes.append(Node(GATE_BY_NAME[name], a, b))
        return self._n_literals + len(self.nodes) - 1

    def table(self, table: Sequence[int], a: int, b: int) -> int:
        t00, t01, t10, t11 = table
        return self.gate(gate_of((t00, t01, t10, t11)).name, a, b)

    def add(self, x: int, y: int, z: int) -> tuple[int, int]:
        half = self.gate("XOR", x, y)
        carry = self.gate("OR", self.gate("AND", x, y), self.gate("AND", half, z))
        return self.gate("XOR", half, z), carry


def circuit_of(
    columns: Column | Sequence[Column],
    literals: Sequence[Literal],
    nodes: Sequence[Node] = (),
    votes: dict[int, tuple[int, ...]] | None = None,
    base: tuple[int, ...] = (0, 0),
) -> Circuit:
    """Make a circuit. By default its last wire votes for "yes"."""
    votes = {len(literals) + len(nodes) - 1: (0, 1)} if votes is None else votes
    rules = tuple(Rule(wire, given) for wire, given in votes.items())
    listed = (columns,) if isinstance(columns, Column) else tuple(columns)
    return Circuit(listed, tuple(literals), tuple(nodes), rules, base, ("no", "yes"))


def numbers(n_columns: int) -> tuple[list[Column], list[Literal]]:
    columns = [Column(f"x{index}", "number") for index in range(n_columns)]
    return columns, [Above(index, 0.5) for index in range(n_columns)]


def parity(n_columns: int, order: Sequence[int]) -> Circuit:
    columns, literals = numbers(n_columns)
    wires, last = Wires(n_columns), order[0]
    for wire in order[1:]:
        last = wires.gate("XOR", last, wire)
    return circuit_of(columns, literals, wires.nodes)


def redundant(n_columns: int) -> Circuit:
    """Make a parity with one test too many. With many columns, only a solver proves it equal."""
    columns, literals = numbers(n_columns)
    wires = Wires(n_columns + 1)
    last = wires.gate("AND", 0, n_columns)
    for wire in range(1, n_columns):
        last = wires.gate("XOR", last, wire)
    return circuit_of(columns, [*literals, Above(0, 0.2)], wires.nodes)


def multiplier(n_bits: int, *, swapped: bool = False) -> Circuit:
    """Make a multiplier of two numbers of `n_bits` bits. Each bit of the product votes."""
    columns, literals = numbers(2 * n_bits)
    wires = Wires(2 * n_bits)
    x, y = range(n_bits), range(n_bits, 2 * n_bits)
    if swapped:
        x, y = y, x
    total = [wires.gate("FALSE", 0, 0)] * (2 * n_bits)
    for i in range(n_bits):
        carry = wires.gate("FALSE", 0, 0)
        for j in range(n_bits):
            both = wires.gate("AND", x[j], y[i])
            total[i + j], carry = wires.add(total[i + j], both, carry)
        total[i + n_bits] = carry
    return circuit_of(columns, literals, wires.nodes, dict.fromkeys(total, (0, 1)))


def chain(gates: Sequence[str], order: Sequence[int]) -> Circuit:
    columns, literals = numbers(max(order) + 1)
    wires, last = Wires(len(literals)), order[0]
    for gate, wire in zip(gates, itertools.cycle(order[1:] + order[:1]), strict=False):
        last = wires.gate(gate, last, wire)
    return circuit_of(columns, literals, wires.nodes)


HARD = multiplier(12), multiplier(12, swapped=True)


@st.composite
def changed(draw: st.DrawFn, circuit: Circuit) -> Circuit:
    """Draw a circuit of the same table: another one, or with one gate, vote or cutoff changed."""
    nodes, literals, rules = list(circuit.nodes), list(circuit.literals), list(circuit.rules)
    what = draw(st.sampled_from(["gate", "vote", "literal", "all"]))
    if what == "gate" and nodes:
        at = draw(st.integers(0, len(nodes) - 1))
        nodes[at] = nodes[at]._replace(gate=draw(st.sampled_from(GATES)))
    elif what == "vote" and rules:
        at = draw(st.integers(0, len(rules) - 1))
        votes = draw(st.tuples(*[st.integers(-2, 2)] * circuit.n_classes))
        rules[at] = rules[at]._replace(votes=votes)
    elif what == "literal" and literals:
        literals[draw(st.integers(0, len(literals) - 1))] = draw(literals_of(circuit.columns))
    elif what == "all" and circuit.columns:
        literals = draw(st.lists(literals_of(circuit.columns), max_size=6))
        nodes = list(draw(nodes_over(len(literals), 10)))
        rules = list(draw(rules_over(len(literals) + len(nodes), circuit.n_classes)))
    return replace(circuit, literals=literals, nodes=nodes, rules=rules)


@st.composite
def rewritten(draw: st.DrawFn, circuit: Circuit) -> Circuit:
    """Draw a circuit with other gates that computes the same, given the side conditions."""
    wires = Wires(circuit.n_literals)
    where = {}
    for index, column in enumerate(circuit.columns):
        places = [w for w, literal in enumerate(circuit.literals) if literal.column == index]
        found = column_atoms(column, [circuit.literals[place] for place in places])
        where |= {place: set(true) for place, true in zip(places, found.where, strict=True)}
    now = [_qualify(draw, wires, wire, circuit, where) for wire in range(circuit.n_literals)]
    for gate, a, b in circuit.nodes:
        now.append(_respell(draw(st.integers(0, 3)), wires, gate.table, now[a], now[b]))
    rules = [Rule(now[rule.wire], rule.votes) for rule in circuit.rules]
    return replace(circuit, nodes=wires.nodes, rules=draw(st.permutations(rules)))


def _qualify(
    draw: st.DrawFn, wires: Wires, wire: int, circuit: Circuit, where: dict[int, set[int]]
) -> int:
    """Combine a literal with another one of its column that it implies."""
    column = circuit.literals[wire].column
    other = draw(st.sampled_from([w for w in where if circuit.literals[w].column == column]))
    if where[wire] <= where[other]:
        return wires.gate("AND", wire, other)
    if where[wire] >= where[other]:
        return wires.gate("OR", wire, other)
    return wire if where[wire] & where[other] else wires.gate("A_AND_NOT_B", wire, other)


def _respell(way: int, wires: Wires, table: Sequence[int], a: int, b: int) -> int:
    t00, t01, t10, t11 = table
    if way == 0:  # if a then ... else ...
        then, other = wires.table((t10, t11) * 2, a, b), wires.table((t00, t01) * 2, a, b)
        return wires.gate("OR", wires.gate("AND", a, then), wires.gate("NOT_A_AND_B", a, other))
    if way == 1:  # one AND for each 1 of the table
        last = wires.gate("FALSE", a, b)
        for row in np.flatnonzero(table):
            last = wires.gate("OR", wires.table(np.eye(4, dtype=int)[row].tolist(), a, b), last)
        return last
    if way == 2:  # c0 + c1·a + c2·b + c3·ab, modulo 2
        last = wires.table((t00,) * 4, a, b)
        for wanted, term in ((t00 ^ t10, "A"), (t00 ^ t01, "B"), (t00 ^ t01 ^ t10 ^ t11, "AND")):
            last = wires.gate("XOR", last, wires.gate(term, a, b)) if wanted else last
        return last
    return wires.table(table, a, b)


def n_atom_rows(a: Circuit, b: Circuit) -> int:
    return math.prod(len(cells) for cells in atom_cells(a, b))


def atom_cells(a: Circuit, b: Circuit) -> list[list[Any]]:
    """List an example of each atom of each column, for the literals of both circuits."""
    return [
        [
            atom.cell
            for atom in column_atoms(
                column, [x for x in (*a.literals, *b.literals) if x.column == index]
            ).atoms
        ]
        for index, column in enumerate(a.columns)
    ]


def alike_on_all_rows(a: Circuit, b: Circuit) -> bool:
    """Compare the vote differences on a row of every combination of atoms."""
    votes_a, votes_b = votes_on_all_rows(a, b)
    differences = votes_a - votes_b
    return bool((differences == differences[:, :1]).all())


def same_class_on_all_rows(a: Circuit, b: Circuit) -> bool:
    """Compare the first classes with the most votes."""
    votes_a, votes_b = votes_on_all_rows(a, b)
    return votes_a.argmax(axis=1).tolist() == votes_b.argmax(axis=1).tolist()


def votes_on_all_rows(a: Circuit, b: Circuit) -> tuple[Any, Any]:
    rows = [list(row) for row in itertools.product(*atom_cells(a, b))]
    # The column also holds a text, so that categories that are numbers are read as numbers.
    rows.append([None if column.is_numeric else "" for column in a.columns])
    table = np.empty((len(rows), len(a.columns)), dtype=object)
    for index, row in enumerate(rows):
        table[index] = row
    return a.votes(table)[:-1], b.votes(table)[:-1]


# -- circuits that only side conditions make equal ----------------------------------------------

AND, NOT = GATE_BY_NAME["AND"], GATE_BY_NAME["NOT_A"]
BUT_NOT, NOR = GATE_BY_NAME["A_AND_NOT_B"], GATE_BY_NAME["NOR"]


def both(columns: Column | Sequence[Column], x: Literal, y: Literal) -> Circuit:
    return circuit_of(columns, (x, y), (Node(AND, 0, 1),))


EQUAL_BY_CONDITIONS = {
    "order": (both(NUMBER, Above(0, 5.0), Above(0, 3.0)), circuit_of(NUMBER, (Above(0, 5.0),))),
    "missing is above nothing": (
        circuit_of(NUMBER, (Above(0, 5.0), Missing(0)), (Node(BUT_NOT, 0, 1),)),
        circuit_of(NUMBER, (Above(0, 5.0),)),
    ),
    "missing has no category": (
        both(HUE, Among(0, (0, 1)), Missing(0)),
        circuit_of(HUE, (), votes={}),
    ),
    "one category": (both(HUE, Among(0, (0,)), Among(0, (1, 2))), circuit_of(HUE, (), votes={})),
    "sets meet": (
        both(HUE, Among(0, (0, 1)), Among(0, (1, 2))),
        circuit_of(HUE, (Among(0, (1,)),)),
    ),
    "votes of categories add up": (
        circuit_of(HUE, (Among(0, (0,)), Among(0, (2,))), votes={0: (0, 1), 1: (0, 1)}),
        circuit_of(HUE, (Among(0, (2, 0)),)),
    ),
    "integers": (circuit_of(INTEGER, (Above(0, 3.0),)), circuit_of(INTEGER, (Above(0, 3.7),))),
    "integer between": (
        circuit_of(INTEGER, (Above(0, 3.0), Above(0, 4.0)), votes={0: (0, 1), 1: (0, -1)}),
        circuit_of(
            INTEGER,
            (Above(0, 3.9), Above(0, 4.5), Missing(0)),
            (Node(BUT_NOT, 0, 1), Node(BUT_NOT, 3, 2)),
        ),
    ),
    "booleans": (circuit_of(BOOLEAN, (Above(0, 0.0),)), circuit_of(BOOLEAN, (Above(0, 0.9),))),
    "a boolean or missing": (
        circuit_of(BOOLEAN, (Above(0, -1.0),), (Node(NOT, 0, 0),)),
        circuit_of(BOOLEAN, (Missing(0),)),
    ),
    "microseconds": (circuit_of(DATE, (Above(0, 1e-6),)), circuit_of(DATE, (Above(0, 1.5e-6),))),
}
