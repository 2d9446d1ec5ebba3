"""Cutoffs start where a small tree splits the column."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.fixes import parse_version

from dln._native import tree_splits
from dln.encode.cutoffs import MAX_ROWS, nested_cutoffs, sklearn_splits, tree_cutoffs


def cutoffs(cells: list[float], target: list[int], n: int = 6) -> list[float]:
    ones = np.ones(len(cells), dtype=np.float32)
    found = tree_cutoffs(
        np.array(cells, dtype=np.float32), np.array(target, dtype=np.int32), ones, n
    )
    assert found.dtype == np.float32
    return [float(value) for value in found]


# Before version 1.8, scikit-learn separates some values that are less than 1e-7 apart.
NEAR_TIES = ["close"] if parse_version(sklearn.__version__) >= parse_version("1.8") else []

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


@st.composite
def weighted_columns(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw values with ties, near ties and gaps, up to five classes, and weights of three kinds."""
    n_rows, n_classes = draw(st.integers(2, 200)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.random(n_rows)
    match draw(st.sampled_from(["all different", "rounded", "ordered", *NEAR_TIES])):
        case "rounded":
            values = np.round(values * draw(st.integers(1, 40))) / 40
        case "close":
            values = values * 1e-6
        case "ordered":
            values = np.sort(values)
    noise = draw(st.sampled_from([0.0, 0.2, 5.0]))
    target = (n_classes * values / max(values.max(), 1e-30) + rng.normal(0, noise, n_rows)).astype(
        np.int32
    )
    target = target.clip(0, n_classes - 1)
    match draw(st.sampled_from(["equal", "balanced", "random"])):
        case "equal":
            weight = np.ones(n_rows)
        case "balanced":
            weight = n_rows / (n_classes * np.bincount(target))[target]
        case "random":
            weight = rng.random(n_rows) * (rng.random(n_rows) < 0.9)
            weight[0] = 1.0
    return values.astype(np.float32), target, weight.astype(np.float32)


@given(weighted_columns(), st.integers(1, 30))
def test_native_splits_are_those_of_a_scikit_learn_tree_in_the_same_order(
    column: tuple[np.ndarray, np.ndarray, np.ndarray], n: int
) -> None:
    np.testing.assert_array_equal(tree_splits(*column, n), sklearn_splits(*column, n))


@given(weighted_columns(), st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_one_tree_gives_the_cutoffs_of_all_smaller_trees(
    column: tuple[np.ndarray, np.ndarray, np.ndarray], counts: list[int]
) -> None:
    found = nested_cutoffs(*column, tuple(counts))
    for count, own in zip(counts, found, strict=True):
        np.testing.assert_array_equal(own, tree_cutoffs(*column, count))


@pytest.mark.parametrize(
    ("values", "target", "weight", "message"),
    [
        ([0.1, np.nan], [0, 1], [1, 1], "a value is missing"),
        ([0.1, 0.2], [0, -1], [1, 1], "a target is negative"),
        ([0.1, 0.2], [0, 1], [1, -1], "a weight is negative or NaN"),
        ([0.1, 0.2], [0], [1, 1], "differ in length"),
    ],
)
def test_native_splits_check_their_arguments(
    values: list[float], target: list[int], weight: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tree_splits(
            np.array(values, dtype=np.float32),
            np.array(target, dtype=np.int32),
            np.array(weight, dtype=np.float32),
            3,
        )
