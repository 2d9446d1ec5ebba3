"""Gate -> its symbol in a diagram, and which of its inputs are shown inverted."""

from __future__ import annotations

from typing import NamedTuple

from dln.core.gates import Gate, Operation

_SIGNS: dict[Operation, str] = {"and": "∧", "or": "∨", "xor": "⊕", "copy": "=", "constant": "0"}
_NEGATED_SIGNS: dict[Operation, str] = {"xor": "¬⊕", "copy": "¬", "constant": "1"}
_MEANING = {
    "∧": "and",
    "∨": "or",
    "⊕": "one of the two",
    "¬": "not",
    "=": "copy",
    "0": "never",
    "1": "always",
}
"""The meaning of each character of a symbol, in the order of the legend."""


class Symbol(NamedTuple):
    """A symbol, and whether input a or b is inverted."""

    sign: str
    invert_a: bool = False
    invert_b: bool = False


def gate_symbol(gate: Gate) -> Symbol:
    """Return the symbol of a gate.

    >>> from dln import GATE_BY_NAME
    >>> [gate_symbol(GATE_BY_NAME[name]).sign for name in ("AND", "NAND", "XNOR", "NOT_B")]
    ['∧', '¬∧', '¬⊕', '¬']
    >>> gate_symbol(GATE_BY_NAME["A_AND_NOT_B"])
    Symbol(sign='∧', invert_a=False, invert_b=True)
    """
    operation, negate_a, negate_b, negated = gate.form
    if negate_a and negate_b:  # NAND is drawn as a negated AND
        return Symbol("¬" + _SIGNS[gate.negate().form.operation])
    return Symbol((_NEGATED_SIGNS if negated else _SIGNS)[operation], negate_a, negate_b)


def legend(symbols: set[Symbol]) -> str:
    """Return a legend of the symbols that occur.

    >>> legend({Symbol("¬∨"), Symbol("∧", invert_b=True)})
    '∧ and    ∨ or    ¬ not    ○ inverted input'
    """
    letters = {letter for symbol in symbols for letter in symbol.sign}
    words = [f"{letter} {meaning}" for letter, meaning in _MEANING.items() if letter in letters]
    if any(symbol.invert_a or symbol.invert_b for symbol in symbols):
        words.append("○ inverted input")
    return "    ".join(words)
