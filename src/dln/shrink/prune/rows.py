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
    """The bits of a circuit's literals on the rows, and the class that each row should keep.

    Attributes
    ----------
    bits
        The value of each literal on all rows.
    keep : (n_rows,)
        The number of the class that each row should get.
    weight : (n_rows,)
        The loss if the row gets another class.
    """

    bits: dict[Literal, int]
    keep: NDArray[np.int64]
    weight: NDArray[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.keep)

    @property
    def ones(self) -> int:
        """Bits that are 1 on all rows."""
        return (1 << self.n_rows) - 1


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
