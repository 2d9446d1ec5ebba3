"""Two circuits -> one circuit: the votes of both, or the difference of two numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dln.core.circuit import Circuit
from dln.core.logic import Logic
from dln.core.parts import Node, Rule
from dln.core.readout import Votes
from dln.core.score import Score
from dln.data.codes import places_of
from dln.data.table import Table, read_table
from dln.errors import CircuitError
from dln.prove.miter import check_columns, check_comparable
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
    logic, (wires_a, wires_b) = _join_logic(a, b)
    none = (0,) * a.n_classes
    rules = [Rule(w, (*r.votes, *none)) for w, r in zip(wires_a, a.rules, strict=True)]
    rules += [Rule(w, (*none, *r.votes)) for w, r in zip(wires_b, b.rules, strict=True)]
    base = (*a.base_votes, *b.base_votes)
    votes = Votes(tuple(rules), base, tuple(range(len(base))))
    return Joint(Circuit(logic=logic, readout=votes), a.n_classes)


def subtract_votes(a: Circuit, b: Circuit) -> Circuit:
    """Make a circuit whose votes are those of a circuit less those of another.

    They are the same for all classes exactly if all leads of the two circuits are equal.
    """
    logic, (wires_a, wires_b) = _join_logic(a, b)
    rules = [Rule(w, r.votes) for w, r in zip(wires_a, a.rules, strict=True)]
    rules += [
        Rule(w, tuple(-own for own in r.votes)) for w, r in zip(wires_b, b.rules, strict=True)
    ]
    base = tuple(x - y for x, y in zip(a.base_votes, b.base_votes, strict=True))
    return Circuit(logic=logic, readout=Votes(tuple(rules), base, tuple(range(len(base)))))


def subtract_circuits(a: Circuit, b: Circuit) -> Circuit:
    """Make a circuit that predicts by how much the score of one exceeds that of another.

    Raises `CircuitError` if they have other links, or if the points do not fit.
    """
    first, second = a.number_readout, b.number_readout
    check_columns(a, b)
    if first.link != second.link:
        raise CircuitError(
            f"the circuits have the links {first.link} and {second.link}; "
            "only circuits with the same link can be compared"
        )
    logic, (wires_a, wires_b) = _join_logic(a, b)
    digits = max(first.digits, second.digits)
    one, other = (10 ** (digits - score.digits) for score in (first, second))
    rules = [Rule(w, (one * r.votes[0],)) for w, r in zip(wires_a, a.rules, strict=True)]
    rules += [Rule(w, (-other * r.votes[0],)) for w, r in zip(wires_b, b.rules, strict=True)]
    offset = one * first.offset - other * second.offset
    return Circuit(logic=logic, readout=Score(tuple(rules), (offset,), digits, name="difference"))


def _join_logic(a: Circuit, b: Circuit) -> tuple[Logic, tuple[list[int], list[int]]]:
    """Put the logic of two circuits into one; return the wires of the rules of each too."""
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
    logic = Logic(tuple(columns), (*a.literals, *moved), tuple(nodes))
    return logic, ([of_a(rule.wire) for rule in a.rules], [of_b(rule.wire) for rule in b.rules])
