"""Growing trees: leaves become rules, starts are honest, and noise grows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from sklearn.metrics import balanced_accuracy_score

from dln import DLNClassifier
from dln.data.table import read_table
from dln.encode.encoder import EncodeOptions, fit_encoder
from dln.estimators.plan import read_parameters
from dln.train.discretise import discretise
from dln.train.fit import FitPlan, Fitted, fit_circuit
from dln.train.growth import Growth, grow, start_from_networks
from dln.train.jobs import Job, Trained
from dln.train.native import train_population
from dln.train.problem import Problem
from dln.train.recipe import make_candidates
from dln.train.trees import ClassBoosting, TreeOptions, grow_trees, make_features, softmax
from tests.support.random_tables import problems
from tests.support.strategies import law

SMALL: dict[str, Any] = {"layers": (8, 4), "n_networks": 1, "tau": 2.0, "epochs": 20}


def interaction(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Make a table whose class depends on products of columns."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] * X[:, 3] > 0).astype(int)


# -- trees ----------------------------------------------------------------------------------------


@law
@given(problems())
def test_leaves_vote_in_a_circuit_as_in_their_trees(problem: Any) -> None:
    frame, target, n_classes, seed = problem
    table, weight = read_table(frame), np.ones(len(target), dtype=np.float32)
    encoder, cells = fit_encoder(table, target, weight, EncodeOptions())
    features = make_features(encoder.literals, cells)
    start = np.zeros((len(target), n_classes))
    rng = np.random.default_rng(seed)
    grown = grow_trees(
        features.matrix, ClassBoosting(target), weight, start, TreeOptions(4, 0.5), rng
    )
    trees, unit = list(islice(grown, 3)), 0.01
    rules = [rule for tree in trees for rule in tree.rules(features, unit)]
    circuit = discretise(
        [],
        encoder,
        table,
        classes=tuple(range(n_classes)),
        temperature=1.0,
        tree_rules=rules,
    )
    votes = circuit.votes(frame)
    expected = sum(np.rint(tree.give(features.matrix) / unit) for tree in trees)
    assert_array_equal(votes - votes[:, :1], expected - expected[:, :1])


def test_each_tree_lowers_the_loss_of_its_rows() -> None:
    X, target = interaction(200, seed=0)
    weight = np.where(target == 1, 2.0, 1.0).astype(np.float32)
    encoder, cells = fit_encoder(read_table(X), target.astype(np.int32), weight, EncodeOptions())
    features = make_features(encoder.literals, cells)
    points = np.zeros((len(X), 2))
    losses = []
    rng = np.random.default_rng(0)
    trees = grow_trees(
        features.matrix,
        ClassBoosting(target.astype(np.int32)),
        weight,
        points,
        TreeOptions(8, 0.1),
        rng,
    )
    for tree in islice(trees, 20):
        points = points + tree.give(features.matrix)
        losses.append(-(weight * np.log(softmax(points)[np.arange(200), target])).sum())
    assert np.all(np.diff(losses) < 0)


# -- growth ---------------------------------------------------------------------------------------


def grow_beside_small_networks(problem: Problem, engine: Any = train_population) -> Any:
    parameters = read_parameters(DLNClassifier(**SMALL))
    recipe = make_candidates(parameters, len(problem.target), len(problem.classes), 4).usual
    encoder, cells = fit_encoder(problem.table, problem.target, problem.weight, recipe.encode)
    rng = np.random.default_rng(0)
    start = partial(start_from_networks, recipe=recipe, engine=engine, rng=rng, n_threads=1)
    growth = Growth(25, TreeOptions(8, 0.1))
    return grow(growth, problem, encoder.literals, cells, start, rng)


def make_problem(X: Any, y: Any) -> Problem:
    weight = np.ones(len(y), dtype=np.float32)
    return Problem(read_table(X), np.asarray(y, dtype=np.int32), weight, (0, 1))


def test_networks_leave_out_every_fold_and_every_pair_of_folds() -> None:
    problem = make_problem(*interaction(80, seed=1))
    seen: list[Job] = []

    def engine(jobs: Sequence[Job], **options: Any) -> list[Trained]:
        seen.extend(jobs)
        return train_population(jobs, **options)

    grow_beside_small_networks(problem, engine)
    left_out = [frozenset(range(80)) - set(job.rows.tolist()) for job in seen]
    folds, pairs = left_out[:4], left_out[4:]
    assert set().union(*folds) == set(range(80))
    assert sum(map(len, folds)) == 80
    assert pairs == [a | b for a, b in combinations(folds, 2)]


def test_no_tree_is_grown_on_noise() -> None:
    rng = np.random.default_rng(2)
    problem = make_problem(rng.normal(size=(300, 4)), np.arange(300) % 2)
    assert grow_beside_small_networks(problem).trees == ()


def test_no_tree_is_grown_if_a_class_has_fewer_than_three_rows() -> None:
    X, _ = interaction(60, seed=0)
    assert grow_beside_small_networks(make_problem(X, np.arange(60) < 2)) is None


def test_growth_finds_interactions_that_small_networks_miss() -> None:
    X, y = interaction(1200, seed=3)
    scores = [
        balanced_accuracy_score(
            y[600:],
            DLNClassifier(**SMALL, n_trees=n, random_state=0)
            .fit(X[:600], y[:600])
            .predict(X[600:]),
        )
        for n in (0, 100)
    ]
    assert scores[1] > scores[0] + 0.1


def test_points_of_held_out_rows_are_those_of_the_whole_model() -> None:
    problem = make_problem(*interaction(400, seed=4))
    grown = grow_beside_small_networks(problem)
    assert grown.held_out.shape == (400, 2)
    assert_array_equal(grown.rows, np.arange(400))
    right = grown.held_out.argmax(axis=1) == problem.target
    assert right.mean() > 0.8


def test_votes_of_networks_keep_their_weight_beside_trees() -> None:
    grown = grow_beside_small_networks(make_problem(*interaction(400, seed=4)))
    for scale in (1e-3, 0.5, 3.0):
        votes, unit = replace(grown, scale=scale).units(tau=2.0, n_networks=5)
        assert votes * unit == pytest.approx(scale / 10.0)
        assert unit <= 0.02


@pytest.mark.parametrize(
    ("parameters", "grows"),
    [
        ({}, True),
        ({"effort": "quick"}, False),
        ({"layers": (8, 4)}, False),
        ({"n_networks": 1}, False),
        ({"selection_fits": 0}, False),
        ({"n_trees": 0}, False),
        ({"layers": (8, 4), "n_trees": 10}, True),
    ],
)
def test_trees_are_grown_only_beside_networks_of_a_chosen_size_or_on_request(
    parameters: dict[str, Any], grows: bool
) -> None:
    candidates = make_candidates(read_parameters(DLNClassifier(**parameters)), 300, 2, 4)
    assert (candidates.growth is not None) == grows


@pytest.mark.parametrize("on_interrupt", ["raise", "keep"])
def test_ctrl_c_while_trees_are_grown_keeps_the_networks(on_interrupt: Any) -> None:
    problem = make_problem(*interaction(80, seed=1))
    parameters = read_parameters(DLNClassifier(**SMALL, n_trees=10))
    plan = FitPlan(make_candidates(parameters, 80, 2, 4))

    def engine(jobs: Sequence[Job], **options: Any) -> list[Trained]:
        if len(jobs) == 10:  # the networks that leave out folds
            raise KeyboardInterrupt
        return train_population(jobs, **options)

    def fit() -> Fitted:
        rng = np.random.default_rng(0)
        return fit_circuit(problem, plan, engine=engine, rng=rng, on_interrupt=on_interrupt)

    if on_interrupt == "raise":
        with pytest.raises(KeyboardInterrupt):
            fit()
    else:
        assert fit().interrupted
        assert len(fit().circuit.rules) > 0
