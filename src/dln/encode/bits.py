"""Literals on encoded columns: the bits that training starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ABOVE, EQUALS, MISSING = 0, 1, 2
"""Kinds of literals, as the native engine numbers them."""


@dataclass(frozen=True)
class LiteralSet:
    """Bits of an encoded row: `kind` (ABOVE, EQUALS, MISSING) of `column` against `value`."""

    kind: NDArray[np.uint8]
    column: NDArray[np.int32]
    value: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> LiteralSet:
        """Select some of the literals."""
        return LiteralSet(self.kind[which], self.column[which], self.value[which])

    @classmethod
    def on_column(cls, column: int, kind: int, values: NDArray[np.float32]) -> LiteralSet:
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
