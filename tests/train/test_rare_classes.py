"""A rare class has as much weight as the others, and batches are large enough to contain it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dln import DLNClassifier
from dln.data.table import read_table
from dln.estimators.plan import read_parameters
from dln.train.problem import Problem
from dln.train.recipe import MAX_BATCH_SIZE, make_candidates
from tests.support.strategies import law


def batch_size(n_rows: int, heaviest: float, chosen: object = "auto") -> int:
    requested = read_parameters(DLNClassifier(batch_size=chosen))  # type: ignore[arg-type]
    return make_candidates(requested, n_rows, 2, 5, heaviest).usual.options.batch_size


@pytest.mark.parametrize(("n_rows", "usual"), [(3_999, 64), (4_000, 128)])
def test_batches_grow_with_the_weight_of_the_heaviest_class(n_rows: int, usual: int) -> None:
    assert batch_size(n_rows, 1.0) == batch_size(n_rows, usual / 4) == usual
    assert batch_size(n_rows, usual / 4 + 1) == 4 * usual
    assert batch_size(n_rows, 64.0) == 512
    assert batch_size(n_rows, 1e9) == MAX_BATCH_SIZE
    assert batch_size(n_rows, 1e9, 10) == 10  # the user's choice is used


@law
@given(data=st.data(), n_rows=st.integers(1, 30))
def test_the_heaviest_class_is_that_of_the_largest_mean_weight(
    data: st.DataObject, n_rows: int
) -> None:
    target = data.draw(hnp.arrays(np.int32, n_rows, elements=st.integers(0, 3)))
    weights = st.sampled_from([0.0, 0.5, 1.0, 2.0, 100.0])
    weight = data.draw(hnp.arrays(np.float32, n_rows, elements=weights))
    problem = Problem(read_table(np.zeros((n_rows, 1))), target, weight, ("a", "b", "c", "d"))
    found = problem.heaviest_class()
    counts = weight > 0
    if counts.any():
        means = [weight[counts & (target == number)].mean() for number in set(target[counts])]
        assert found == pytest.approx(max(means) / weight[counts].mean())
    else:
        assert found == 1.0


def test_a_class_of_one_row_in_five_hundred_is_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 6))
    y = np.zeros(len(X), dtype=int)
    y[np.argsort(X[:, 0] - X[:, 1])[-10:]] = 1
    model = DLNClassifier(layers=(16, 8), n_networks=1, tau=8.0, random_state=0).fit(X, y)
    recall = [(model.predict(X)[y == label] == label).mean() for label in (0, 1)]
    assert np.mean(recall) > 0.9
