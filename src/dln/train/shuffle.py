"""The order of the rows in each epoch, the same as in native/train/random.h."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_MASK = 2**64 - 1


def shuffles(rows: NDArray[np.int64], seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows in the order of each epoch.

    >>> orders = shuffles(np.arange(5), seed=0)
    >>> next(orders).tolist(), next(orders).tolist()
    ([1, 4, 0, 2, 3], [1, 0, 4, 3, 2])
    """
    order, numbers = rows.tolist(), _xoshiro(seed)
    while True:
        # Fisher-Yates shuffle, from the end.
        for i in range(len(order), 1, -1):
            j = next(numbers) * i >> 64
            order[i - 1], order[j] = order[j], order[i - 1]
        yield np.array(order, dtype=np.int64)


def _xoshiro(seed: int) -> Iterator[int]:
    """Yield the numbers of xoshiro256**, seeded by splitmix64."""
    state = []
    for _ in range(4):
        seed = (seed + 0x9E3779B97F4A7C15) & _MASK
        z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        state.append(z ^ (z >> 31))
    a, b, c, d = state
    while True:
        x = b * 5 & _MASK
        yield ((x << 7 | x >> 57) & _MASK) * 9 & _MASK
        shifted = b << 17 & _MASK
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = (d << 45 | d >> 19) & _MASK
