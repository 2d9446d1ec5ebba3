"""Evaluation: everything that a circuit computes on some rows, from one pass over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dln.errors import OptionError

if TYPE_CHECKING:
    from dln.core.circuit import Circuit


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Everything that a circuit computes on some rows; returned by `Circuit.evaluate`.

    The rows were read once. A wire takes one bit for each row. Classes and probabilities are
    computed when they are first asked for.

    Attributes
    ----------
    circuit
        The circuit.
    n_rows
        Number of rows.
    kept
        The numbers of the wires that are kept, ascending.
    packed
        Their values (n_kept, n_bytes), eight rows to a byte: row 0 is the lowest bit of the first
        byte. Bits after the last row are 0.
    votes
        The votes of each class, or the points of the number that is predicted: (n_rows, n_classes)
        or (n_rows, 1).

    Examples
    --------
    >>> from dln import Above, Circuit, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 2)),),
    ...     (1, 0), ("healthy", "ill"),
    ... )
    >>> evaluation = circuit.evaluate([[60], [50]])
    >>> evaluation.wire(0).tolist(), evaluation.votes.tolist()
    ([True, False], [[1, 2], [1, 0]])
    >>> evaluation.answers.tolist()
    ['ill', 'healthy']
    """

    circuit: Circuit
    n_rows: int
    kept: Sequence[int]
    packed: NDArray[np.uint8]
    votes: NDArray[np.int64]

    # -- wires --------------------------------------------------------------------------------

    def wire(self, number: int) -> NDArray[np.bool_]:
        """Return whether a wire is 1 in each row: (n_rows,). Literals come first, then gates."""
        return self.wires([number])[:, 0]

    def wires(self, numbers: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether some wires are 1 in each row: (n_rows, n_numbers)."""
        some = self.packed[np.array([self._place(number) for number in numbers], dtype=np.intp)]
        return np.unpackbits(some, axis=1, bitorder="little", count=self.n_rows).view(np.bool_).T

    def bits(self, number: int) -> int:
        """Return the values of a wire as one integer, with row 0 in the lowest bit."""
        return int.from_bytes(self.packed[self._place(number)].tobytes(), "little")

    @cached_property
    def fired(self) -> NDArray[np.bool_]:
        """Which rules are true in each row: (n_rows, n_rules)."""
        return self.wires(self.circuit.readout.wires)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {number: place for place, number in enumerate(self.kept)}

    def _place(self, number: int) -> int:
        place = self._places.get(number)
        if place is None:
            raise OptionError(
                f"wire {number} was not kept; expected one of the {len(self.kept)} wires in kept; "
                "evaluate keeps all wires by default"
            )
        return place

    # -- readout ------------------------------------------------------------------------------

    @cached_property
    def winners(self) -> NDArray[np.int64]:
        """The number of the class with the most votes in each row; ties go to the first class."""
        return self.circuit.class_readout.winners(self.votes)

    @cached_property
    def answers(self) -> NDArray[Any]:
        """The class or number that `Circuit.predict` returns for each row."""
        return self.circuit.readout.answers(self.votes)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each class: (n_rows, n_classes)."""
        return self.circuit.class_readout.probabilities(self.votes)

    def __repr__(self) -> str:
        return f"<Evaluation: {self.n_rows} rows, {len(self.kept)} wires>"
