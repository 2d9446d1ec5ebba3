"""The presets of a search: "paper" follows the paper, "default" starts with the defaults."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from dln import DLNClassifier
from dln.estimators.plan import plan_fit, read_parameters
from dln.estimators.reading import read_problem
from dln.search import Between, DLNSearchCV
from dln.search.paper import paper_folds, score_trials
from dln.search.presets import find_preset
from dln.search.scores import fold_scores
from dln.search.tasks import Outcome
from dln.train.network import layer_sizes
from dln.train.problem import Problem
from dln.train.recipe import make_candidates


def problem(n_rows: int, n_numeric: int = 3, n_classes: int = 2) -> Problem:
    """Make a problem with numbers, a column of three categories and a boolean."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n_rows, n_numeric))).add_prefix("x")
    table["city"] = rng.choice(["Bern", "Basel", "Chur"], n_rows)
    table["smoker"] = rng.random(n_rows) < 0.5
    y = np.arange(n_rows) % n_classes
    return read_problem(DLNClassifier(), table, y, None, None)[0]


# -- the preset "paper" ---------------------------------------------------------------------------


def test_the_papers_space_is_the_papers() -> None:
    preset = find_preset("paper", problem(400))
    d = 2 + 1 + 4 * 3
    assert preset.space["learning_rate"] == Between(0.01, 0.3, log=True)
    assert preset.space["n_layers"] == Between(2, 5)
    assert preset.space["ratio"] == Between(0.25, 1.0, log=True)
    assert preset.space["n_cutoffs"] == [4, 6]
    assert preset.space["tau"] == Between(1.0, 30.0, log=True)
    assert preset.space["grad_factor"] == Between(1.0, 2.0)
    # third = min(400 // (2 * (15 + 2)), 45) = 11, which is at least d / 2
    assert preset.space["first"] == Between(11, 2 * d)
    assert preset.space["epochs"] == 1_000
    assert preset.space["batch_size"] == 64
    assert find_preset("paper", problem(400, n_classes=3)).space["batch_size"] == 128


def test_the_programs_space_differs_from_the_papers_in_fixed_options_only() -> None:
    paper, program = (find_preset(name, problem(400)) for name in ("paper", "program"))
    searched = [name for name, value in paper.space.items() if isinstance(value, (list, Between))]
    # Optuna draws in this order. Another one would change the results that are stored.
    assert searched == [
        *("learning_rate", "n_layers", "ratio", "n_cutoffs", "tau", "grad_factor", "first")
    ]
    assert searched == [
        name for name, value in program.space.items() if isinstance(value, (list, Between))
    ]
    assert all(paper.space[name] == program.space[name] for name in searched)
    differs = {name for name in program.space if program.space[name] != paper.space.get(name)}
    assert differs == {
        "gate_gradient",
        "vote_gradient",
        "vote_density",
        "link_drawing",
        "last_batch",
        "selection_fits",
        "validation_fraction",
        "validation_every",
        "validation_score",
    }
    assert paper.scoring == program.scoring


def test_the_program_is_searched_and_fitted_with_its_options() -> None:
    X, y = load_iris(return_X_y=True)
    search = DLNSearchCV(space="program", n_trials=1, random_state=0)
    search.fit(X[::3], y[::3])
    model = search.best_estimator_
    assert (model.class_weight, model.last_batch, model.validation_every) == (
        "smoothed",
        "drop",
        10,
    )
    looked = np.flatnonzero(~np.isnan(model.history_["valid_accuracy"][0])) + 1
    assert looked.tolist() == list(range(10, 1_001, 10))


@pytest.mark.parametrize(
    ("n_rows", "low", "high"),
    [(100, 7, 30), (5_000, 15, 45), (520, 7, 30)],  # too small: d / 2; three times d; just d
)
def test_the_papers_first_layer_depends_on_the_rows(n_rows: int, low: int, high: int) -> None:
    assert find_preset("paper", problem(n_rows)).space["first"] == Between(low, high)


def test_the_papers_layers_shrink_geometrically() -> None:
    preset = find_preset("paper", problem(400))
    values = {"first": 50, "ratio": 0.25, "n_layers": 4, "tau": 3.0}
    params = preset.parameters(values)
    assert params["layers"] == layer_sizes(50, 0.25, 4, 2) == (50, 31, 19, 12)
    assert {"first", "ratio", "n_layers"}.isdisjoint(params)


@pytest.mark.parametrize(("n_rows", "n_folds"), [(400, 4), (1_999, 4), (2_000, 3), (5_000, 1)])
def test_the_papers_folds(n_rows: int, n_folds: int) -> None:
    folds = paper_folds(problem(n_rows).target, 0)
    assert len(folds) == n_folds
    assert all(len(fold.train) + len(fold.valid) == n_rows for fold in folds)
    assert all(not set(fold.train) & set(fold.valid) for fold in folds)
    if n_folds == 1:
        assert len(folds[0].valid) == n_rows // 5


def test_a_score_is_the_best_epochs_mean_less_a_tenth_of_the_deviation() -> None:
    outcomes = [Outcome((0.5, 0.9, 0.7, 0.7)), Outcome((0.5, 0.7, 0.9, 0.9)), Outcome((0.5, 0.8))]
    accuracies = np.array([[0.5, 0.9, 0.7, 0.7], [0.5, 0.7, 0.9, 0.9], [0.5, 0.8, 0.8, 0.8]])
    score = accuracies.mean(axis=0) - 0.1 * accuracies.std(axis=0)
    # The last three are equal; the latest wins. The third fold stopped and stays at 0.8.
    assert score.max() == pytest.approx(score[3])
    np.testing.assert_array_equal(fold_scores(outcomes, 0.1), accuracies[:, 3])
    np.testing.assert_array_equal(score_trials(accuracies.T), score)


@pytest.fixture(scope="module")
def paper_search() -> tuple[DLNSearchCV, Any, Any]:
    X, y = load_iris(return_X_y=True)
    return DLNSearchCV(space="paper", n_trials=2, random_state=0).fit(X, y), X, y


def test_the_papers_search_runs_its_protocol(paper_search: Any) -> None:
    found, _, _ = paper_search
    assert found.n_splits_ == 4
    assert not any(trial.stopped for trial in found.trials_)
    for trial in found.trials_:
        scores = np.array(trial.fold_scores)
        assert trial.score == pytest.approx(scores.mean() - 0.1 * scores.std())
        assert trial.params["scaling"] == "range"


def test_the_papers_final_fit_validates_on_a_fifth_and_keeps_an_epoch(paper_search: Any) -> None:
    found, X, y = paper_search
    epochs = found.best_estimator_.epochs
    assert 10 <= epochs <= 1_000
    assert epochs % 10 == 0
    history = found.best_estimator_.history_
    assert history["loss"].shape == (1, epochs)
    kept = pickle.loads(pickle.dumps(found))
    again = kept.fit_trial(found.best_index_, X, y)
    assert again.circuit_ == found.circuit_


# -- the preset "default" -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "n_classes"), [(300, 2), (300, 5), (2_500, 3), (4_500, 2), (4_500, 26)]
)
def test_the_default_search_begins_with_the_usual_recipe(n_rows: int, n_classes: int) -> None:
    its = problem(n_rows, n_classes=n_classes)
    preset = find_preset("default", its)
    usual = make_candidates(read_parameters(DLNClassifier()), n_rows, n_classes, 5).usual
    plans = [plan_fit(DLNClassifier(**preset.parameters(values)), its) for values in preset.first]
    tried = {(plan.candidates.usual.shape, plan.candidates.usual.options) for plan in plans}
    assert (usual.shape, usual.options) in tried
    assert len(preset.first) <= 24 < DLNSearchCV().n_trials  # Optuna proposes the others


@pytest.mark.parametrize(("n_rows", "n_classes"), [(300, 5), (2_500, 3), (4_500, 2), (4_500, 26)])
def test_the_default_search_begins_inside_its_space(n_rows: int, n_classes: int) -> None:
    preset = find_preset("default", problem(n_rows, n_classes=n_classes))
    for values in preset.first:
        assert values.keys() == preset.space.keys()
        for name, dimension in preset.space.items():
            if isinstance(dimension, Between):
                assert dimension.low <= values[name] <= dimension.high
            else:
                assert values[name] in dimension


@pytest.mark.parametrize(("n_classes", "max_rows"), [(2, 6_000), (12, 6_000), (26, 13_000)])
def test_many_classes_are_scored_on_more_rows(n_classes: int, max_rows: int) -> None:
    its = problem(4_500, n_classes=n_classes)
    for space in ("default", {"tau": Between(1.0, 8.0)}):
        assert find_preset(space, its).scoring.max_rows == max_rows


@pytest.mark.parametrize(("n_rows", "phases"), [(4_500, ["batches", "unified"]), (3_999, [])])
def test_large_tables_begin_with_finer_starts_too(n_rows: int, phases: list[str]) -> None:
    first = find_preset("default", problem(n_rows)).first
    finer = [start for start in first if (start["n_links"], start["n_cutoffs"]) == (32, 12)]
    assert sorted(start["phases"] for start in finer) == phases


def test_the_default_search_runs() -> None:
    X, y = load_iris(return_X_y=True)
    found = DLNSearchCV(n_trials=3, batch_size=3, random_state=0).fit(X, y)
    assert found.n_splits_ == 20
    assert found.best_params_["n_networks"] == 15  # scored with fewer networks, fitted with all
    assert found.best_estimator_.history_["loss"].shape[0] == 15
    assert found.score(X, y) > 0.9
