"""The protocol of the experiment is that of `DLNSearchCV(space="paper")`."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import DLNClassifier
from dln.estimators.presets import PRESETS
from dln.estimators.reading import read_problem
from dln.search import paper
from dln.search.folds import hold_out
from dln.train.network import layer_sizes
from reproduction import datasets, protocol
from reproduction.protocol import Task


@pytest.mark.parametrize("name", ["EVAL_EVERY", "FINAL_EVAL_EVERY", "PATIENCE", "HELD_BACK"])
def test_the_constants_are_the_same(name: str) -> None:
    assert getattr(protocol, name) == getattr(paper, name)


def test_the_epochs_are_the_same() -> None:
    assert {preset["epochs"] for preset in PRESETS.values()} == {protocol.MAX_EPOCHS}


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(2, 30))
def test_scores_and_batches_are_the_same(accuracies: list[float], n_classes: int) -> None:
    accuracies = np.array(accuracies)
    assert protocol.score_trials(accuracies) == paper.score_trials(accuracies)
    assert protocol.batch_size(n_classes) == paper.batch_size(n_classes)


@given(st.integers(1, 500), st.floats(0.25, 1.0), st.integers(2, 5), st.integers(2, 30))
def test_layers_are_the_same(first: int, ratio: float, n_layers: int, n_classes: int) -> None:
    sizes = first, ratio, n_layers, n_classes
    assert protocol.layer_sizes(*sizes) == layer_sizes(*sizes)


@pytest.mark.parametrize("n_rows", [40, 1_999, 2_000, 4_999, 5_000])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_folds_are_the_same(n_rows: int, n_classes: int) -> None:
    target = np.random.default_rng(n_rows).integers(n_classes, size=n_rows)
    target[0] = n_classes  # a class of one row
    ours, theirs = protocol.make_folds(target, 3), paper.paper_folds(target.astype(np.int32), 3)
    for (train, valid), fold in zip(ours, theirs, strict=True):
        assert_array_equal(train, fold.train)
        assert_array_equal(valid, fold.valid)


def test_the_same_rows_are_held_back() -> None:
    target = np.arange(300) % 3
    train, valid = protocol.hold_back(target, seed=1)
    fold = hold_out(target.astype(np.int32), protocol.HELD_BACK, seed=1)
    assert_array_equal(np.sort(train), np.sort(fold.train))
    assert_array_equal(np.sort(valid), np.sort(fold.valid))


@pytest.mark.parametrize("name", [*datasets.EMBEDDED, "Heart", "CKD", "Compas", "Stroke"])
def test_first_layers_are_the_same(name: str) -> None:
    if name not in datasets.EMBEDDED and not os.environ.get("DLN_DATA"):
        pytest.skip("DLN_DATA does not name a folder")
    task = Task(datasets.load(name), seed=0)
    problem, _ = read_problem(DLNClassifier(), *task.train, None, "balanced")
    between = paper.paper_preset(problem).space["first"]
    assert protocol.first_layers(task) == (between.low, between.high)
