"""Cutoffs start where a small tree splits the column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln.encode.cutoffs import MAX_ROWS, tree_cutoffs


def cutoffs(cells: list[float], target: list[int], n: int = 6) -> list[float]:
    ones = np.ones(len(cells), dtype=np.float32)
    found = tree_cutoffs(
        np.array(cells, dtype=np.float32), np.array(target, dtype=np.int32), ones, n
    )
    assert found.dtype == np.float32
    return [float(value) for value in found]


cell = st.floats(0, 1, width=32) | st.just(float("nan"))


@given(
    rows=st.lists(st.tuples(cell, st.integers(0, 2)), min_size=1, max_size=40), n=st.integers(1, 7)
)
def test_cutoffs_are_few_distinct_and_inside_the_column(
    rows: list[tuple[float, int]], n: int
) -> None:
    cells, target = [list(part) for part in zip(*rows, strict=True)]
    found = cutoffs(cells, target, n)
    known = [value for value in cells if value == value]
    assert len(found) <= n
    assert found == sorted(set(found))
    assert all(min(known) <= cutoff <= max(known) for cutoff in found)
    assert bool(found) == (len(set(known)) > 1)


def test_the_cutoff_separates_the_classes() -> None:
    assert cutoffs([0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1]) == [pytest.approx(0.45)]


def test_a_huge_number_of_cutoffs_takes_no_memory() -> None:
    cells, target = [0.1, 0.2, 0.7, 0.9], [0, 1, 0, 1]
    assert cutoffs(cells, target, 10**9) == cutoffs(cells, target, 3)


def test_missing_values_are_ignored() -> None:
    nan = float("nan")
    assert cutoffs([0.1, nan, 0.9, nan], [0, 1, 1, 0]) == [pytest.approx(0.5)]
    assert cutoffs([nan, nan], [0, 1]) == []


def test_a_column_without_a_useful_split_gets_its_median() -> None:
    assert cutoffs([0.0, 0.0, 1.0, 1.0], [0, 1, 0, 1]) == [0.5]


def test_a_constant_column_has_no_cutoff() -> None:
    assert cutoffs([0.5, 0.5], [0, 1]) == []


def test_rows_count_by_their_weight() -> None:
    cells = np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32)
    target = np.array([0, 1, 1, 0], dtype=np.int32)
    for weight, expected in (([9, 9, 9, 0.001], 0.15), ([0.001, 9, 9, 9], 0.35)):
        found = tree_cutoffs(cells, target, np.array(weight, dtype=np.float32), 1)
        assert found == pytest.approx([expected])


def test_a_long_column_is_sampled_from_end_to_end() -> None:
    n_rows = 3 * MAX_ROWS
    cells = np.linspace(0, 1, n_rows, dtype=np.float32)
    target = (cells > 0.95).astype(np.int32)
    found = tree_cutoffs(cells, target, np.ones(n_rows, dtype=np.float32), 6)
    assert found == pytest.approx([0.95], abs=1e-4)
