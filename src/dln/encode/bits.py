"""Literals on encoded columns: the bits that training starts from.

An encoded column has a number for each value: scaled for numbers, the number of its group for
categories, NaN if it is missing. So a set of categories is tested like one category.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from dln.core.literals import LiteralKind


class EncodedLiteral(NamedTuple):
    """One literal on an encoded column; `value` is the cutoff or the group."""

    kind: LiteralKind
    column: int
    value: float


@dataclass(frozen=True)
class LiteralSet:
    """Bits of an encoded row: a `LiteralKind`, a column, and the cutoff or the group."""

    kind: NDArray[np.uint8]
    column: NDArray[np.int32]
    value: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> LiteralSet:
        """Select some of the literals."""
        return LiteralSet(self.kind[which], self.column[which], self.value[which])

    @classmethod
    def on_column(cls, column: int, kind: LiteralKind, values: NDArray[np.float32]) -> LiteralSet:
        """Make literals of one kind on one column, one for each value."""
        return cls(
            np.full(len(values), kind, dtype=np.uint8),
            np.full(len(values), column, dtype=np.int32),
            values,
        )

    @classmethod
    def join(cls, sets: Sequence[LiteralSet]) -> LiteralSet:
        """Concatenate sets."""
        return cls(
            np.concatenate([literals.kind for literals in sets]),
            np.concatenate([literals.column for literals in sets]),
            np.concatenate([literals.value for literals in sets]),
        )


def evaluate_literals(kind: LiteralKind, cells: Any, value: Any) -> Any:
    """Return where literals of one kind are true, on encoded values as an array or a tensor."""
    match kind:
        case LiteralKind.ABOVE:
            return cells > value
        case LiteralKind.AMONG:
            return cells == value
        case LiteralKind.MISSING:
            return cells != cells
        case _:
            assert_never(kind)
