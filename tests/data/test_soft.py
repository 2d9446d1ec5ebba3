"""Class probabilities become weighted rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dln.data.soft import is_soft, read_soft
from dln.errors import TableError

SHARES = arrays(
    np.float64, st.tuples(st.integers(1, 20), st.integers(2, 5)), elements=st.integers(0, 3)
).filter(lambda counts: bool(counts.sum(axis=1).all() and (counts.sum(axis=0) > 0).sum() > 1))


@given(SHARES)
def test_the_weights_of_a_row_are_its_probabilities(counts: np.ndarray) -> None:
    given_shares = counts / counts.sum(axis=1, keepdims=True)
    soft = read_soft(given_shares, len(counts))
    again = np.zeros_like(given_shares)
    again[soft.rows, soft.target] = soft.probability
    np.testing.assert_allclose(again, given_shares)
    assert soft.classes.tolist() == list(range(counts.shape[1]))
    assert (soft.probability > 0).all()
    top = soft.most_probable()
    assert soft.rows[top].tolist() == list(range(len(counts)))
    assert soft.target[top].tolist() == again.argmax(axis=1).tolist()
    assert soft.is_hard == ((counts > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_columns_of_a_frame_name_the_classes(make: Any) -> None:
    frame = make({"well": [0.2, 1.0], "ill": [0.8, 0.0]})
    assert is_soft(frame)
    soft = read_soft(frame, 2)
    assert soft.classes.tolist() == ["ill", "well"]
    assert soft.target.tolist() == [0, 1, 1]
    assert soft.probability.tolist() == pytest.approx([0.8, 0.2, 1.0])
    whole = read_soft(pd.DataFrame({7: [0.2, 1.0], 3: [0.8, 0.0]}), 2)
    assert whole.classes.tolist() == [3, 7]
    assert whole.target.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0.5, 0.5], [0.5, np.nan]], "row 1 has a missing or infinite value"),
        ([[0.5, 0.5], [1.5, -0.5]], "row 1 has a negative value; expected numbers of at least 0"),
        ([[0.5, 0.4], [0.5, 0.5]], "2 columns, so it is read as class probabilities, but row 0 do"),
        ([[1.0, 0.0], [1.0, 0.0]], "only the class 0 has any; a classifier needs at least two"),
        ([[1.0, 0.0]], "the table has 2 rows, but the target has 1"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), "two columns have the same name|one class"),
        (pd.DataFrame(np.eye(3)[:2], columns=["a", "b", "a"]), "two columns have the same name"),
        (pd.DataFrame(np.eye(2), columns=["a", 1]), "mixes int, str"),
    ],
)
def test_bad_probabilities_are_refused(given: Any, message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        read_soft(given, 2)
    assert "\n" not in str(caught.value)
