"""The parts of a circuit besides its literals: nodes and voting rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dln.core.gates import Gate

if TYPE_CHECKING:
    from dln.core.circuit import Circuit

MAX_VOTES = 2**31 - 1
"""Maximum sum of the absolute votes of a class, so that votes fit in 32 bits everywhere."""


class Node(NamedTuple):
    """A gate placed in a circuit, with the two wires that it reads."""

    gate: Gate
    a: int
    b: int

    @property
    def sources(self) -> set[int]:
        """The wires that the gate depends on."""
        read = ((self.a, self.gate.reads_a), (self.b, self.gate.reads_b))
        return {source for source, reads in read if reads}


class Rule(NamedTuple):
    """A wire and the votes that each class gets when the wire is 1."""

    wire: int
    votes: tuple[int, ...]

    def to_sympy(self, circuit: Circuit) -> Any:
        """Return the rule as a SymPy expression; requires SymPy.

        Numbers and dates (seconds since 1970) are real symbols that are compared with thresholds.
        Every other test is a symbol, named as it prints.

        >>> from dln import GATE_BY_NAME, Above, Circuit, Column, Node
        >>> circuit = Circuit(
        ...     (Column("age", "integer"), Column("smoker", "boolean")),
        ...     (Above(0, 54.0), Above(1, 0.5)), (Node(GATE_BY_NAME["NAND"], 0, 1),),
        ...     (Rule(2, (0, 1)),), (0, 0), ("no", "yes"),
        ... )
        >>> circuit.rules[0].to_sympy(circuit)
        ~(smoker & (age > 54))
        """
        from dln.explain.sympy_form import wire_to_sympy

        return wire_to_sympy(circuit.logic, self.wire)
