"""Results of a proof attempt: a proof, a row that refutes the claim, or undecided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import get_args

from dln.core.conditions import Cell
from dln.core.labels import Label, label_text
from dln.core.literals import format_name
from dln.core.values import cell_text

Method = OneOf["structure", "exhaustion", "SAT", "bounds"]
METHODS: tuple[Method, ...] = get_args(Method)
"""From the easiest claims to the hardest."""


@dataclass(frozen=True)
class Proof:
    """The claim holds on every possible row.

    Attributes
    ----------
    method
        How it was proven: "structure" (the circuits have the same structure), "exhaustion" (all
        rows that can differ were evaluated), "SAT" (a solver found no counterexample) or "bounds"
        (bounds on the votes exclude every counterexample).
    seconds
        Time taken.
    claim
        What was proven. By default: the vote differences between classes are the same in two
        circuits.
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
        The values of the columns that one of the circuits reads, by name; None means missing.
        Other columns do not matter.
    votes_a, votes_b
        The votes of each circuit for the classes, or the points of the number.
    seconds
        Time taken.
    numbers
        The predictions of the two circuits, if they predict numbers.
    """

    row: Mapping[str, Cell] = field(hash=False)
    votes_a: tuple[int, ...]
    votes_b: tuple[int, ...]
    seconds: float = field(compare=False)
    numbers: tuple[float, float] | None = None

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        where = _cells_text(self.row) or "nothing is read"
        if self.numbers is not None:
            first, second = map(cell_text, self.numbers)
            return f"not equal: {first} and {second} where {where}"
        return f"not equal: votes {self.votes_a} and {self.votes_b} where {where}"


@dataclass(frozen=True)
class Reversal:
    """Two rows that differ in one feature and refute a claim of monotonicity.

    Attributes
    ----------
    feature
        Name of the column.
    before, after
        Its values in the two rows, the smaller first.
    row
        The values of the other columns that the circuit reads, by name; None means missing.
    votes_before, votes_after
        The votes for the classes, or the points of the number.
    seconds
        Time taken.
    numbers
        The predictions for the two rows, if the circuit predicts a number.
    """

    feature: str
    before: Cell
    after: Cell
    row: Mapping[str, Cell] = field(hash=False)
    votes_before: tuple[int, ...]
    votes_after: tuple[int, ...]
    seconds: float = field(compare=False)
    numbers: tuple[float, float] | None = None

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        moved = (
            f"refuted: raising {format_name(self.feature)} from {cell_text(self.before)} "
            f"to {cell_text(self.after)} changes {self._changed_text()}"
        )
        return f"{moved} where {_cells_text(self.row)}" if self.row else moved

    def _changed_text(self) -> str:
        if self.numbers is not None:
            return (
                f"the prediction from {cell_text(self.numbers[0])} to {cell_text(self.numbers[1])}"
            )
        return f"the votes from {self.votes_before} to {self.votes_after}"


@dataclass(frozen=True)
class Violation:
    """A row, or a pair of rows, that refutes a claim about one circuit.

    Attributes
    ----------
    row
        The values of the columns that the circuit reads, by name; None means missing.
    label, votes
        The class of the row and the votes for the classes.
    seconds
        Time taken.
    changed
        If the claim is about pairs of rows: the values of the second row that differ.
    label_after, votes_after
        The class of the second row and its votes; None if there is no second row.
    """

    row: Mapping[str, Cell] = field(hash=False)
    label: Label
    votes: tuple[int, ...]
    seconds: float = field(compare=False)
    changed: Mapping[str, Cell] = field(default_factory=dict, hash=False)
    label_after: Label | None = None
    votes_after: tuple[int, ...] | None = None

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        where = _cells_text(self.row) or "nothing is read"
        if not self.changed:
            return f"refuted: {label_text(self.label)} where {where}"
        steps = ", ".join(
            f"{format_name(name)} from {cell_text(self.row[name])} to {cell_text(cell)}"
            for name, cell in self.changed.items()
        )
        after = "" if self.label_after is None else label_text(self.label_after)
        return (
            f"refuted: changing {steps} changes {label_text(self.label)} to {after} where {where}"
        )


@dataclass(frozen=True)
class Meeting:
    """A rule that depends on columns that may not occur together in a rule.

    Attributes
    ----------
    rule
        Number of the rule in `circuit.rules`, from 0.
    columns
        Names of the columns.
    seconds
        Time taken.
    """

    rule: int
    columns: tuple[str, ...]
    seconds: float = field(compare=False)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"refuted: a rule depends on {', '.join(map(format_name, self.columns))}"


@dataclass(frozen=True)
class Undecided:
    """Neither a proof nor a counterexample was found within the time limit.

    Attributes
    ----------
    seconds
        Time taken.
    """

    seconds: float = field(compare=False)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"not decided within {self.seconds:.2f} s; raise the time limit"


def _cells_text(row: Mapping[str, Cell]) -> str:
    return ", ".join(f"{format_name(name)} = {cell_text(cell)}" for name, cell in row.items())
