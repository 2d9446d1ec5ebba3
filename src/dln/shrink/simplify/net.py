"""The logic of a circuit in a form that can be changed: literals, ANDs, XORs and negated edges.

An *edge* is twice the number of a node, plus 1 if it is negated. Node 0 is the constant false,
then come the literals, then the gates, each of which reads only smaller nodes. In the paper's count
an AND of any polarity is 1 gate-level operation, an XOR 3, a negation 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from dln.core.builder import FALSE, TRUE, CircuitBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME, Operators
from dln.core.logic import Logic
from dln.core.readout import Readout
from dln.costs.arithmetic import Widths
from dln.costs.circuit import literal_cost

LEAF, AND, XOR = 0, 1, 2
_GATES = {AND: GATE_BY_NAME["AND"], XOR: GATE_BY_NAME["XOR"]}

Operation = Callable[[int, int], int]


_SIXTEEN = Widths(16, 16)


def leaf_cost(net: Net, leaf: int) -> int:
    """Count the gate-level operations of a literal, as in the paper."""
    literal = net.logic.literals[leaf - 1]
    return literal_cost(literal, net.logic.columns, _SIXTEEN).gate_operations


class Net:
    """Nodes that can be replaced by earlier ones.

    Attributes
    ----------
    kinds, inputs
        The kind of each node, and the two edges that it reads.
    roots
        The edge of each output.
    readers, root_readers
        The gates and the outputs that read each node.
    """

    def __init__(self, logic: Logic, outputs: Sequence[int]) -> None:
        """Take the logic and the wires that are read from outside: those that vote."""
        self.logic = logic
        self.n_leaves = 1 + logic.n_literals
        self._by_column: dict[int, list[int]] = {}
        for number, literal in enumerate(logic.literals):
            self._by_column.setdefault(literal.column, []).append(1 + number)
        self.kinds = [LEAF] * self.n_leaves
        self.inputs: list[tuple[int, int]] = [(0, 0)] * self.n_leaves
        edges = [2 * (1 + literal) for literal in range(logic.n_literals)]
        operators = Operators(
            self._add_and,
            lambda a, b: self._add_and(a ^ 1, b ^ 1) ^ 1,
            self._add_xor,
            lambda edge: edge ^ 1,
            int,
        )
        for gate, a, b in logic.nodes:
            edges.append(gate.compute(operators, edges[a], edges[b]))
        self.roots = [edges[wire] for wire in outputs]
        self.readers: list[set[int]] = [set() for _ in self.kinds]
        self.root_readers: list[set[int]] = [set() for _ in self.kinds]
        for place, root in enumerate(self.roots):
            self.root_readers[root >> 1].add(place)
        for node in self.gates:
            for edge in self.inputs[node]:
                self.readers[edge >> 1].add(node)
        for node in reversed(self.gates):
            self._drop_unread(node)

    def _add_and(self, a: int, b: int) -> int:
        self.kinds.append(AND)
        self.inputs.append((a, b))
        return 2 * (len(self.kinds) - 1)

    def _add_xor(self, a: int, b: int) -> int:
        self.kinds.append(XOR)
        self.inputs.append((a & ~1, b & ~1))
        return 2 * (len(self.kinds) - 1) ^ (a ^ b) & 1

    # -- reading ------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes, including those that are not read."""
        return len(self.kinds)

    @property
    def gates(self) -> range:
        """The numbers of the gates, including those that are not read."""
        return range(self.n_leaves, len(self.kinds))

    def is_read(self, node: int) -> bool:
        """Return whether an output or a gate reads the node."""
        return bool(self.readers[node] or self.root_readers[node])

    def leaves_of_column(self, leaf: int) -> list[int]:
        """List the literals of the same column as a literal."""
        return self._by_column[self.logic.literals[leaf - 1].column]

    def is_kept(self, node: int) -> bool:
        """Return whether the node may be used: it is the constant, or it is read already."""
        return node == 0 or self.is_read(node)

    def evaluate(
        self, leaves: Sequence[int], ones: int, both: Operation, differ: Operation
    ) -> list[int]:
        """Return the value of every node; `ones` turns a value into its negation."""
        values = list(leaves)
        for node in self.gates:
            a, b = self.inputs[node]
            x = values[a >> 1] ^ (ones if a & 1 else 0)
            y = values[b >> 1] ^ (ones if b & 1 else 0)
            values.append((both if self.kinds[node] == AND else differ)(x, y))
        return values

    def follow(
        self,
        start: Mapping[int, int],
        values: Sequence[int],
        ones: int,
        both: Operation,
        differ: Operation,
    ) -> dict[int, int]:
        """Propagate new values of some nodes to their readers, as long as anything changes.

        `values` are the current ones. Returns the new values of all nodes that change.
        """
        changed = {node: value for node, value in start.items() if value != values[node]}
        queue = list({reader for node in changed for reader in self.readers[node]})
        heapq.heapify(queue)
        queued = set(queue)
        while queue:
            node = heapq.heappop(queue)
            a, b = self.inputs[node]
            x = changed.get(a >> 1, values[a >> 1]) ^ (ones if a & 1 else 0)
            y = changed.get(b >> 1, values[b >> 1]) ^ (ones if b & 1 else 0)
            new = (both if self.kinds[node] == AND else differ)(x, y)
            if new != values[node]:
                changed[node] = new
                for reader in self.readers[node] - queued:
                    queued.add(reader)
                    heapq.heappush(queue, reader)
        return changed

    # -- changing -----------------------------------------------------------------------------

    def replace(self, node: int, edge: int) -> None:
        """Make all readers of a node read an edge of a smaller node instead."""
        assert edge >> 1 < node or (edge >> 1 != node and node < self.n_leaves)
        assert self.is_kept(edge >> 1)
        for reader in sorted(self.readers[node]):
            a, b = (
                edge ^ source & 1 if source >> 1 == node else source
                for source in self.inputs[reader]
            )
            self.inputs[reader] = (a, b)
            self.readers[edge >> 1].add(reader)
        for place in sorted(self.root_readers[node]):
            self.roots[place] = edge ^ self.roots[place] & 1
            self.root_readers[edge >> 1].add(place)
        self.readers[node] = set()
        self.root_readers[node] = set()
        self._drop_unread(node)

    def become_and(self, node: int, a: int, b: int, *, negated: bool) -> None:
        """Make a gate an AND of two edges of its inputs; its readers may read the negation."""
        self.kinds[node] = AND
        self.inputs[node] = (a, b)
        if negated:
            for reader in self.readers[node]:
                a, b = (edge ^ (edge >> 1 == node) for edge in self.inputs[reader])
                self.inputs[reader] = (a, b)
            for place in self.root_readers[node]:
                self.roots[place] ^= 1

    def _drop_unread(self, node: int) -> None:
        """Disconnect a gate that is not read, then the gates that only it read, and so on."""
        unread = [node]
        while unread:
            node = unread.pop()
            if self.kinds[node] != LEAF and not self.is_read(node):
                for source in {edge >> 1 for edge in self.inputs[node]}:
                    self.readers[source].discard(node)
                    unread.append(source)

    def to_circuit(self, readout: Readout) -> Circuit:
        """Build the circuit of the nodes that are read; the rules of the readout read the roots."""
        builder = CircuitBuilder(self.logic.columns, readout)
        signals: list[Signal | None] = [FALSE]
        signals += [
            builder.literal(literal) if self.is_read(1 + number) else None
            for number, literal in enumerate(self.logic.literals)
        ]

        def signal(edge: int) -> Signal:
            part = signals[edge >> 1]
            assert part is not None
            return part.invert(bool(edge & 1))

        for node in self.gates:
            if self.is_read(node):
                a, b = self.inputs[node]
                signals.append(builder.gate(_GATES[self.kinds[node]], signal(a), signal(b)))
            else:
                signals.append(None)
        for root, rule in zip(self.roots, readout.rules, strict=True):
            builder.vote(signal(root), rule.votes)
        builder.vote(TRUE, readout.base_votes)
        return builder.finish()
