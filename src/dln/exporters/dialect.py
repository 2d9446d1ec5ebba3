"""The logical operators of each target language, as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dln.core.gates import Gate, Operators


@dataclass(frozen=True)
class Dialect:
    """The operators of a language; `{a}` and `{b}` stand for wires or for whole expressions.

    Attributes
    ----------
    both, either, differ, invert
        AND, OR, XOR and NOT, with parentheses, so that they can be part of any expression.
    never, always
        The constants 0 and 1.
    """

    both: str
    either: str
    differ: str
    invert: str
    never: str
    always: str

    def gate(self, gate: Gate, a: str, b: str) -> str:
        """Write a gate over two wires.

        >>> from dln import GATE_BY_NAME
        >>> C_LIKE.gate(GATE_BY_NAME["NOT_A_AND_B"], "x", "y")
        '(~x & y)'
        >>> C_LIKE.gate(GATE_BY_NAME["XNOR"], "x", "y"), C_LIKE.gate(GATE_BY_NAME["A"], "x", "y")
        ('~(x ^ y)', 'x')
        """
        return gate.compute(self._operators, a, b)

    @cached_property
    def _operators(self) -> Operators[str]:
        return Operators(
            lambda a, b: self.both.format(a=a, b=b),
            lambda a, b: self.either.format(a=a, b=b),
            lambda a, b: self.differ.format(a=a, b=b),
            lambda a: self.invert.format(a=a),
            lambda value: self.always if value else self.never,
        )


C_LIKE = Dialect(
    both="({a} & {b})",
    either="({a} | {b})",
    differ="({a} ^ {b})",
    invert="~{a}",
    never="0",
    always="~0",
)
"""Bitwise operators, as in C and Verilog."""
