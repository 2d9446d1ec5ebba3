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
    votes = _add_up_votes(circuit, builder.copy(circuit.logic))
    for signal, given in edit(votes).items():
        builder.vote(signal, given)
    return builder.finish()


def _add_up_votes(circuit: Circuit, signals: list[Signal]) -> Points:
    """Add up the votes of each signal; `signals` are those of the circuit's wires."""
    votes: Points = {TRUE: circuit.base_votes}
    for wire, given in circuit.rules:
        old = votes.get(signals[wire], (0,) * circuit.readout.n_outputs)
        votes[signals[wire]] = tuple(x + y for x, y in zip(old, given, strict=True))
    return votes
