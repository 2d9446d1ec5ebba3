"""The logical operators of each target language, as data.

Gates are written from their truth tables, so that four operators express all sixteen gates.
"""

from __future__ import annotations

from dataclasses import dataclass

from dln.core.gates import Gate


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
        if not gate.reads_a and not gate.reads_b:
            return self.always if gate.table[0] else self.never
        if not (gate.reads_a and gate.reads_b):
            return self._literal(a if gate.reads_a else b, inverted=gate.table[0] == 1)
        ones = sum(gate.table)
        if ones == 2:
            word = self.differ.format(a=a, b=b)
            return self._literal(word, inverted=gate.table[0] == 1)
        # A table with a single 1 is an AND that is true for the inputs of that 1. A table with a
        # single 0 is an OR that is false for the inputs of that 0.
        odd = gate.table.index(1 if ones == 1 else 0)
        word = self.both if ones == 1 else self.either
        is_and = ones == 1
        return word.format(
            a=self._literal(a, inverted=(odd >= 2) != is_and),
            b=self._literal(b, inverted=(odd % 2 == 1) != is_and),
        )

    def _literal(self, wire: str, *, inverted: bool) -> str:
        return self.invert.format(a=wire) if inverted else wire


C_LIKE = Dialect(
    both="({a} & {b})",
    either="({a} | {b})",
    differ="({a} ^ {b})",
    invert="~{a}",
    never="0",
    always="~0",
)
"""Bitwise operators, as in C and Verilog."""
