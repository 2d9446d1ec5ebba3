"""Locked rules: a circuit -> its locked rules and the rest, and back.

Promise: joining what was split gives the same votes on every row. Locked rules keep their
conditions and votes; the rest may have been replaced in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dln.core.builder import LogicBuilder, Signal
from dln.core.circuit import Circuit
from dln.core.parts import Rule


def split_locked(circuit: Circuit) -> tuple[Circuit, Circuit]:
    """Return a circuit without its locked rules, and one of its locked rules alone.

    The first keeps the base votes; the second has none.
    """
    locked = [circuit.rules[place] for place in circuit.locked]
    free = [rule for place, rule in enumerate(circuit.rules) if place not in circuit.locked]
    no_votes = (0,) * circuit.readout.n_outputs
    readout = circuit.readout
    return (
        replace(circuit, readout=readout.with_rules(tuple(free), readout.base_votes), locked=()),
        replace(circuit, readout=readout.with_rules(tuple(locked), no_votes), locked=()),
    )


def join_locked(rest: Circuit, locked: Circuit) -> Circuit:
    """Join what `split_locked` split; the locked rules come first.

    Their base votes, if any, are added to those of the rest. Everything else is that of the rest.
    """
    assert rest.columns == locked.columns
    builder = LogicBuilder(rest.columns)
    entries: list[tuple[Signal, tuple[int, ...]]] = []
    for part in (locked, rest):
        signals = builder.copy(part.logic)
        entries += [(signals[rule.wire], rule.votes) for rule in part.rules]
    base = [x + y for x, y in zip(rest.base_votes, locked.base_votes, strict=True)]
    n_locked = len(locked.rules)
    return with_entries(rest, builder, entries, tuple(base), range(n_locked))


def around_locked(change: Callable[[Circuit], Circuit], circuit: Circuit) -> Circuit:
    """Change a circuit, but leave its locked rules as they are."""
    if not circuit.locked:
        return change(circuit)
    rest, locked = split_locked(circuit)
    return join_locked(change(rest), locked)


def with_entries(
    circuit: Circuit,
    builder: LogicBuilder,
    entries: list[tuple[Signal, tuple[int, ...]]],
    base_votes: tuple[int, ...],
    locked: range | tuple[int, ...],
) -> Circuit:
    """Return a circuit with other rules; equal ones stay apart. `locked` are places in `entries`.

    The votes of a constant condition become base votes or none, even if it was locked.
    """
    kept = [place for place, (signal, _) in enumerate(entries) if signal.part is not None]
    for signal, votes in entries:
        if signal.part is None and signal.negated:
            base_votes = tuple(x + y for x, y in zip(base_votes, votes, strict=True))
    outputs = dict.fromkeys(entries[place][0] for place in kept)
    logic, wires = builder.build(outputs)
    rules = tuple(Rule(wires[entries[place][0]], entries[place][1]) for place in kept)
    return replace(
        circuit,
        logic=logic,
        readout=circuit.readout.with_rules(rules, base_votes),
        locked=tuple(number for number, place in enumerate(kept) if place in locked),
        proof=None,
    )
