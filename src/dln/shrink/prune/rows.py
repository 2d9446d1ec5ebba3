"""The rows that a circuit is pruned on: the bits of its literals, and the weight of each row.

A wire's bits are one Python integer, row 0 lowest: gates are then one operation for all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import Literal
from dln.data.table import Table, read_table
from dln.errors import TableError
from dln.evaluate.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class Rows:
    """The bits of a circuit's literals on the rows, and the weight of each row.

    Attributes
    ----------
    bits
        The value of each literal on all rows.
    weight : (n_rows,)
        How much a row counts: the loss if it gets another class.
    """

    bits: dict[Literal, int]
    weight: NDArray[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.weight)

    @property
    def ones(self) -> int:
        """Bits that are 1 on all rows."""
        return (1 << self.n_rows) - 1


@dataclass(frozen=True, eq=False)
class ClassRows(Rows):
    """Rows, and the number of the class that each should get, `keep` (n_rows,)."""

    keep: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NumberRows(Rows):
    """Rows of a circuit that predicts a number.

    Attributes
    ----------
    points : (n_rows,)
        The points that the circuit had before.
    target : (n_rows,) or None
        The numbers to predict; None if predictions should not change.
    scale
        The variance of the targets; without targets, the typical size of a change of points.
    """

    points: NDArray[np.int64]
    target: NDArray[np.float64] | None
    scale: float


def read_rows(X: Any) -> Table:
    """Read a table once; raises `TableError` if it has no rows."""
    table = read_table(X).kept()
    if table.n_rows == 0:
        raise TableError("the table has 0 rows; pruning needs rows to measure on")
    return table


def literal_bits(evaluation: Evaluation) -> dict[Literal, int]:
    """Return the bits of each literal of the evaluated circuit."""
    literals = enumerate(evaluation.circuit.literals)
    return {literal: evaluation.bits(wire) for wire, literal in literals}
