"""Build logic or a circuit part by part, folding as it grows.

Promise: what is built computes the same as what was described. Constants, copies, negations and
duplicates (also negated duplicates) never become gates. Parts that no output depends on are left
out. A negation becomes a gate only if an output needs it and no other gate can provide it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, Gate, gate_of
from dln.core.literals import Column, Literal
from dln.core.logic import Logic
from dln.core.parts import Node, Rule
from dln.core.readout import Readout

_NOT = GATE_BY_NAME["NOT_A"]


class Signal(NamedTuple):
    """The value of a wire: a part or its negation; a constant if there is no part."""

    part: int | None
    negated: bool

    def invert(self, wanted: bool = True) -> Signal:
        """Return the negation if it is wanted, else the signal itself."""
        return Signal(self.part, self.negated ^ wanted)


FALSE, TRUE = Signal(None, False), Signal(None, True)


class LogicBuilder:
    """Logic under construction.

    >>> builder = LogicBuilder((Column("x", "number"),))
    >>> from dln.core.literals import Above
    >>> x = builder.literal(Above(0, 1.0))
    >>> same = builder.gate(GATE_BY_NAME["AND"], x, x)
    >>> logic, wires = builder.build([same])
    >>> logic.n_gates, wires[same]
    (0, 0)
    """

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        # Here, a and b of a node are indices of parts. Every node is 0 where both are 0.
        self._parts: list[Literal | Node] = []
        self._numbers: dict[Literal | Node, int] = {}

    def literal(self, literal: Literal) -> Signal:
        """Find or add a literal."""
        return Signal(self._add(literal), False)

    def gate(self, gate: Gate, a: Signal, b: Signal) -> Signal:
        """Find or add a gate of two signals; return the simpler signal if it reduces to one."""
        gate = _absorb_a(_absorb_a(gate.swap(), b).swap(), a)
        if a.part == b.part:
            # Both inputs are the same part: only (0, 0) and (1, 1) can occur.
            t00, _, _, t11 = gate.table
            gate = gate_of((t00, t00, t11, t11))
        negated = gate.table[0] == 1
        if not gate.reads_a and not gate.reads_b:
            return TRUE if negated else FALSE
        if not gate.reads_b:
            return Signal(a.part, negated)
        if not gate.reads_a:
            return Signal(b.part, negated)
        assert a.part is not None
        assert b.part is not None
        node = _in_order(gate.negate() if negated else gate, a.part, b.part)
        return Signal(self._add(node), negated)

    def copy(
        self, logic: Logic, literal: Callable[[Literal], Signal] | None = None
    ) -> list[Signal]:
        """Add all parts of some logic, folding them; return the signal of each wire.

        `literal` adds a literal in another way, for example with another cutoff.

        >>> builder = LogicBuilder((Column("x", "number"),))
        >>> from dln.core.literals import Above
        >>> builder.copy(Logic((Column("x", "number"),), (Above(0, 1.0),), ()))
        [Signal(part=0, negated=False)]
        """
        signals = [(literal or self.literal)(part) for part in logic.literals]
        for gate, a, b in logic.nodes:
            signals.append(self.gate(gate, signals[a], signals[b]))
        return signals

    def build(self, outputs: Collection[Signal]) -> tuple[Logic, dict[Signal, int]]:
        """Build the logic that some outputs depend on, and the wire of each output.

        Outputs are not constant.
        """
        read = self._find_read(outputs)
        used = sorted(read.union(signal.part for signal in outputs if signal.part is not None))
        literals = {part: item for part in used if not isinstance(item := self._parts[part], Node)}
        gates = {part: item for part in used if isinstance(item := self._parts[part], Node)}
        wires = {Signal(part, False): wire for wire, part in enumerate(literals)}
        nodes: list[Node] = []
        for part, (gate, a, b) in gates.items():
            # Only outputs read negations. If nothing reads the gate itself, it is negated.
            negated = part not in read and Signal(part, False) not in outputs
            wires[Signal(part, negated)] = len(literals) + len(nodes)
            gate = gate.negate() if negated else gate
            nodes.append(_in_order(gate, wires[Signal(a, False)], wires[Signal(b, False)]))
        for signal in outputs:
            if signal not in wires:
                wire = wires[Signal(signal.part, False)]
                wires[signal] = len(literals) + len(nodes)
                nodes.append(Node(_NOT, wire, wire))
        return Logic(self._columns, tuple(literals.values()), tuple(nodes)), wires

    def _find_read(self, outputs: Collection[Signal]) -> set[int]:
        """Find the parts that are read by gates that some output depends on."""
        live = {signal.part for signal in outputs}
        read: set[int] = set()
        for part in range(len(self._parts) - 1, -1, -1):
            node = self._parts[part]
            if isinstance(node, Node) and (part in live or part in read):
                read |= {node.a, node.b}
        return read

    def _add(self, item: Literal | Node) -> int:
        number = self._numbers.setdefault(item, len(self._parts))
        if number == len(self._parts):
            self._parts.append(item)
        return number


class CircuitBuilder(LogicBuilder):
    """A circuit under construction: logic, and the points that signals give.

    The rules of the given readout are not used, only what it answers.

    >>> from dln.core.literals import Above
    >>> from dln.core.readout import Votes
    >>> builder = CircuitBuilder((Column("x", "number"),), Votes.without_rules(("no", "yes")))
    >>> builder.vote(builder.literal(Above(0, 1.0)).invert(), (0, 1))
    >>> builder.finish().rules
    (Rule(wire=1, votes=(0, 1)),)
    """

    def __init__(self, columns: tuple[Column, ...], readout: Readout) -> None:
        super().__init__(columns)
        self._readout = readout
        self._votes: dict[Signal, tuple[int, ...]] = {}

    def vote(self, signal: Signal, votes: tuple[int, ...]) -> None:
        """Add the votes that are given where the signal is 1."""
        old = self._votes.get(signal, (0,) * self._readout.n_outputs)
        self._votes[signal] = tuple(x + y for x, y in zip(old, votes, strict=True))

    def finish(self) -> Circuit:
        """Build the circuit from the parts that some vote depends on, literals first."""
        voted = {
            signal: votes
            for signal, votes in self._votes.items()
            if signal.part is not None and any(votes)
        }
        logic, wires = self.build(voted)
        rules = tuple(Rule(wires[signal], votes) for signal, votes in voted.items())
        base_votes = self._votes.get(TRUE, (0,) * self._readout.n_outputs)
        return Circuit(logic=logic, readout=self._readout.with_rules(rules, base_votes))


def _in_order(gate: Gate, a: int, b: int) -> Node:
    """Make a node with the smaller input first, so that duplicates are equal."""
    return Node(gate, a, b) if a <= b else Node(gate.swap(), b, a)


def _absorb_a(gate: Gate, a: Signal) -> Gate:
    """Absorb a constant or negated input a into the gate."""
    if a.part is None:
        t00, t01, t10, t11 = gate.table
        return gate_of((t10, t11, t10, t11) if a.negated else (t00, t01, t00, t01))
    return gate.negate_a() if a.negated else gate
