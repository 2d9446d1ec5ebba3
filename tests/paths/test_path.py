"""A path: circuits to choose from by size, validated, saved and loaded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info

from dln import (
    CircuitFileError,
    CircuitPath,
    DLNClassifier,
    OptionError,
    PathPoint,
    load_path,
    prune,
)
from dln.core.builder import CircuitBuilder
from dln.core.literals import Above, Column
from dln.core.readout import Votes
from dln.draw import draw_path
from dln.paths.formula import Formula, Step, both, build, evaluate, extend
from dln.paths.loss import ClassLoss
from dln.paths.searches import run_searches
from dln.paths.whole_votes import MOST_POINTS, round_votes
from dln.train.candidates import CandidateTests
from tests.paths.test_budgets import random_table
from tests.support.strategies import law


@pytest.fixture(scope="module")
def model() -> DLNClassifier:
    X, _ = random_table(5, n_rows=120)
    rng = np.random.default_rng(0)
    score = X["age"] / 10 + 2 * X["smoker"] + X["dose"] + rng.normal(size=len(X))
    y = np.where(score > score.median(), "class 1", "class 0")
    return DLNClassifier(max_literals=8, random_state=0).fit(X, y)


def test_at_keeps_its_limits_and_prefers_accuracy(model: DLNClassifier) -> None:
    path = model.path_
    assert path is not None
    point = path.at(max_rules=2)
    assert point.size.n_rules <= 2
    assert model.at(max_rules=2) == point.circuit
    assert path.at(max_literals=path[0].size.n_literals) == path[0]
    with pytest.raises(OptionError, match="no limit is given"):
        path.at()
    with pytest.raises(OptionError, match="no circuit of the path has max_cost=0"):
        path.at(column_costs=dict.fromkeys(path[0].size.columns, 1), max_cost=0)
    assert str(path).count("\n") == len(path)
    assert str(path).count("<- chosen") == 1


@pytest.mark.filterwarnings("ignore::dln.DlnWarning")
def test_a_model_without_a_path_says_how_to_get_one() -> None:
    X, y = random_table(0)
    model = DLNClassifier(layers=(4,), n_networks=1, tau=1, epochs=2).fit(X, y)
    assert model.path_ is None
    with pytest.raises(OptionError, match="this model has no path; fit with path=True"):
        model.at(max_rules=3)


@pytest.mark.filterwarnings("ignore::dln.DlnWarning")
def test_without_a_budget_the_path_ends_with_the_trained_networks() -> None:
    X, y = random_table(0)
    options = {"layers": (8, 4), "n_networks": 1, "tau": 1.0, "epochs": 20, "random_state": 0}
    alone = DLNClassifier(**options).fit(X, y)
    model = DLNClassifier(**options, path=True).fit(X, y)
    assert model.path_ is not None
    assert model.circuit_ == alone.circuit_ == model.path_.circuit == model.path_[-1].circuit
    assert len(model.path_) > 1


def test_a_path_is_saved_and_loaded(model: DLNClassifier, tmp_path: Path) -> None:
    path = model.path_
    assert path is not None
    path.save(tmp_path / "path.json")
    assert load_path(tmp_path / "path.json") == path
    unknown = CircuitPath((PathPoint(path.circuit, np.nan, np.nan),), 0)
    unknown.save(tmp_path / "unknown.json")
    assert np.isnan(load_path(tmp_path / "unknown.json")[0].accuracy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "dln circuit"}, "the format 'dln circuit', expected 'dln path'"),
        ({"version": 9}, "version 9, expected 1"),
        ({"points": []}, "for 'points'"),
        ({"points": [{}], "chosen": 0}, "for 'circuit'"),
        ({"chosen": 99}, "for 'chosen'"),
    ],
)
def test_other_files_are_refused(
    model: DLNClassifier, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    assert model.path_ is not None
    file = tmp_path / "path.json"
    model.path_.save(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(CircuitFileError, match=message):
        load_path(file)
    file.write_text("{")
    with pytest.raises(CircuitFileError, match=r"path\.json: the file is not JSON"):
        load_path(file)


def test_a_path_is_drawn(model: DLNClassifier) -> None:
    assert model.path_ is not None
    figure = draw_path(model.path_)
    assert figure.axes[0].get_xlabel() == "literals"
    assert figure.axes[0].get_ylabel() == "balanced accuracy, cross-validated (%)"
    (of_number,) = draw_path(CircuitPath(model.path_.points, 0, "R²")).axes
    assert of_number.get_ylabel() == "R², cross-validated"
    assert list(of_number.lines[0].get_ydata()) == [point.accuracy for point in model.path_]
    with pytest.raises(OptionError, match="draw_path takes a CircuitPath"):
        draw_path(model)  # type: ignore[arg-type]
    unknown = CircuitPath((PathPoint(model.circuit_, np.nan, np.nan),), 0)
    with pytest.raises(OptionError, match="no circuit of the path has a validated accuracy"):
        draw_path(unknown)


N_TESTS = 4
steps = st.builds(Step, st.booleans(), st.integers(0, N_TESTS - 1), st.booleans())


@st.composite
def formulas(draw: st.DrawFn) -> Formula:
    formula = both(*(draw(steps)._replace(by_or=False) for _ in range(2)))
    for step in draw(st.lists(steps, max_size=3)):
        formula = extend(formula, step)
    return formula


@law
@given(formula=formulas())
def test_a_formula_becomes_a_circuit_of_the_same_bits(formula: Formula) -> None:
    columns = tuple(Column(f"x{place}", "number") for place in range(N_TESTS))
    tests = CandidateTests(columns, tuple(Above(place, 0.5) for place in range(N_TESTS)))
    rows = np.array(list(np.ndindex(*(2,) * N_TESTS)), dtype=np.float64)
    builder = CircuitBuilder(columns, Votes.without_rules(("no", "yes")))
    builder.vote(build(formula, tests, builder), (0, 1))
    assert_array_equal(
        builder.finish().votes(rows)[:, 1], evaluate(formula, rows.astype(np.float32))
    )


@law
@given(
    seed=st.integers(0, 9999),
    n_classes=st.integers(2, 4),
    scale=st.sampled_from([1e-6, 0.1, 1.0, 100.0]),
)
def test_whole_votes_are_small_and_lose_little(seed: int, n_classes: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    fires = np.hstack([np.ones((80, 1)), rng.integers(0, 2, (80, 3))]).astype(np.float64)
    target = rng.integers(0, n_classes, 80).astype(np.int32)
    loss = ClassLoss(target, np.full(80, 1 / 80), n_classes)
    votes = loss.fit(fires, np.zeros((4, loss.n_outputs)), 20)
    whole = round_votes(loss, fires, votes * scale)
    assert_array_equal(whole.votes, np.round(whole.votes))
    assert np.abs(whole.votes[1:]).max() <= MOST_POINTS
    if scale == 1.0:
        best = loss.total(fires @ votes, votes)
        none = loss.total(np.zeros_like(fires @ votes), np.zeros_like(votes))
        assert whole.loss <= best + 0.3 * (none - best) + 0.02


@law
@given(seed=st.integers(0, 9999), n_classes=st.integers(2, 4))
def test_the_slopes_are_those_of_the_loss(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    target = rng.integers(0, n_classes, 20).astype(np.int32)
    weight = rng.random(20)
    loss = ClassLoss(target, weight / weight.sum(), n_classes)
    scores = rng.normal(size=(20, loss.n_outputs))
    nothing = np.zeros((1, loss.n_outputs))
    first = loss.slopes(scores).first
    for row, output in [(0, 0), (19, loss.n_outputs - 1)]:
        moved = scores.copy()
        moved[row, output] += 1e-4
        fall = (loss.total(scores, nothing) - loss.total(moved, nothing)) / 1e-4
        assert fall == pytest.approx(first[row, output], abs=1e-4)


def test_tables_without_anything_to_learn_give_an_empty_page() -> None:
    X = pd.DataFrame({"x": [1.0] * 20})
    with pytest.warns(UserWarning, match="never predicts"):
        model = DLNClassifier(max_rules=3).fit(X, [0, 1] * 10)
    assert model.circuit_.rules == ()


def test_the_steps_of_pruning_are_a_path(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    y = (X["a"] + X["b"] > 0) & (X["c"] > -1)
    model = DLNClassifier(layers=(12, 6), n_networks=1, epochs=20, random_state=0).fit(X, y)
    curve = prune(model.circuit_, X, y, tolerance=0.05)
    path = CircuitPath.from_pruning(curve)
    assert path.circuit == curve.circuit
    assert path[-1].circuit == curve.steps[0].circuit
    literals = [point.size.n_literals for point in path]
    assert literals == sorted(set(literals))
    accuracies = {step.accuracy for step in curve.steps}
    assert {point.accuracy for point in path} <= accuracies
    assert path.at(max_rules=2).size.n_rules <= 2
    assert "balanced accuracy on the rows of pruning" in str(path)
    path.save(tmp_path / "path.json")
    again = load_path(tmp_path / "path.json")
    assert again.validation == path.validation
    assert [point.circuit for point in again] == [point.circuit for point in path]
    draw_path(path)


def test_each_search_uses_one_core() -> None:
    def count(*_: object) -> set[int]:
        return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}

    before = count()
    assert run_searches(count, [0, 1], 2, None, "raise").found == [{1} if before else set()] * 2
    assert count() == before
