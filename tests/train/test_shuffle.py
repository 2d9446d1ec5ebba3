"""The order of the rows: Python and native code agree, and long lists are shuffled by windows."""

from __future__ import annotations

from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import _native
from dln.train.shuffle import shuffles


@given(st.integers(1, 60), st.integers(0, 2**64 - 1), st.integers(1, 9), st.integers(1, 4))
def test_native_code_visits_the_rows_in_the_same_order(
    n_rows: int, seed: int, block: int, n_together: int
) -> None:
    rows = np.arange(n_rows, dtype=np.int64) * 3
    window = block * n_together
    expected = np.array(list(islice(shuffles(rows, seed, window, block), 2)))
    assert_array_equal(_native.row_orders(rows, seed, window, block), expected)
    for order in expected:
        assert_array_equal(np.sort(order), rows)


def test_a_window_holds_few_blocks() -> None:
    order = next(shuffles(np.arange(1000), seed=0, window=100, block=10))
    for window in order.reshape(10, 100):
        assert len(np.unique(window // 10)) == 10
    assert order[:100].max() > 900  # blocks are shuffled over the whole list
