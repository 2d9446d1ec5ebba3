"""What a proof attempt ends with: a proof, a row that refutes it, or neither in the time given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

from dln.cells import cell_text
from dln.conditions import Cell
from dln.literals import format_text

Method = OneOf["structure", "exhaustion", "SAT"]


@dataclass(frozen=True)
class Proof:
    """The circuits give every class the same lead over every other on every possible row.

    Attributes
    ----------
    method
        What decided it: the circuits came down to the same structure, all rows that can differ
        were evaluated, or a SAT solver found that none differs.
    seconds
        How long it took.
    """

    method: Method
    seconds: float = field(compare=False)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"equal on every possible row (proven by {self.method}, {self.seconds:.2f} s)"


@dataclass(frozen=True)
class Counterexample:
    """A row on which the circuits differ.

    Attributes
    ----------
    row
        The cells of the columns that one of the circuits reads, by name; None is a missing cell.
        Other columns may hold anything.
    votes_a, votes_b
        The votes that each circuit gives to the classes.
    seconds
        How long it took to find.
    """

    row: Mapping[str, Cell] = field(hash=False)
    votes_a: tuple[int, ...]
    votes_b: tuple[int, ...]
    seconds: float = field(compare=False)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        cells = [f"{format_text(name)} = {cell_text(cell)}" for name, cell in self.row.items()]
        return (
            f"not equal: votes {self.votes_a} and {self.votes_b} "
            f"where {', '.join(cells) or 'nothing is read'}"
        )


@dataclass(frozen=True)
class Undecided:
    """Neither a proof nor a difference was found in the time given.

    Attributes
    ----------
    seconds
        How long was tried.
    """

    seconds: float = field(compare=False)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"not decided within {self.seconds:.2f} s; give more time"
