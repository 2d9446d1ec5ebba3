"""Wide tables: columns that say something about the classes are kept."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from dln import DLNClassifier
from dln.data import store
from dln.data.table import read_table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.encode.screen import MAX_KEPT, MIN_KEPT, WIDE, best_split_scores, choose_columns, is_wide
from tests.support.strategies import law


@law
@given(st.integers(0, 2**32), st.integers(2, 40), st.integers(2, 4))
def test_a_score_is_the_impurity_decrease_of_the_best_split(
    seed: int, n_rows: int, n_classes: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(6, size=(n_rows, 3)).astype(np.float32)
    target = rng.integers(n_classes, size=n_rows).astype(np.int32)
    weight = rng.integers(1, 4, size=n_rows).astype(np.float32)
    expected = []
    for column in values.T:
        stump = DecisionTreeClassifier(max_depth=1, random_state=0)
        tree = stump.fit(column[:, None], target, sample_weight=weight).tree_
        parts = tree.weighted_n_node_samples[1:] / tree.weighted_n_node_samples[0]
        expected.append(
            tree.impurity[0] - (parts @ tree.impurity[1:] if len(parts) else tree.impurity[0])
        )
    scores = best_split_scores(values, target, weight)
    assert scores == pytest.approx(np.array(expected), abs=1e-6)


def wide(n_rows: int, n_columns: int, seed: int = 0) -> tuple[Any, Any]:
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns)).astype(np.float32)
    return X, (X[:, 3] + X[:, 70] > 0).astype(np.int32)


def test_two_informative_columns_among_two_thousand_are_kept() -> None:
    X, y = wide(400, 2000)
    kept = choose_columns(X, y, np.ones(400, dtype=np.float32))
    assert {3, 70} <= set(kept.tolist())
    assert MIN_KEPT <= len(kept) < 100


def test_a_narrow_table_keeps_all_columns() -> None:
    assert not is_wide(WIDE)
    X, y = wide(50, WIDE)
    encoder, _ = fit_encoder(read_table(X), y, np.ones(50, dtype=np.float32), EncodeOptions())
    assert_array_equal(np.unique(encoder.literals.column), np.arange(WIDE))


def test_no_more_columns_than_the_limit_are_kept() -> None:
    y = (np.arange(60) % 2).astype(np.int32)
    X = np.repeat(y[:, None], MAX_KEPT + 10, axis=1).astype(np.float32)
    assert len(choose_columns(X, y, np.ones(60, dtype=np.float32))) == MAX_KEPT


def test_missing_values_can_say_something() -> None:
    y = (np.arange(60) % 2).astype(np.int32)
    X = np.random.default_rng(0).normal(size=(60, WIDE + 1)).astype(np.float32)
    X[:, 9] = np.where(y == 1, np.nan, 0.0)
    assert best_split_scores(X, y, np.ones(60, dtype=np.float32)).argmax() == 9


def test_only_kept_columns_get_literals() -> None:
    X, y = wide(100, WIDE + 100)
    encoder, _ = fit_encoder(read_table(X), y, np.ones(100, dtype=np.float32), EncodeOptions())
    kept = choose_columns(X, y, np.ones(100, dtype=np.float32))
    assert_array_equal(np.unique(encoder.literals.column), kept)
    assert len(encoder.columns) == WIDE + 100


@pytest.mark.parametrize("options", [{}, {"max_rules": 3}])
def test_a_wide_table_in_batches_gives_the_circuit_of_one_in_memory(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a wide table in files, only the columns that are kept are encoded."""
    X, y = wide(240, WIDE + 30)
    X[:, 5] = np.where(np.arange(240) % 7 == 0, np.nan, X[:, 5])
    frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])
    frame["text"] = np.where(X[:, 3] > 0.5, "high", "low")
    frame["y"] = y
    model = DLNClassifier(effort="quick", random_state=0, **options)
    if not options:
        model.set_params(layers=(16,), n_networks=1, epochs=5)
    expected = model.fit(frame.drop(columns="y"), frame["y"]).circuit_
    monkeypatch.setattr(store, "SMALL", 0)
    assert model.fit(iter([frame[:100], frame[100:]]), "y").circuit_ == expected


def test_screening_can_be_switched_off() -> None:
    X, y = wide(100, WIDE + 50)
    model = DLNClassifier(layers=(64, 32), n_networks=1, tau=4.0, epochs=10, random_state=0)
    circuits = [model.set_params(screening=on).fit(X, y).circuit_ for on in (True, False)]
    assert circuits[0] != circuits[1]
    options, weight = EncodeOptions(screening=False), np.ones(100, dtype=np.float32)
    encoder, _ = fit_encoder(read_table(X), y, weight, options)
    assert_array_equal(np.unique(encoder.literals.column), np.arange(WIDE + 50))


def test_a_fit_finds_two_columns_among_two_thousand() -> None:
    X, y = wide(1400, 2000)
    model = DLNClassifier(layers=(32, 16), n_networks=3, tau=4.0, random_state=0)
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.8
