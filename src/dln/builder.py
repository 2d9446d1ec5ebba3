"""Build a circuit part by part, folding as it grows.

Promise: what is built votes like what was described. Constants, copies, negations and twins never
become gates, parts that no vote depends on are left out, and a negation is placed only where a rule
reads one.
"""

from __future__ import annotations

from typing import NamedTuple

from dln.circuit import Circuit, Node, Rule
from dln.gates import GATE_BY_NAME, Gate, gate_of
from dln.labels import Label
from dln.literals import Column, Literal

_NOT = GATE_BY_NAME["NOT_A"]


class Signal(NamedTuple):
    """What a wire carries: a part of the circuit or its negation; without a part a constant."""

    part: int | None
    negated: bool


FALSE, TRUE = Signal(None, False), Signal(None, True)


class CircuitBuilder:
    """A circuit under construction.

    >>> builder = CircuitBuilder((Column("x", "number"),), ("no", "yes"))
    >>> from dln.literals import Above
    >>> x = builder.literal(Above(0, 1.0))
    >>> same = builder.gate(GATE_BY_NAME["AND"], x, x)
    >>> builder.vote(same, (0, 1))
    >>> builder.finish().n_gates
    0
    """

    def __init__(
        self, columns: tuple[Column, ...], classes: tuple[Label, ...], temperature: float = 1.0
    ) -> None:
        self._columns = columns
        self._classes = classes
        self._temperature = temperature
        self._parts: list[Literal | Node] = []  # a node's a and b are numbers of parts here
        self._numbers: dict[Literal | Node, int] = {}
        self._votes: dict[int, list[int]] = {}
        self._base = [0] * len(classes)

    def literal(self, literal: Literal) -> Signal:
        """Find or add a literal."""
        return Signal(self._add(literal), False)

    def gate(self, gate: Gate, a: Signal, b: Signal) -> Signal:
        """Find or add a gate of two signals, or the simpler signal that it comes down to."""
        gate = _absorb_a(_absorb_a(gate.swap(), b).swap(), a)
        if a.part == b.part:
            # One part behind both inputs: only (0, 0) and (1, 1) can occur.
            t00, _, _, t11 = gate.table
            gate = gate_of((t00, t00, t11, t11))
        opposite = gate.table[0] == 1
        if not gate.reads_a and not gate.reads_b:
            return TRUE if opposite else FALSE
        if not gate.reads_b:
            return Signal(a.part, opposite)
        if not gate.reads_a:
            return Signal(b.part, opposite)
        assert a.part is not None
        assert b.part is not None
        return Signal(self._place(gate, a.part, b.part), False)

    def vote(self, signal: Signal, votes: tuple[int, ...]) -> None:
        """Give votes to the classes where the signal is 1."""
        if signal.part is None:
            if signal.negated:
                self._base = [x + y for x, y in zip(self._base, votes, strict=True)]
            return
        part = self._positive(signal.part) if signal.negated else signal.part
        old = self._votes.setdefault(part, [0] * len(self._classes))
        self._votes[part] = [x + y for x, y in zip(old, votes, strict=True)]

    def finish(self) -> Circuit:
        """Number the parts that some vote depends on, literals first, and make the circuit."""
        votes = {part: tuple(v) for part, v in self._votes.items() if any(v)}
        live = [part in votes for part in range(len(self._parts))]
        for part in range(len(self._parts) - 1, -1, -1):
            node = self._parts[part]
            if live[part] and isinstance(node, Node):
                live[node.a] = live[node.b] = True
        literals, nodes = [], []
        for part, item in enumerate(self._parts):
            if live[part]:
                (nodes if isinstance(item, Node) else literals).append((part, item))
        wire = {part: index for index, (part, _) in enumerate(literals + nodes)}
        return Circuit(
            columns=self._columns,
            literals=tuple(item for _, item in literals if not isinstance(item, Node)),
            nodes=tuple(
                Node(item.gate, wire[item.a], wire[item.b])
                for _, item in nodes
                if isinstance(item, Node)
            ),
            rules=tuple(Rule(wire[part], v) for part, v in votes.items()),
            base_votes=tuple(self._base),
            classes=self._classes,
            temperature=self._temperature,
        )

    def _positive(self, part: int) -> int:
        """Give a part that carries the negation of this one."""
        item = self._parts[part]
        if isinstance(item, Node) and item.gate is not _NOT:
            return self._place(item.gate.negate(), item.a, item.b)
        return self._add(Node(_NOT, part, part))

    def _place(self, gate: Gate, a: int, b: int) -> int:
        return self._add(Node(gate, a, b) if a < b else Node(gate.swap(), b, a))

    def _add(self, item: Literal | Node) -> int:
        number = self._numbers.setdefault(item, len(self._parts))
        if number == len(self._parts):
            self._parts.append(item)
        return number


def _absorb_a(gate: Gate, a: Signal) -> Gate:
    """Absorb a constant or negated input a into the gate."""
    if a.part is None:
        t00, t01, t10, t11 = gate.table
        return gate_of((t10, t11, t10, t11) if a.negated else (t00, t01, t00, t01))
    return gate.negate_a() if a.negated else gate
