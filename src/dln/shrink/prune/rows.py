"""The rows that a circuit is pruned on: the bits of its literals, and the weight of each row.

A wire's bits are one Python integer, row 0 lowest: gates are then one operation for all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dln.core.circuit import Circuit
from dln.core.literals import Literal
from dln.core.logic import Logic
from dln.core.parts import Rule
from dln.core.readout import Votes
from dln.data.table import Table, read_table
from dln.errors import TableError

_LITERALS_AT_ONCE = 16
"""Number of literals evaluated at once; each temporarily takes 12 bytes for each row."""


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


def literal_bits(circuit: Circuit, table: Table) -> dict[Literal, int]:
    """Evaluate the literals of a circuit by the same code as in prediction."""
    literals = sorted(set(circuit.literals), key=lambda literal: literal.column)
    bits: dict[Literal, int] = {}
    for start in range(0, len(literals), _LITERALS_AT_ONCE):
        some = tuple(literals[start : start + _LITERALS_AT_ONCE])
        # Every literal votes for a separate class.
        one_each = np.eye(len(some), dtype=int).tolist()
        rules = tuple(Rule(wire, tuple(votes)) for wire, votes in enumerate(one_each))
        readout = Votes(rules, (0,) * len(some), tuple(range(len(some))))
        probe = Circuit(logic=Logic(circuit.columns, some, ()), readout=readout)
        holds = probe.votes(table) > 0
        bits |= {literal: pack(holds[:, place]) for place, literal in enumerate(some)}
    return bits


def pack(holds: NDArray[np.bool_]) -> int:
    """Pack one bit for each row into an integer.

    >>> pack(np.array([True, False, False, True]))
    9
    """
    return int.from_bytes(np.packbits(holds, bitorder="little").tobytes(), "little")


def unpack(bits: int, n_rows: int) -> NDArray[np.bool_]:
    """Unpack the bits of an integer, one for each row.

    >>> unpack(9, 4).tolist()
    [True, False, False, True]
    """
    packed = np.frombuffer(bits.to_bytes((n_rows + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, bitorder="little", count=n_rows).view(np.bool_)
