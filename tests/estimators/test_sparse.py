"""Sparse matrices: the same models as from dense tables, in memory for the stored values only."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from dln import Above, Circuit, Column, DLNClassifier, DLNRegressor, Logic, Missing, Rule, Score
from dln.data.table import MAX_SPARSE, read_table

SMALL: dict[str, Any] = {"layers": (8,), "n_networks": 1, "epochs": 15, "random_state": 0}
Model = type[DLNClassifier] | type[DLNRegressor]
MODELS: tuple[Model, ...] = (DLNClassifier, DLNRegressor)
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def words(n_rows: int, n_columns: int, seed: int = 0) -> Any:
    """Return counts of words, few of them in each row."""
    return sparse.random_array(
        (n_rows, n_columns),
        density=0.05,
        format="csr",
        rng=np.random.default_rng(seed),
        data_sampler=lambda size: np.random.default_rng(seed).integers(1, 4, size).astype(float),
    )


def target(model: Model, X: Any) -> Any:
    score = X[:, [3]].toarray()[:, 0] - X[:, [7]].toarray()[:, 0]
    return score if model is DLNRegressor else np.where(score > 0, "more", "less")


@pytest.mark.parametrize("model", MODELS)
def test_a_sparse_matrix_gives_the_model_of_the_dense_one(model: Model) -> None:
    X = words(200, 12)
    y = target(model, X)
    dense, fitted = model(**SMALL).fit(X.toarray(), y), model(**SMALL).fit(X, y)
    assert fitted.circuit_ == dense.circuit_
    assert_array_equal(fitted.predict(X), dense.predict(X.toarray()))
    assert fitted.score(X, y) == dense.score(X.toarray(), y)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_every_format_is_read(name: str, make: Callable[..., Any]) -> None:
    dense = np.array([[0.0, 2.5, np.nan], [0.0, 0.0, -1.0]])
    table = read_table(make(dense).asformat(name))
    assert (table.n_rows, table.n_columns, table.names) == (2, 3, None)
    assert_array_equal(np.stack([table.read(index).values for index in range(3)], axis=1), dense)
    rows = np.array([1, 1, 0])
    assert_array_equal(table.take(rows).kept().read(2).values, dense[rows, 2])


def test_values_that_are_stored_twice_are_added_and_the_matrix_stays_as_it_was() -> None:
    twice = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    table = read_table(twice)
    assert table.read(1).values.tolist() == [3.0, 0.0]
    assert twice.nnz == 3


@pytest.mark.parametrize(("kind", "dtype"), [("integer", np.int32), ("boolean", bool)])
def test_the_type_of_the_values_is_kept(kind: str, dtype: Any) -> None:
    column = read_table(sparse.csr_array(np.eye(3, dtype=dtype))).read(1)
    assert (column.kind, column.values.dtype) == (kind, dtype)


def test_zeros_are_values_and_stored_nans_are_missing() -> None:
    circuit = Circuit(
        (Column("x0", "number"),),
        (Above(0, -0.5), Missing(0)),
        (),
        (Rule(0, (1, 0)), Rule(1, (0, 1))),
        (0, 0),
        ("known", "missing"),
    )
    X = sparse.csc_array(np.array([[0.0], [np.nan], [3.0]]))
    assert circuit.predict(X).tolist() == ["known", "missing", "known"]


@pytest.mark.parametrize("answer", ["class", "number"])
def test_a_matrix_too_large_to_be_dense_is_predicted(answer: str) -> None:
    n_rows, n_columns = 20_000, 50_000  # 8 GB of zeros
    draw = np.random.default_rng(1)
    rows, columns = draw.integers(0, n_rows, 40_000), draw.integers(0, n_columns, 40_000)
    some = np.arange(0, n_rows, 2)
    X = sparse.csr_array(
        (np.ones(50_000), (np.append(rows, some), np.append(columns, np.full(10_000, 49_999)))),
        shape=(n_rows, n_columns),
    )
    logic = Logic(
        tuple(Column(f"x{index}", "number") for index in range(n_columns)),
        (Above(49_999, 0.5),),
        (),
    )
    if answer == "class":
        circuit = Circuit(logic.columns, logic.literals, (), (Rule(0, (0, 1)),), (0, 0), (0, 1))
    else:
        circuit = Circuit(logic=logic, readout=Score((Rule(0, (1,)),), (0,)))
    circuit.predict(X[:1])  # the circuit itself is prepared once
    tracemalloc.start()
    predicted = circuit.predict(X)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert predicted[some].all()
    assert most < 20e6


@pytest.mark.parametrize("model", MODELS)
def test_a_wide_matrix_is_trained_on_its_densest_columns(model: Model) -> None:
    n_rows, n_columns = 300, 3 * MAX_SPARSE
    draw = np.random.default_rng(2)
    signal = sparse.csr_array(draw.integers(0, 2, (n_rows, 3)).astype(float))
    noise = words(n_rows, n_columns - 3, seed=3)
    X = sparse.hstack([noise[:, :4000], signal, noise[:, 4000:]], format="csr")
    y = signal[:, [1]].toarray()[:, 0]
    if model is DLNClassifier:
        y = np.where(y > 0, "yes", "no")
    found = model(max_literals=3, random_state=0).fit(X, y)
    assert found.n_features_in_ == len(found.circuit_.columns) == n_columns
    assert found.score(X, y) == 1.0
    assert 4001 in found.circuit_.logic.used_columns
    assert_array_equal(found.predict(X), found.circuit_.predict(X.toarray()))
    assert all(len(point.circuit.columns) == n_columns for point in found.path_)
    with pytest.raises(ValueError, match=r"5999 features.*6000"):
        found.predict(X[:, :-1])
