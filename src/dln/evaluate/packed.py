"""One bit for each row <-> one integer, row 0 in the lowest bit.

Python computes with such integers 64 rows at a time and counts their bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
