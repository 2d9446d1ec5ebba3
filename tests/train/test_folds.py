"""Folds: rows of one group stay together, classes are in every training part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from dln import DLNClassifier
from dln.train import growth, select
from dln.train.fit import _split_validation
from dln.train.folds import make_folds, split_groups
from tests.support.classifiers import UNDERTRAINED


@given(
    sizes=st.lists(st.integers(1, 9), min_size=4, max_size=30),
    n_classes=st.integers(2, 3),
    seed=st.integers(0, 1000),
    n_fits=st.integers(1, 12),
)
def test_folds_do_not_separate_groups(
    sizes: list[int], n_classes: int, seed: int, n_fits: int
) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    target = np.random.default_rng(seed).integers(n_classes, size=len(groups)).astype(np.int32)
    folds = make_folds(target, n_fits, seed, groups)
    assert len(folds) <= n_fits
    for train, valid in folds:
        assert not set(groups[train]) & set(groups[valid])
        assert sorted([*train, *valid]) == list(range(len(target)))
        assert set(target[train]) == set(target)
    rows, fold = growth._draw_folds(target, np.random.default_rng(seed), groups)
    for group in np.unique(groups[rows]):
        assert len(set(fold[groups[rows] == group])) == 1
    if folds:
        train, valid = _split_validation(target, 0.3, np.random.default_rng(seed), groups)
        assert not set(groups[train]) & set(groups[valid])


@given(
    n_folds=st.integers(2, 5),
    n_in_fold=st.lists(st.integers(1, 4), min_size=2, max_size=3),
    size=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_folds_of_groups_have_the_same_class_frequencies(
    n_folds: int, n_in_fold: list[int], size: int, seed: int
) -> None:
    """Groups of one size and one class each can be divided evenly, so they are."""
    classes = np.repeat(np.arange(len(n_in_fold)), n_folds * np.array(n_in_fold))
    classes = np.random.default_rng(seed).permutation(classes)
    target = np.repeat(classes, size).astype(np.int32)
    groups = np.repeat(np.arange(len(classes)), size)
    folds = list(split_groups(target, groups, n_folds, seed))
    assert len(folds) == n_folds
    for _, valid in folds:
        assert np.bincount(target[valid]).tolist() == [size * n for n in n_in_fold]
    assert sorted(np.concatenate([valid for _, valid in folds])) == list(range(len(target)))


def test_another_seed_divides_groups_otherwise() -> None:
    groups = np.arange(40)
    target = (groups % 2).astype(np.int32)
    first, second = (next(split_groups(target, groups, 4, seed))[1] for seed in (0, 1))
    assert first.tolist() != second.tolist()


@UNDERTRAINED
def test_a_fit_uses_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []  # type: ignore[type-arg]
    original = select.make_folds

    def record(target, n_fits, seed, groups=None):  # type: ignore[no-untyped-def]
        seen.append(groups)
        return original(target, n_fits, seed, groups)

    monkeypatch.setattr(select, "make_folds", record)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    names = np.repeat([f"patient {k}" for k in range(30)], 3)
    model = DLNClassifier(layers=(8, 4), n_networks=1, tau=2.0, epochs=5, random_state=0)
    model.fit(X, X[:, 0] > 0, groups=names)
    assert [groups.tolist() for groups in seen] == [np.repeat(np.arange(30), 3).tolist()]


@pytest.mark.parametrize(
    ("groups", "message"), [([1, 2], "shape"), ([None, *range(5)], "missing"), (3, "shape")]
)
def test_bad_groups_are_refused(groups: object, message: str) -> None:
    with pytest.raises(dln.TableError, match=message):
        DLNClassifier().fit(np.arange(12.0).reshape(6, 2), [0, 1] * 3, groups=groups)
