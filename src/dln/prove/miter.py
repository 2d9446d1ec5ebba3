"""Two circuits -> sums that are 0 on every row exactly if the circuits are equal.

Both circuits are put into one graph, where equal parts are stored once. A *lead* is the votes of a
class minus those of the first class. The leads of b are subtracted from those of a, so common parts
cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from dln.core.circuit import Circuit, check_is_circuit
from dln.core.conditions import ColumnAtoms, column_atoms
from dln.core.literals import Column, Literal
from dln.core.logic import Logic
from dln.errors import CircuitError
from dln.prove.graph import TRUE, Graph

Leads = tuple[int, ...]
"""One number for each class except the first: its votes minus those of the first class."""


@dataclass(frozen=True)
class Sums:
    """Leads as sums over nodes: `constant` plus the `weights` of the nodes that are true."""

    constant: Leads
    weights: Mapping[int, Leads]

    @property
    def cancel(self) -> bool:
        """Whether all leads are 0 on every row."""
        return not self.weights and not any(self.constant)


@dataclass(frozen=True)
class Miter:
    """The difference between two circuits.

    Attributes
    ----------
    graph
        The logic of both circuits.
    columns
        The columns that one of them reads, with their atoms, which the graph's steps refer to.
    sums
        The leads of the first circuit minus those of the second.
    sides
        The leads of each circuit.
    voting
        The nodes that vote in each circuit.
    """

    graph: Graph
    columns: tuple[tuple[Column, ColumnAtoms], ...]
    sums: Sums
    sides: tuple[Sums, Sums]
    voting: tuple[frozenset[int], frozenset[int]]


def build_miter(a: Circuit, b: Circuit) -> Miter:
    """Subtract b's leads from a's. Raises `CircuitError` if the two cannot be compared."""
    check_comparable(a, b)
    graph = Graph()
    columns = _read_columns(a.logic, b.logic)
    literals = _literal_edges(a.logic, b.logic, graph, columns)
    votes = []
    for circuit in (a, b):
        edges = graph.add_gates(circuit.logic, islice(literals, circuit.n_literals))
        of_rules = [(edges[rule.wire], _leads(rule.votes)) for rule in circuit.rules]
        votes.append([(TRUE, _leads(circuit.base_votes)), *of_rules])
    less = [(edge, tuple(-lead for lead in leads)) for edge, leads in votes[1]]
    n_leads = a.n_classes - 1
    return Miter(
        graph,
        tuple(columns.values()),
        add_up([*votes[0], *less], n_leads),
        (add_up(votes[0], n_leads), add_up(votes[1], n_leads)),
        (_voting(votes[0]), _voting(votes[1])),
    )


def _voting(votes: Iterable[tuple[int, Leads]]) -> frozenset[int]:
    return frozenset(edge >> 1 for edge, _ in votes)


def add_up(votes: Iterable[tuple[int, Leads]], n_leads: int) -> Sums:
    """Add the leads of edges. A negated edge adds to the constant and subtracts for its node."""
    constant = [0] * n_leads
    weights: dict[int, list[int]] = {}
    for edge, leads in votes:
        if edge & 1:
            constant = [x + y for x, y in zip(constant, leads, strict=True)]
        if edge >> 1:
            sign = -1 if edge & 1 else 1
            old = weights.get(edge >> 1, [0] * n_leads)
            weights[edge >> 1] = [x + sign * y for x, y in zip(old, leads, strict=True)]
    return Sums(
        tuple(constant), {node: tuple(leads) for node, leads in weights.items() if any(leads)}
    )


def _leads(votes: tuple[int, ...]) -> Leads:
    return tuple(vote - votes[0] for vote in votes[1:])


def _read_columns(a: Logic, b: Logic) -> dict[str, tuple[Column, ColumnAtoms]]:
    """Return the atoms of each column that is read, for a's literals followed by b's."""
    columns = {column.name: column for logic in (a, b) for column in logic.columns}
    literals: dict[str, list[Literal]] = {}
    for logic in (a, b):
        for literal in logic.literals:
            literals.setdefault(logic.columns[literal.column].name, []).append(literal)
    return {name: (columns[name], column_atoms(columns[name], literals[name])) for name in literals}


def _literal_edges(
    a: Logic, b: Logic, graph: Graph, columns: Mapping[str, tuple[Column, ColumnAtoms]]
) -> Iterator[int]:
    """Return the edges of a's literals, then those of b's."""
    numbers = {name: number for number, name in enumerate(columns)}
    where = {name: iter(atoms.where) for name, (_, atoms) in columns.items()}
    for logic in (a, b):
        for literal in logic.literals:
            name = logic.columns[literal.column].name
            n_atoms = len(columns[name][1].atoms)
            yield graph.among(numbers[name], next(where[name]), n_atoms)


def check_comparable(a: Circuit, b: Circuit, taker: str = "prove_equal") -> None:
    """Raise `CircuitError` if two circuits have other classes, or columns of other kinds."""
    for circuit in (a, b):
        check_is_circuit(circuit, taker)
    labels = [[(type(label), label) for label in circuit.classes] for circuit in (a, b)]
    if labels[0] != labels[1]:
        raise CircuitError(
            f"the circuits have the classes {a.classes!r} and {b.classes!r}; only circuits with "
            "the same classes, in the same order, can be compared"
        )
    check_columns(a, b)


def check_columns(a: Circuit, b: Circuit) -> None:
    """Raise `CircuitError` if a circuit reads a column that the other does not have alike."""
    for reader, other in ((a, b), (b, a)):
        known = {column.name: column for column in other.columns}
        for index in reader.logic.used_columns:
            column = reader.columns[index]
            if known.get(column.name) != column:
                raise CircuitError(
                    f"one circuit reads {column!r}, the other has "
                    f"{known.get(column.name, 'no column of that name')!r}; only circuits of the "
                    "same table can be compared"
                )
