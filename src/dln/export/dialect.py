"""How a language spells logic: what differs between targets, as data.

Gates are spelled from their truth tables, so sixteen gates need four words a language.
"""

from __future__ import annotations

from dataclasses import dataclass

from dln.gates import Gate


@dataclass(frozen=True)
class Dialect:
    """The words of a language; `{a}` and `{b}` stand for wires or for whole expressions.

    Attributes
    ----------
    both, either, differ, invert
        AND, OR, XOR and NOT, with the parentheses that make them safe anywhere.
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
        """Spell a gate over two wires.

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
        # One 1 in the table is an AND of inputs as they are there; one 0 an OR of their opposites.
        odd = gate.table.index(1 if ones == 1 else 0)
        word = self.both if ones == 1 else self.either
        given = ones == 1
        return word.format(
            a=self._literal(a, inverted=(odd >= 2) != given),
            b=self._literal(b, inverted=(odd % 2 == 1) != given),
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
"""Bits of words, as C and Verilog write them."""
