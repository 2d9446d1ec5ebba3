"""Samples of rows: their size, with every class, proportional. Folds that users pass."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut

from dln import OptionError, TableError
from dln.search import DLNSearchCV
from dln.search.folds import group_folds, hold_out, sample_rows, user_folds

SPACE = {"layers": (26,), "tau": 2.0, "epochs": 1, "n_networks": 1}


@st.composite
def samples(draw: st.DrawFn) -> tuple[NDArray[np.int32], int, int]:
    """Draw the classes of rows in random order, the number of rows to sample, and a seed."""
    counts = draw(st.lists(st.integers(0, 60), min_size=1, max_size=12).filter(any))
    target = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    seed = draw(st.integers(0, 2**31 - 1))
    np.random.default_rng(seed).shuffle(target)
    return target, draw(st.integers(1, len(target) + 3)), seed


def counts_in(target: NDArray[np.int32], rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the rows of each class, in the table and in a sample."""
    found = np.bincount(target)
    return found[found > 0], np.bincount(target[rows], minlength=len(found))[found > 0]


@given(samples())
def test_a_sample_has_its_size_and_every_class(sample: Any) -> None:
    target, n, seed = sample
    rows = sample_rows(target, n, seed)
    there, taken = counts_in(target, rows)
    assert len(rows) == min(max(n, len(there)), len(target))
    assert (np.diff(rows) > 0).all()  # in order, none twice
    assert (taken >= 1).all()
    assert_array_equal(rows, sample_rows(target, n, seed))


@given(samples())
def test_a_sample_is_proportional_to_the_classes(sample: Any) -> None:
    """Moving a row of the sample from one class to another never makes it more proportional."""
    target, n, seed = sample
    there, taken = counts_in(target, sample_rows(target, n, seed))
    above = taken - min(n, len(target)) * there / len(target)
    givers, takers = above[taken > 1], above[taken < there]
    # A row that moves from giver to taker changes the sum of squares by 2 (taker - giver + 1).
    assert all(taker - giver + 1 > -1e-9 for giver in givers for taker in takers)


def test_classes_that_are_not_rare_are_within_a_row_of_their_part() -> None:
    target = np.repeat(np.arange(3, dtype=np.int32), [5_000, 3_333, 1_668])
    _, taken = counts_in(target, sample_rows(target, 1_000, 0))
    assert taken.tolist() == [500, 333, 167]


def test_the_only_row_of_a_class_is_in_the_sample() -> None:
    target = np.append(np.arange(7_000) % 2, 2).astype(np.int32)
    assert 7_000 in sample_rows(target, 6_000, 0)


def test_another_seed_takes_other_rows() -> None:
    target = np.zeros(1_000, dtype=np.int32)
    assert sample_rows(target, 100, 0).tolist() != sample_rows(target, 100, 1).tolist()


@pytest.mark.parametrize(("n_rows", "n_classes"), [(6_001, 2), (13_010, 26)])
def test_a_table_just_above_the_sample_is_searched(n_rows: int, n_classes: int) -> None:
    X = np.random.default_rng(0).random((n_rows, 2))
    search = DLNSearchCV(space=SPACE, n_trials=1, refit=False, random_state=0)
    found = search.fit(X, np.arange(n_rows) % n_classes)
    assert found.n_splits_ == 3
    assert not found.trials_[0].stopped


# -- folds that users pass ------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_folds_refer_to_the_given_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(4, 40))
    counts = rng.random(n_rows) < 0.7
    rows = rng.permutation(n_rows)
    parts = [(rows[: n_rows // 2].astype(np.uint16), rows[n_rows // 2 :])]
    rows_left = np.flatnonzero(counts)
    if not all(counts[part].any() for part in parts[0]):
        with pytest.raises(OptionError, match="whose rows all have weight 0"):
            user_folds(n_rows, np.zeros(n_rows, dtype=np.int32), counts, parts, None)
        return
    (fold,) = user_folds(n_rows, np.zeros(n_rows, dtype=np.int32), counts, parts, None)
    for found, part in zip((fold.train, fold.valid), parts[0], strict=True):
        assert_array_equal(rows_left[found], part[counts[part]])


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    target, groups = rng.integers(0, 2, 90), rng.integers(0, 9, 90)
    X = np.column_stack([target + rng.normal(size=90), rng.normal(size=90)])
    counts = np.ones(90, dtype=bool)
    folds = user_folds(90, target.astype(np.int32), counts, GroupKFold(3), groups)
    assert all(not set(groups[fold.train]) & set(groups[fold.valid]) for fold in folds)
    search = DLNSearchCV(
        space={**SPACE, "layers": (4,)}, n_trials=1, cv=LeaveOneGroupOut(), random_state=0
    )
    assert search.fit(X, target, groups=groups).n_splits_ == 9
    assert search.set_params(cv=4).fit(X, target, groups=groups).n_splits_ == 4
    assert search.set_params(cv="auto").fit(X, target, groups=groups).n_splits_ > 4
    with pytest.raises(TableError, match="a class is in a single group"):
        search.fit(X, target, groups=target)
    with pytest.raises(OptionError, match="which cannot split the rows: The 'groups' parameter"):
        search.set_params(cv=GroupKFold(3)).fit(X, target)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=4, max_size=60),
    n_folds=st.integers(2, 6),
)
def test_folds_never_separate_a_group(rows: list[tuple[int, int]], n_folds: int) -> None:
    _, target = np.unique([number for number, _ in rows], return_inverse=True)
    groups = np.array([group for _, group in rows])
    try:
        folds = group_folds(target.astype(np.int32), groups, 2 * n_folds, 0, n_folds)
    except TableError:
        return
    folds.append(hold_out(target.astype(np.int32), 1 / n_folds, 0, groups))
    for fold in folds:
        assert sorted([*fold.train, *fold.valid]) == list(range(len(rows)))
        assert not set(groups[fold.train]) & set(groups[fold.valid])
        assert set(target[fold.train]) == set(target)
