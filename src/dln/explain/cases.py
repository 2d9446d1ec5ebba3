"""Some literals of a circuit -> every combination in which they can be true, evaluated at once.

A *case* is a combination of atoms (`core.conditions`), one for each column that the literals read.
Combinations that the columns rule out, such as `x > 5` without `x > 3`, are not cases. The truth of
a wire in all cases is one Python integer with one bit for each case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import and_, or_, xor
from typing import TYPE_CHECKING

from dln.core.conditions import column_atoms
from dln.core.gates import Operators

if TYPE_CHECKING:
    from dln.core.logic import Logic


def reads_more(logic: Logic, wire: int, n_literals: int) -> bool:
    """Check whether a wire depends on more than `n_literals` literals; stops early if so."""
    found, stack = {wire}, [wire]
    n_found = 0
    while stack and n_found <= n_literals:
        number = stack.pop()
        n_found += number < logic.n_literals
        new = sources(logic, number) - found
        stack += sorted(new)
        found |= new
    return n_found > n_literals


def sources(logic: Logic, wire: int) -> set[int]:
    """Return the wires that a wire's gate reads directly."""
    number = wire - logic.n_literals
    return set() if number < 0 else logic.nodes[number].sources


Pattern = tuple[bool, ...]
"""Which literals of a column are true together."""


def column_patterns(
    logic: Logic, literals: Iterable[int], row: Mapping[int, bool] | None = None
) -> list[tuple[list[int], list[Pattern]]]:
    """Group literals by the column that they read, each group with its possible patterns.

    The pattern of a `row`, if given, is included even if its value is impossible for the column's
    kind, such as 3.5 in a column of integers.
    """
    members: dict[int, list[int]] = {}
    for wire in literals:
        members.setdefault(logic.literals[wire].column, []).append(wire)
    groups = []
    for column, wires in members.items():
        found = column_atoms(logic.columns[column], [logic.literals[wire] for wire in wires])
        patterns = [found.truths(atom) for atom in range(len(found.atoms))]
        if row is not None and (own := tuple(row[wire] for wire in wires)) not in patterns:
            patterns.append(own)
        groups.append((wires, patterns))
    return groups


class Cases:
    """All cases of some literals; with n literals there are at most 2 ** n.

    Attributes
    ----------
    literals
        The literals, by their wire, each with the cases in which it is true.
    ones
        All cases.
    """

    def __init__(
        self, logic: Logic, literals: Iterable[int], row: Mapping[int, bool] | None = None
    ) -> None:
        """Enumerate the cases; the values of a `row`, if given, are included."""
        self.logic = logic
        groups = column_patterns(logic, literals, row)
        n_cases = math.prod(len(patterns) for _, patterns in groups)
        self.ones = (1 << n_cases) - 1
        self.literals: dict[int, int] = {}
        stride = 1
        for wires, patterns in groups:
            period = stride * len(patterns)
            # One bit at the start of each period: multiplying by it repeats bits in all periods.
            starts = self.ones // ((1 << period) - 1)
            for place, wire in enumerate(wires):
                true = [number for number, pattern in enumerate(patterns) if pattern[place]]
                bits = sum(((1 << stride) - 1) << (number * stride) for number in true)
                self.literals[wire] = bits * starts
            stride = period

    def truth(self, wire: int) -> int:
        """Find the cases in which a wire that depends on these literals is 1."""
        bits = dict(self.literals)
        ones = self.ones
        operators = Operators(and_, or_, xor, lambda x: x ^ ones, lambda value: value * ones)
        for number in self.logic.cone([wire]):
            if number < self.logic.n_literals:
                continue
            gate, a, b = self.logic.nodes[number - self.logic.n_literals]
            # An input that the gate does not depend on may lie outside the cone.
            x, y = bits.get(a, 0), bits.get(b, 0)
            bits[number] = gate.compute(operators, x, y)
        return bits[wire]

    def holding(self, wire: int, *, truth: bool) -> int:
        """Find the cases in which a literal has this truth value."""
        return self.literals[wire] if truth else self.literals[wire] ^ self.ones
