"""Literals on encoded columns: the bits that training starts from."""

from __future__ import annotations

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

    def __add__(self, other: LiteralSet) -> LiteralSet:
        return LiteralSet(
            np.concatenate([self.kind, other.kind]),
            np.concatenate([self.column, other.column]),
            np.concatenate([self.value, other.value]),
        )
