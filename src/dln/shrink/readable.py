"""Rewrite gates so that every rule reads as "and", "or" and "not".

Promise: every row keeps its votes, and no gate is XOR or XNOR.
"""

from __future__ import annotations

from dataclasses import replace

from dln.core.builder import FALSE, CircuitBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.locked import join_locked, split_locked
from dln.core.parts import Node

_AND, _OR = GATE_BY_NAME["AND"], GATE_BY_NAME["OR"]


def is_readable(circuit: Circuit) -> bool:
    """Check whether no gate is XOR or XNOR."""
    return all(node.gate.form.operation != "xor" for node in circuit.nodes)


def make_readable(circuit: Circuit) -> Circuit:
    """Replace `a xor b` by `(a and not b) or (b and not a)`."""
    if is_readable(circuit):
        return circuit
    if circuit.locked:
        return join_locked(*map(make_readable, split_locked(circuit)))
    builder = CircuitBuilder(circuit.columns, circuit.readout)
    signals = [builder.literal(literal) for literal in circuit.literals]
    for node in circuit.nodes:
        signals.append(_rewritten(node, signals, builder))
    for rule in circuit.rules:
        builder.vote(signals[rule.wire], rule.votes)
    builder.vote(FALSE.invert(), circuit.base_votes)
    rebuilt = builder.finish()
    return replace(circuit, logic=rebuilt.logic, readout=rebuilt.readout, proof=None)


def _rewritten(node: Node, signals: list[Signal], builder: CircuitBuilder) -> Signal:
    gate, a, b = node.gate, signals[node.a], signals[node.b]
    if gate.form.operation != "xor":
        return builder.gate(gate, a, b)
    only_a = builder.gate(_AND, a, b.invert())
    only_b = builder.gate(_AND, a.invert(), b)
    return builder.gate(_OR, only_a, only_b).invert(gate.form.negated)
