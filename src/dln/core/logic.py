"""Logic: bits computed from a row, and gates over them. It knows nothing of classes or numbers.

Wires are numbered once: literals first, then nodes; a node reads only smaller wires.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dln.core.checks import check_columns, check_literals, check_nodes
from dln.core.literals import Column, Literal
from dln.core.parts import Node


@dataclass(frozen=True)
class Logic:
    """Literals and gates. Every `Logic` is valid; the constructor refuses anything else.

    Attributes
    ----------
    columns
        All columns of the table in order, including columns that no literal reads.
    literals
        Bits computed from a row.
    nodes
        Gates with their two source wires, in topological order.
    """

    columns: tuple[Column, ...]
    literals: tuple[Literal, ...]
    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        for name in ("columns", "literals", "nodes"):
            # A list could be changed later, from outside.
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_columns(self.columns)
        check_literals(self.literals, self.columns)
        check_nodes(self.nodes, len(self.literals))

    @property
    def n_literals(self) -> int:
        """Number of bits computed from a row."""
        return len(self.literals)

    @property
    def n_gates(self) -> int:
        """Number of gates."""
        return len(self.nodes)

    @property
    def n_wires(self) -> int:
        """Number of literals and gates."""
        return len(self.literals) + len(self.nodes)

    @property
    def used_columns(self) -> list[int]:
        """The indices of the columns that literals read, ascending."""
        return sorted({literal.column for literal in self.literals})

    def cone(self, wires: Iterable[int]) -> list[int]:
        """List these wires and all wires that they depend on, ascending."""
        found = set(wires)
        stack = list(found)
        while stack:
            wire = stack.pop() - self.n_literals
            if wire >= 0:
                new = self.nodes[wire].sources - found
                found |= new
                stack.extend(new)
        return sorted(found)
