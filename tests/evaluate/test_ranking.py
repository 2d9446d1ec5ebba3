"""The area under the ROC curve, from votes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from dln.evaluate.ranking import rank
from tests.support.strategies import law

Rows = tuple[NDArray[np.int64], NDArray[np.int64]]


@st.composite
def ranked_rows(draw: st.DrawFn) -> Rows:
    """Draw the class of each row and its votes; ties are common."""
    n_classes, n_rows = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    target = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
    votes = draw(
        st.lists(st.integers(-3, 3), min_size=n_rows * n_classes, max_size=n_rows * n_classes)
    )
    return np.array(target), np.array(votes).reshape(n_rows, n_classes)


def area_of(own: NDArray[np.bool_], scores: NDArray[np.int64]) -> float:
    return float(roc_auc_score(own, scores)) if 0 < own.sum() < len(own) else math.nan


@law
@given(ranked_rows())
def test_the_area_is_that_of_each_class_against_the_rest_by_its_lead(rows: Rows) -> None:
    target, votes = rows
    areas = []
    for number in range(votes.shape[1]):
        others = np.delete(votes, number, axis=1).max(axis=1, initial=-100)
        areas.append(area_of(target == number, votes[:, number] - others))
    known = [area for area in areas if not math.isnan(area)]
    found = rank(target, votes)
    assert [leads.area for leads in found.classes] == pytest.approx(areas, nan_ok=True)
    assert found.area == pytest.approx(np.mean(known) if known else math.nan, nan_ok=True)


@law
@given(ranked_rows(), st.integers(0, 12), st.integers(-9, 9))
def test_parts_add_up_and_votes_that_all_classes_share_change_nothing(
    rows: Rows, cut: int, more: int
) -> None:
    target, votes = rows
    whole = rank(target, votes)
    parts = rank(target[:cut], votes[:cut]) + rank(target[cut:], votes[cut:] + more)
    assert parts.area == whole.area or (math.isnan(parts.area) and math.isnan(whole.area))


def test_two_classes_have_the_area_of_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    target, votes = rng.integers(0, 2, 500), rng.integers(0, 9, (500, 2))
    odds = np.exp(votes / 4)
    shares = odds / odds.sum(axis=1, keepdims=True)
    expected = roc_auc_score(target, np.round(shares[:, 1], 12))
    assert rank(target, votes).area == pytest.approx(expected)
