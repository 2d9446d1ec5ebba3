"""The order of the rows in each epoch, the same as in native/train/order.h."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MASK = 2**64 - 1


WINDOW, BLOCK = 1 << 22, 1 << 12
"""Rows that are shuffled together, and consecutive rows that a longer list is cut into.

So only a window of rows is in use at a time, and it is read block by block: the encoded rows may be
in a file that is larger than the memory. The cuda engine shuffles all rows together.
"""


def shuffles(
    rows: NDArray[np.int64], seed: int, window: int = WINDOW, block: int = BLOCK
) -> Iterator[NDArray[np.int64]]:
    """Yield the rows in the order of each epoch.

    >>> orders = shuffles(np.arange(5), seed=0)
    >>> next(orders).tolist(), next(orders).tolist()
    ([1, 4, 0, 2, 3], [1, 0, 4, 3, 2])
    >>> next(shuffles(np.arange(8), seed=0, window=4, block=2)).tolist()
    [2, 1, 0, 3, 6, 4, 5, 7]
    """
    order, numbers = rows.tolist(), _xoshiro(seed)
    while len(rows) <= window:
        _shuffle(order, numbers)
        yield np.array(order, dtype=np.int64)
    blocks = [order[start : start + block] for start in range(0, len(order), block)]
    n_together = window // block
    while True:
        shuffled = blocks.copy()
        _shuffle(shuffled, numbers)
        order = []
        for start in range(0, len(shuffled), n_together):
            part = [row for own in shuffled[start : start + n_together] for row in own]
            _shuffle(part, numbers)
            order += part
        yield np.array(order, dtype=np.int64)


def _shuffle(items: list[Any], numbers: Iterator[int]) -> None:
    """Shuffle in place: Fisher-Yates, from the end."""
    for i in range(len(items), 1, -1):
        j = next(numbers) * i >> 64
        items[i - 1], items[j] = items[j], items[i - 1]


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
