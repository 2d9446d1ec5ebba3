"""Rewrite the logic with aigverse: resubstitution, refactoring, cut rewriting.

The circuit is converted to an and-inverter graph and back; XORs are detected on the way back.
Promise: the votes of every row stay the same.
"""

from __future__ import annotations

from importlib import import_module

from dln.core.builder import FALSE, TRUE, CircuitBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.shrink.simplify.fold import fold
from dln.shrink.simplify.net import AND, Net

_AND, _XOR = GATE_BY_NAME["AND"], GATE_BY_NAME["XOR"]


def resubstitute(circuit: Circuit) -> Circuit:
    """Express gates by existing gates, and small cones by shorter expressions."""
    return _synthesise(circuit, ("aig_resubstitution", "sop_refactoring", "aig_resubstitution"))


def rewrite_cuts(circuit: Circuit) -> Circuit:
    """Replace small cuts by the best known logic for them.

    After resubstitution this removes at most one gate in a hundred, and it takes 0.2 s to set up.
    """
    return _synthesise(circuit, ("aig_cut_rewriting",))


def missing_packages() -> list[str]:
    """List the packages that are required above effort "quick" and are not installed."""
    modules = {"aigverse": "aigverse", "python-sat": "pysat.solvers"}
    return [package for package, module in modules.items() if not _can_import(module)]


def _can_import(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _synthesise(circuit: Circuit, algorithms: tuple[str, ...]) -> Circuit:
    if not circuit.nodes:
        return circuit
    library, networks = (import_module(f"aigverse.{name}") for name in ("algorithms", "networks"))
    folded = fold(circuit)
    aig = networks.AigIndexList(_to_index_list(Net(folded.logic, folded.readout.wires))).to_aig()
    for name in algorithms:
        aig = getattr(library, name)(aig)
    return _from_index_list(list(aig.to_index_list().raw()), folded)


def _to_index_list(net: Net) -> list[int]:
    """Convert a net to (inputs, outputs, gates, two edges for each gate, the outputs' edges)."""
    edges = [2 * leaf for leaf in range(net.n_leaves)]
    gates: list[int] = []

    def both(x: int, y: int) -> int:
        gates.extend((x, y) if x < y else (y, x))  # aigverse reads the larger edge first as an XOR
        return 2 * (net.n_leaves - 1 + len(gates) // 2)

    for node in net.gates:
        a, b = (edges[edge >> 1] ^ edge & 1 for edge in net.inputs[node])
        if not net.is_read(node):
            edges.append(0)
        elif net.kinds[node] == AND:
            edges.append(both(a, b))
        else:
            edges.append(both(both(a, b) ^ 1, both(a ^ 1, b ^ 1) ^ 1))
    roots = [edges[root >> 1] ^ root & 1 for root in net.roots]
    return [net.n_leaves - 1, len(roots), len(gates) // 2, *gates, *roots]


def _from_index_list(values: list[int], circuit: Circuit) -> Circuit:
    """Build the circuit from the index list of its rules."""
    n_inputs, n_outputs, n_gates = values[:3]
    pairs = [(values[3 + 2 * i], values[4 + 2 * i]) for i in range(n_gates)]
    outputs = values[3 + 2 * n_gates : 3 + 2 * n_gates + n_outputs]
    n_readers = [0] * (1 + n_inputs + n_gates)
    for edge in [*(edge for pair in pairs for edge in pair), *outputs]:
        n_readers[edge >> 1] += 1

    def inputs(edge: int) -> tuple[int, int] | None:
        """Return the inputs of an edge's gate, if the edge is negated and its only reader."""
        place = (edge >> 1) - 1 - n_inputs
        return pairs[place] if edge & 1 and place >= 0 and n_readers[edge >> 1] == 1 else None

    builder = CircuitBuilder(circuit.columns, circuit.readout)
    signals = [FALSE, *(builder.literal(literal) for literal in circuit.literals)]

    def signal(edge: int) -> Signal:
        return signals[edge >> 1].invert(bool(edge & 1))

    for x, y in pairs:
        left, right = inputs(x), inputs(y)
        # not(a and b) and not(not a and not b) is a xor b.
        if left and right and {left[0] ^ 1, left[1] ^ 1} == set(right):
            signals.append(builder.gate(_XOR, signal(left[0]), signal(left[1])))
        else:
            signals.append(builder.gate(_AND, signal(x), signal(y)))
    for output, rule in zip(outputs, circuit.rules, strict=True):
        builder.vote(signal(output), rule.votes)
    builder.vote(TRUE, circuit.base_votes)
    return builder.finish()
