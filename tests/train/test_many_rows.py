"""Large tables: trees correct the networks, within constraints, in memory and out of core alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from dln import DLNClassifier, prove_constraints
from dln.data.table import read_table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.estimators.plan import read_parameters
from dln.train import many_rows, recipe
from dln.train.encoded_votes import count_votes_of
from dln.train.many_rows import draw_pool, hold_out
from dln.train.recipe import make_candidates
from dln.train.votes import count_votes
from tests.support.random_tables import problems
from tests.support.strategies import law

FEW: dict[str, Any] = {
    "layers": (16, 8),
    "n_networks": 1,
    "tau": 2.0,
    "epochs": 3,
    "n_trees": 30,
    "random_state": 0,
    "effort": "quick",
}


@pytest.fixture(autouse=True)
def _small_tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "FROM_ROWS", 1000)


def interaction(n_rows: int, seed: int = 0) -> tuple[Any, Any]:
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0).astype(int)


# -- rows -----------------------------------------------------------------------------------------


@law
@given(problems())
def test_networks_have_the_same_votes_on_encoded_rows(problem: Any) -> None:
    frame, target, n_classes, seed = problem
    weight = np.ones(len(target), dtype=np.float32)
    encoder, cells = fit_encoder(read_table(frame), target, weight, EncodeOptions())
    usual = make_candidates(read_parameters(DLNClassifier(layers=(8, 4))), 100, n_classes, 4).usual
    networks = [usual.draw_network(encoder.literals, n_classes, seed + i) for i in range(2)]
    rows = np.arange(len(target))[::-1]
    assert_array_equal(count_votes_of(networks, cells, rows), count_votes(networks, cells[rows]))


def test_rows_held_out_are_in_no_pool_and_leave_rows_of_every_class() -> None:
    rng = np.random.default_rng(0)
    target = (np.arange(20_000) >= 19_998).astype(np.int32)
    for _ in range(20):
        held = hold_out(target, None, rng)
        assert 1500 < len(held) <= 2000
        assert np.all(np.diff(held) > 0)
        assert len(np.unique(np.delete(target, held))) == 2
        pool = draw_pool(20_000, held, 4, 2, rng)
        assert_array_equal(np.sort(np.concatenate([pool, held])), np.arange(20_000))


def test_a_sampled_pool_has_no_rows_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    held = hold_out(np.zeros(20_000, dtype=np.int32), None, rng)
    for most in (4000, 12_000):
        monkeypatch.setattr(many_rows, "MAX_ROWS", most)
        pool = draw_pool(20_000, held, 4, 2, rng)
        assert most / 2 < len(pool) <= most
        assert np.all(np.diff(pool) > 0)
        assert not np.isin(pool, held).any()


def test_groups_are_held_out_together() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 500, 20_000)
    held = hold_out(np.zeros(20_000, dtype=np.int32), groups, rng)
    assert 1000 < len(held) <= 2000
    assert not np.isin(np.delete(groups, held), groups[held]).any()


# -- fits -----------------------------------------------------------------------------------------


def test_trees_find_interactions_and_any_number_of_threads_gives_the_same_circuit() -> None:
    X, y = interaction(4000)
    models = [DLNClassifier(**FEW, n_jobs=n).fit(X[:3000], y[:3000]) for n in (1, 2)]
    assert models[0].circuit_ == models[1].circuit_
    alone = DLNClassifier(**{**FEW, "n_trees": 0}).fit(X[:3000], y[:3000])
    assert models[0].score(X[3000:], y[3000:]) > alone.score(X[3000:], y[3000:]) + 0.05


def test_no_tree_is_grown_on_noise() -> None:
    X, _ = interaction(3000)
    y = np.arange(3000) % 2
    assert len(DLNClassifier(**FEW).fit(X, y).circuit_.rules) <= 8


def test_batches_give_the_circuit_of_a_table_in_memory() -> None:
    pa = pytest.importorskip("pyarrow")
    X, y = interaction(3000)
    frame = pa.table({f"x{i}": X[:, i] for i in range(4)} | {"class": y})
    parts = [frame.slice(first, 500).to_pandas() for first in range(0, 3000, 500)]
    in_memory = DLNClassifier(**FEW).fit(frame.drop_columns(["class"]), y)
    in_files = DLNClassifier(**FEW).fit(iter(parts), "class")
    assert in_files.circuit_ == in_memory.circuit_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_obey_constraints(n_classes: int) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    X.loc[rng.random(3000) < 0.1, "b"] = np.nan
    score = X["a"] + (X["b"].fillna(0) * X["c"] > 0) + 0.3 * rng.normal(size=3000)
    y = np.digitize(score, [0.5, 1.5][: n_classes - 1])
    directions = {0: {"a": "-"}} if n_classes == 3 else {"a": "+", "d": "-"}
    model = DLNClassifier(**FEW, monotone=directions, interactions=[["a", "d"], ["b", "c"]]).fit(
        X, y
    )
    circuit = model.circuit_
    assert len(circuit.rules) > 20
    assert circuit.constraints is not None  # the rules are checked one by one
    assert prove_constraints(circuit, circuit.constraints)
    assert model.score(X, y) > 0.7


def test_several_classes_missing_values_categories_and_weights() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(4000, 3)), columns=["a", "b", "c"])
    X.loc[rng.random(4000) < 0.2, "a"] = np.nan
    X["kind"] = rng.choice(["red", "green", "blue"], 4000)
    y = np.where(
        X["a"].isna(), "none", np.where((X["kind"] == "red") ^ (X["b"] > 0), "one", "other")
    )
    weight = rng.random(4000)
    model = DLNClassifier(**FEW).fit(X[:3000], y[:3000], sample_weight=weight[:3000])
    assert model.score(X[3000:], y[3000:]) > 0.97
    assert_array_equal(model.circuit_.predict(X), model.predict(X))


def test_an_earlier_circuit_is_corrected() -> None:
    X, y = interaction(4000)
    first = DLNClassifier(**{**FEW, "n_trees": 0}).fit(X[:1000], y[:1000])
    second = DLNClassifier(init=first.circuit_, effort="quick", n_trees=30, random_state=0)
    second.fit(X[1000:3000], y[1000:3000])
    assert second.score(X[3000:], y[3000:]) > first.score(X[3000:], y[3000:]) + 0.05


def test_small_tables_do_not_grow_such_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "FROM_ROWS", many_rows.FROM_ROWS)
    parameters = read_parameters(DLNClassifier(n_trees=10))
    for n_rows, is_large in ((99_999, False), (100_000, True)):
        growth = make_candidates(parameters, n_rows, 2, 4).growth
        assert growth is not None
        assert (growth.rows_per_tree is not None) == is_large
