"""Walk over many rows in parts, so that temporary arrays stay small."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 1 << 20
"""Rows that are processed at once."""


def row_blocks(n_rows: int, step: int = BLOCK_ROWS) -> Iterator[slice]:
    """Divide rows into parts of at most `step` rows.

    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def spread_rows(
    n_rows: int, is_chosen: Callable[[slice], NDArray[np.bool_]], most: int
) -> tuple[NDArray[np.int64], int]:
    """Return at most `most` chosen rows, evenly spread among them, and the number of chosen rows.

    `is_chosen` tells which rows of a part are chosen.

    >>> spread_rows(9, lambda rows: np.arange(9)[rows] > 2, most=3)
    (array([3, 5, 7]), 6)
    """
    parts = list(row_blocks(n_rows))
    total = sum(int(np.count_nonzero(is_chosen(part))) for part in parts)
    step = max(1, -(-total // most))
    found, before = [np.empty(0, dtype=np.int64)], 0
    for part in parts:
        own = np.flatnonzero(is_chosen(part))
        found.append(part.start + own[-before % step :: step])
        before += len(own)
    return np.concatenate(found), total
