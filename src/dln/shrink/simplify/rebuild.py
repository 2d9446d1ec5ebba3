"""Copy a circuit part by part and change its votes. Copying also folds."""

from __future__ import annotations

from collections.abc import Callable

from dln.core.builder import TRUE, CircuitBuilder, Signal
from dln.core.circuit import Circuit

Points = dict[Signal, tuple[int, ...]]
"""The votes or points that each signal gives if it is 1. TRUE has the base votes."""


def rebuild(circuit: Circuit, edit: Callable[[Points], Points] = dict) -> Circuit:
    """Copy a circuit. `edit` takes its votes and returns the new ones."""
    builder = CircuitBuilder(circuit.columns, circuit.readout)
    votes = _add_up_votes(circuit, _copy_wires(circuit, builder))
    for signal, given in edit(votes).items():
        builder.vote(signal, given)
    return builder.finish()


def _copy_wires(circuit: Circuit, builder: CircuitBuilder) -> list[Signal]:
    """Add all parts of a circuit to a builder and return the signal of each wire."""
    signals = [builder.literal(literal) for literal in circuit.literals]
    for gate, a, b in circuit.nodes:
        signals.append(builder.gate(gate, signals[a], signals[b]))
    return signals


def _add_up_votes(circuit: Circuit, signals: list[Signal]) -> Points:
    """Add up the votes of each signal; `signals` are those of the circuit's wires."""
    votes: Points = {TRUE: circuit.base_votes}
    for wire, given in circuit.rules:
        old = votes.get(signals[wire], (0,) * circuit.readout.n_outputs)
        votes[signals[wire]] = tuple(x + y for x, y in zip(old, given, strict=True))
    return votes
