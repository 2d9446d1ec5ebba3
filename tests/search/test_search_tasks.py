"""Tasks of a search: they vote like the circuit, and folds are encoded once."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from dln import DLNClassifier
from dln.encode.encoder import EncodeOptions
from dln.estimators.plan import plan_fit
from dln.estimators.reading import read_problem
from dln.search.backend import LocalBackend, TaskContext, keep_rows
from dln.search.folds import repeated_folds
from dln.search.on_ray import resources_of
from dln.search.tasks import FoldRows, Task, encode_fold
from dln.train.discretise import discretise
from dln.train.jobs import Job
from dln.train.native import train_population
from dln.train.problem import Problem
from dln.train.votes import count_votes


@pytest.fixture(scope="module")
def mixed() -> Problem:
    """Make a problem of numbers with missing values, and categories."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    X = X.mask(rng.random(X.shape) < 0.1)
    X["wood"] = np.where(rng.random(150) < 0.3, None, rng.choice(["oak", "elm", "ash"], 150))
    return read_problem(DLNClassifier(), X, y, None, None)[0].kept()


@pytest.fixture(scope="module")
def context(mixed: Problem) -> TaskContext:
    return TaskContext(mixed, tuple(repeated_folds(mixed.target, 3, 0)), "native", "cpu", 2)


def recipe_of(problem: Problem, **parameters: Any) -> Any:
    usual: dict[str, Any] = {"layers": (12, 6), "tau": 2.0, "epochs": 20}
    return plan_fit(DLNClassifier(**usual, **parameters), problem).candidates.usual


def test_votes_are_those_of_the_circuit(mixed: Problem, context: TaskContext) -> None:
    rows = encode_fold(mixed, context.folds[0], EncodeOptions())
    recipe = recipe_of(mixed)
    train = rows.fold.train
    jobs = [
        Job(
            recipe.draw_network(rows.encoder.literals, rows.n_classes, seed),
            rows.data,
            train,
            recipe.options,
        )
        for seed in range(2)
    ]
    networks = [result.network for result in train_population(jobs)]
    cells = rows.data.cells[train]
    circuit = discretise(
        networks,
        rows.encoder,
        rows.table,
        classes=mixed.classes,
        temperature=2.0,
    )
    votes = count_votes(networks, cells)
    expected = circuit.votes(mixed.table.take(train))
    # A vote for every class has no effect, and the circuit leaves it out.
    assert_array_equal(votes - votes[:, :1], expected - expected[:, :1])
    assert_array_equal(votes.argmax(axis=1), circuit.winners(mixed.table.take(train)))


def test_a_fold_is_encoded_once_for_each_encoding(context: TaskContext) -> None:
    rows_of = keep_rows(context)
    first: FoldRows = rows_of(0, EncodeOptions(4))
    assert rows_of(0, EncodeOptions(4)) is first
    assert rows_of(0, EncodeOptions(6)) is not first
    assert rows_of(1, EncodeOptions(4)) is not first


def test_an_encoder_does_not_see_the_validation_rows(mixed: Problem, context: TaskContext) -> None:
    fold = context.folds[0]
    X = pd.DataFrame({"x": np.arange(150.0)})
    changed = X.copy()
    changed.loc[fold.valid, "x"] = 1e6
    literals = [
        encode_fold(
            read_problem(DLNClassifier(), frame, mixed.target, None, None)[0],
            fold,
            EncodeOptions(),
        ).encoder.literals.value
        for frame in (X, changed)
    ]
    assert_array_equal(*literals)


def test_an_outcome_depends_on_its_task_alone(mixed: Problem, context: TaskContext) -> None:
    tasks = [
        Task(fold, recipe_of(mixed, n_cutoffs=n_cutoffs), (7, 8), 2, measured=True)
        for fold in range(3)
        for n_cutoffs in (3, 6)
    ]
    together = LocalBackend(context).run(tasks)
    alone = [LocalBackend(context).run([task])[0] for task in tasks]
    assert together == alone
    assert all(outcome.size is not None and outcome.size > 0 for outcome in together)


def test_the_size_is_that_of_all_networks_that_will_vote(
    mixed: Problem, context: TaskContext
) -> None:
    two, ten = (
        Task(0, recipe_of(mixed), (7, 8), n_networks, measured=True) for n_networks in (2, 10)
    )
    of_two, of_ten = LocalBackend(context).run([two, ten])
    assert of_two.size is not None
    assert of_ten.size == 5 * of_two.size
    assert of_ten.accuracies == of_two.accuracies


@pytest.mark.parametrize(
    ("engine", "device", "n_gpus"),
    [("native", "cpu", 0), ("torch", "cpu", 0), ("torch", "cuda:1", 1), ("cuda", "cpu", 1)],
)
def test_a_task_of_a_cluster_reserves_a_gpu_if_it_trains_on_one(
    context: TaskContext, engine: Any, device: str, n_gpus: int
) -> None:
    wanted = resources_of(replace(context, engine=engine, device=device))
    assert wanted == {"num_cpus": 1, "num_gpus": n_gpus}
