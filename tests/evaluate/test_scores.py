"""Scores are those of scikit-learn, and the scores of parts of a table add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

from dln.evaluate.scores import balanced_accuracy, count_pairs, tally
from tests.support.strategies import law

N_CLASSES = 4
CLASS = st.integers(0, N_CLASSES - 1)


@pytest.mark.filterwarnings("ignore::UserWarning")  # classes without rows, one class
@law
@given(st.lists(st.tuples(CLASS, CLASS), min_size=1, max_size=40))
def test_balanced_accuracy_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    target, predicted = np.array(pairs).T
    confusion = count_pairs(target, predicted, (N_CLASSES, N_CLASSES))
    assert_array_equal(confusion, confusion_matrix(target, predicted, labels=np.arange(N_CLASSES)))
    assert balanced_accuracy(confusion) == pytest.approx(balanced_accuracy_score(target, predicted))


@law
@given(st.lists(st.tuples(CLASS, CLASS), min_size=2, max_size=40), st.data())
def test_tallies_of_parts_add_up(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    target, predicted = np.array(pairs).T
    proba = np.random.default_rng(0).dirichlet(np.ones(N_CLASSES), len(pairs))
    cut = data.draw(st.integers(0, len(pairs)))
    parts = [tally(target[part], predicted[part], proba[part]) for part in np.s_[:cut, cut:]]
    whole, total = tally(target, predicted, proba), parts[0] + parts[1]
    assert_array_equal(total.confusion, whole.confusion)
    assert_array_equal(total.rows, whole.rows)
    assert total.balanced_accuracy == whole.balanced_accuracy
    assert total.calibration_error == pytest.approx(whole.calibration_error)
