"""What a proof attempt ends with: a proof, a row that refutes it, or neither in the time given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import get_args

from dln.cells import cell_text
from dln.conditions import Cell
from dln.literals import format_name

Method = OneOf["structure", "exhaustion", "SAT"]
METHODS: tuple[Method, ...] = get_args(Method)
"""From the easiest questions to the hardest."""


@dataclass(frozen=True)
class Proof:
    """What was asked is so on every possible row.

    Attributes
    ----------
    method
        What decided it: the structure alone, all rows that can differ were evaluated, or a SAT
        solver found that there is no row against it.
    seconds
        How long it took.
    claim
        What was proven; unless it says otherwise, that two circuits give every class the same lead
        over every other.
    """

    method: Method
    seconds: float = field(compare=False)
    claim: str = "equal on every possible row"

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"{self.claim} (proven by {self.method}, {self.seconds:.2f} s)"


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
        where = _cells_text(self.row) or "nothing is read"
        return f"not equal: votes {self.votes_a} and {self.votes_b} where {where}"


@dataclass(frozen=True)
class Reversal:
    """Two rows that differ in one feature, with votes against what was to be proven.

    Attributes
    ----------
    feature
        The name of the column.
    before, after
        Its cells in the two rows, the smaller first.
    row
        The cells of the other columns that the circuit reads, by name; None is a missing cell.
    votes_before, votes_after
        The votes of the classes.
    seconds
        How long it took to find.
    """

    feature: str
    before: Cell
    after: Cell
    row: Mapping[str, Cell] = field(hash=False)
    votes_before: tuple[int, ...]
    votes_after: tuple[int, ...]
    seconds: float = field(compare=False)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        moved = (
            f"not so: votes {self.votes_before} become {self.votes_after} as "
            f"{format_name(self.feature)} goes from {cell_text(self.before)} "
            f"to {cell_text(self.after)}"
        )
        return f"{moved} where {_cells_text(self.row)}" if self.row else moved


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


def _cells_text(row: Mapping[str, Cell]) -> str:
    return ", ".join(f"{format_name(name)} = {cell_text(cell)}" for name, cell in row.items())
