"""Circuit -> the rules that vote, and for each wire the rules that depend on it."""

from __future__ import annotations

from dln.core.circuit import Circuit


def voting_rules(circuit: Circuit) -> list[int]:
    """List the rules that give at least one vote, for or against a class."""
    return [number for number, rule in enumerate(circuit.rules) if any(rule.votes)]


def rules_by_wire(circuit: Circuit) -> dict[int, tuple[int, ...]]:
    """Return the voting rules that depend on each wire. Wires without any are left out."""
    found: dict[int, list[int]] = {}
    for number in voting_rules(circuit):
        for wire in circuit.logic.cone([circuit.rules[number].wire]):
            found.setdefault(wire, []).append(number)
    return {wire: tuple(numbers) for wire, numbers in sorted(found.items())}
