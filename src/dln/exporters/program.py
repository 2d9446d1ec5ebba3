"""Circuit -> Program: the form of a circuit that every target writes.

Wires that no rule reads are left out, and so are columns that only such wires read. Rules keep
their numbers and order, so that "rule 3" is the same in every target and in `circuit.rules`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

from dln.core.circuit import Circuit
from dln.core.labels import label_text
from dln.core.literals import Column, Literal
from dln.core.logic import Logic
from dln.core.parts import Node, Rule
from dln.core.readout import Readout, Votes
from dln.core.score import Score
from dln.explain.amounts import sum_note
from dln.explain.probabilities import probability_lines
from dln.explain.text import decision_note
from dln.explain.writer import factored_writer, missing_note
from dln.exporters.identity import circuit_id


@dataclass(frozen=True)
class Program:
    """A circuit prepared for export.

    Attributes
    ----------
    circuit
        The circuit without the parts that no rule reads.
    model_id
        The id of the whole circuit.
    name
        The name of the code: an identifier.
    """

    circuit: Circuit
    model_id: str
    name: str

    @property
    def logic(self) -> Logic:
        """The literals and gates of the circuit."""
        return self.circuit.logic

    @property
    def readout(self) -> Readout:
        """The rules of the circuit and what they answer."""
        return self.circuit.readout

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The columns that are read, as numbers in the circuit."""
        return tuple(self.logic.used_columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read, in the order of the table."""
        return tuple(self.logic.columns[index] for index in self.inputs)

    @cached_property
    def place(self) -> dict[int, int]:
        """The place of each column among the inputs."""
        return {index: place for place, index in enumerate(self.inputs)}

    @cached_property
    def rule_texts(self) -> tuple[str, ...]:
        """The rules as text, in their order. Long rules refer to `parts` by name."""
        return self._rules_and_parts[0]

    @cached_property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The names in the rules, each with its text."""
        return self._rules_and_parts[1]

    @cached_property
    def _rules_and_parts(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        writer = factored_writer(self.logic, self.readout.wires)
        texts = tuple(writer.name_or_text(rule.wire) for rule in self.readout.rules)
        return texts, tuple(writer.definitions())

    @property
    def title(self) -> str:
        """What the code is, for the top of a file."""
        match self.readout:
            case Votes():
                return "A classifier"
            case Score():
                return "A regression model"
            case _:
                assert_never(self.readout)

    @cached_property
    def rule_lines(self) -> tuple[str, ...]:
        """The rules with their numbers and votes or points, for the top of a file."""
        readout = self.readout
        match readout:
            case Votes():
                lines = [decision_note(readout.classes), *missing_note(self.logic)]
                if any(readout.base_votes):
                    lines.append(f"always: {_votes_text(readout, readout.base_votes)}")
                given = [_votes_text(readout, rule.votes) for rule in readout.rules]
                end = probability_lines(readout.calibration, readout.classes)
            case Score():
                lines = [sum_note(readout), *missing_note(self.logic)]
                given = [f"{readout.decimal(rule.votes[0]):+f}" for rule in readout.rules]
                end = []
            case _:
                assert_never(readout)
        for number, (what, text) in enumerate(zip(given, self.rule_texts, strict=True), start=1):
            lines.append(f"rule {number}: {what} if {text}")
        lines += ["where"] * bool(self.parts)
        lines += [f"  {name}: {text}" for name, text in self.parts]
        return (*lines, *end)

    @cached_property
    def most_votes(self) -> int:
        """A bound on the absolute value of the votes of any class, or of the points."""
        votes = [self.readout.base_votes, *(rule.votes for rule in self.readout.rules)]
        totals: list[int] = [sum(abs(vote) for vote in given) for given in zip(*votes, strict=True)]
        return max(totals)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """The most gates on a path from a literal to each wire, with its own; 0 for literals."""
        depths = [0] * self.logic.n_literals
        for _, a, b in self.logic.nodes:
            depths.append(1 + max(depths[a], depths[b]))
        return tuple(depths)

    def wire_name(self, wire: int) -> str:
        """Return the name of a wire: l0, l1, … for literals, g0, g1, … for gates."""
        gate = wire - self.logic.n_literals
        return f"l{wire}" if gate < 0 else f"g{gate}"

    def literals_of(self, column: int) -> Sequence[tuple[int, Literal]]:
        """Return the literals of a column, each with its wire."""
        return self._literals_by_column.get(column, ())

    @cached_property
    def _literals_by_column(self) -> dict[int, list[tuple[int, Literal]]]:
        found: dict[int, list[tuple[int, Literal]]] = {}
        for wire, literal in enumerate(self.logic.literals):
            found.setdefault(literal.column, []).append((wire, literal))
        return found


def _votes_text(readout: Votes, votes: tuple[int, ...]) -> str:
    given = [
        f"{vote:+d} {label_text(label)}"
        for vote, label in zip(votes, readout.classes, strict=True)
        if vote
    ]
    return ", ".join(given) or "no votes"


def make_program(circuit: Circuit, name: str) -> Program:
    """Prepare a circuit for export: leave out what no rule reads."""
    return Program(_without_unread(circuit), circuit_id(circuit), name)


def _without_unread(circuit: Circuit) -> Circuit:
    read = circuit.logic.cone(circuit.readout.wires)
    if read and read[0] >= circuit.n_literals:
        read.insert(0, 0)  # a constant gate alone needs an input
    new = {old: place for place, old in enumerate(read)}
    nodes = []
    for wire in read[bisect_left(read, circuit.n_literals) :]:
        gate, a, b = circuit.nodes[wire - circuit.n_literals]
        # An input that the gate ignores may be gone. The other input takes its place.
        a, b = (a if gate.reads_a else b), (b if gate.reads_b else a)
        nodes.append(Node(gate, new.get(a, 0), new.get(b, 0)))
    literals = tuple(x for wire, x in enumerate(circuit.literals) if wire in new)
    rules = tuple(Rule(new[rule.wire], rule.votes) for rule in circuit.rules)
    return replace(
        circuit,
        logic=Logic(circuit.columns, literals, tuple(nodes)),
        readout=circuit.readout.with_rules(rules, circuit.base_votes),
    )
