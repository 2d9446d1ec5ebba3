"""DLNSearchCV: it behaves like scikit-learn's searches, is reproducible and reports its results."""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import ShuffleSplit

from dln import DLNClassifier, DlnWarning, ExtraMissingError, OptionError, TableError
from dln.search import Between, DLNSearchCV, SearchState
from tests.support.classifiers import UNDERTRAINED

SPACE: dict[str, Any] = {
    "layers": [(4, 2), (12, 6)],
    "tau": Between(1.0, 8.0, log=True),
    "n_cutoffs": Between(2, 6),
    "epochs": 12,
    "n_networks": 2,
}
QUICK: dict[str, Any] = {"space": SPACE, "n_trials": 6, "batch_size": 3, "cv": 3, "random_state": 0}


def quick(**parameters: Any) -> DLNSearchCV:
    return DLNSearchCV(**{**QUICK, **parameters})


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


@pytest.fixture(scope="module")
def found(iris: Any) -> DLNSearchCV:
    return quick().fit(*iris)


# -- results --------------------------------------------------------------------------------------


def test_the_best_trial_is_refitted_on_all_rows(iris: Any, found: DLNSearchCV) -> None:
    again = DLNClassifier(**found.best_params_, random_state=found.seed_).fit(*iris)
    assert again.circuit_ == found.circuit_
    assert_array_equal(again.predict(iris[0]), found.predict(iris[0]))
    assert found.score(*iris) > 0.8
    best = found.trials_[found.best_index_]
    assert best.score == max(trial.score for trial in found.trials_)  # too few to estimate
    assert found.best_score_ == best.score


def test_results_agree_with_the_trials(found: DLNSearchCV) -> None:
    results = found.cv_results_
    splits = np.array([results[f"split{fold}_test_score"] for fold in range(found.n_splits_)])
    assert splits.shape == (3, 6)
    assert_array_equal(results["mean_test_score"], splits.mean(axis=0))
    assert results["params"][found.best_index_] == found.best_params_
    assert results["rank_test_score"][found.best_index_] == 1
    assert sorted(results["rank_test_score"]) == [1, 2, 3, 4, 5, 6]
    order = np.argsort(results["rank_test_score"])
    assert list(results["score"][order]) == sorted(results["score"], reverse=True)
    assert set(results["param_layers"]) <= {(4, 2), (12, 6)}
    assert all(2 <= value <= 6 for value in results["param_n_cutoffs"])
    assert (results["size"] > 0).all()


def test_the_score_of_a_search_is_the_score_of_its_trials(iris: Any, found: DLNSearchCV) -> None:
    X, y = iris
    X, y = X[30:], y[30:]  # 20, 50 and 50 rows
    right = y.to_numpy() == found.predict(X)
    assert found.score(X, y) == pytest.approx(np.mean([right[y == c].mean() for c in range(3)]))


def test_refit_may_be_a_bool_as_in_scikit_learn(iris: Any, found: DLNSearchCV) -> None:
    assert quick(refit=True).fit(*iris).circuit_ == found.circuit_
    without = quick(refit=False).fit(*iris)
    assert without.best_params_ == found.best_params_
    with pytest.raises(AttributeError, match="refit is False, so no model was fitted"):
        without.predict(iris[0])


def test_a_trial_scores_what_its_classifier_scores_on_the_folds(iris: Any) -> None:
    X, y = iris
    splits = list(ShuffleSplit(2, test_size=0.3, random_state=4).split(X))
    found = quick(cv=splits, n_trials=2).fit(X, y)
    assert found.n_splits_ == 2
    for trial in found.trials_:
        assert len(trial.fold_scores) == 2
        assert all(0 <= score <= 1 for score in trial.fold_scores)
        assert trial.score == pytest.approx(np.mean(trial.fold_scores))


def test_a_trial_does_not_compare_recipes(iris: Any) -> None:
    found = quick(space={"epochs": [5, 12], "n_networks": 1}, n_trials=2).fit(*iris)
    assert found.best_params_["selection_fits"] == 0
    assert found.best_estimator_.selection_ == []


def test_prediction_is_that_of_the_best_estimator(iris: Any, found: DLNSearchCV) -> None:
    X, _ = iris
    best = found.best_estimator_
    assert_array_equal(found.predict_proba(X), best.predict_proba(X))
    assert_array_equal(found.decision_function(X), best.decision_function(X))
    assert_array_equal(found.classes_, best.classes_)
    assert list(found.feature_names_in_) == list(X.columns)


def test_a_search_is_cloned_and_pickled(found: DLNSearchCV, iris: Any) -> None:
    copy = clone(found)
    assert copy.get_params() == found.get_params()
    assert not hasattr(copy, "trials_")
    again = pickle.loads(pickle.dumps(found))
    assert_array_equal(again.predict(iris[0]), found.predict(iris[0]))


def test_without_refit_there_is_a_choice_but_no_classifier(iris: Any) -> None:
    found = quick(refit=False, n_trials=3).fit(*iris)
    assert found.best_params_ == dict(found.trials_[found.best_index_].params)
    assert not hasattr(found, "best_estimator_")


@UNDERTRAINED
def test_any_trial_can_be_fitted(iris: Any, found: DLNSearchCV) -> None:
    model = found.fit_trial(1, *iris)
    assert model.get_params()["tau"] == found.trials_[1].params["tau"]
    assert found.fit_trial(found.best_index_, *iris).circuit_ == found.circuit_
    with pytest.raises(OptionError, match="number is 6, expected an integer from 0 to 5"):
        found.fit_trial(6, *iris)


# -- reproducible ---------------------------------------------------------------------------------


def test_the_number_of_threads_does_not_change_the_result(iris: Any, found: DLNSearchCV) -> None:
    for n_jobs in (1, 3):
        again = quick(n_jobs=n_jobs).fit(*iris)
        assert again.trials_ == found.trials_
        assert again.circuit_ == found.circuit_


def test_another_seed_gives_other_trials(iris: Any, found: DLNSearchCV) -> None:
    assert quick(random_state=1).fit(*iris).trials_ != found.trials_


def test_more_trials_begin_with_the_same_ones(iris: Any, found: DLNSearchCV) -> None:
    more = quick(n_trials=9).fit(*iris).trials_[:6]
    assert [trial.fold_scores for trial in more] == [trial.fold_scores for trial in found.trials_]
    assert [trial.params for trial in more] == [trial.params for trial in found.trials_]


def test_the_result_of_a_trial_does_not_depend_on_other_trials(iris: Any) -> None:
    one_by_one = quick(batch_size=1, n_trials=1).fit(*iris)
    together = quick(batch_size=3, n_trials=3).fit(*iris)
    assert one_by_one.trials_[0].fold_scores == together.trials_[0].fold_scores


# -- progress -------------------------------------------------------------------------------------


def test_progress_is_reported_to_the_end(iris: Any) -> None:
    states: list[SearchState] = []
    found = quick(callback=states.append).fit(*iris)
    assert states[-1].trials == found.trials_
    assert states[-1].done == 1.0
    assert [len(state.trials) for state in states] == sorted(len(s.trials) for s in states)
    done = [state.done for state in states]
    assert done == sorted(done)
    assert 0 <= done[0] <= done[-1] == 1.0
    assert all(state.recalled == 0 for state in states)
    assert states[-1].seconds_left == 0


def test_every_batch_is_logged(iris: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="dln"):
        quick().fit(*iris)
    assert [text.split(",")[0] for text in caplog.messages] == ["3 of 6 trials", "6 of 6 trials"]


def test_a_bar_shows_the_best_so_far(iris: Any, capsys: pytest.CaptureFixture[str]) -> None:
    quick(verbose=1).fit(*iris)
    said = capsys.readouterr()
    assert said.out == ""
    assert "6/6 trials, best " in said.err


@pytest.mark.parametrize(("refit", "n_warnings"), [("best", 1), (False, 0)])
def test_only_the_final_fit_warns_of_classes_that_are_never_predicted(
    iris: Any, refit: Any, n_warnings: int
) -> None:
    space = {"layers": (1,), "tau": [1.0, 2.0], "epochs": 3, "n_networks": 1}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DlnWarning)
        quick(space=space, refit=refit).fit(*iris)
    assert [warning.filename for warning in caught] == [__file__] * n_warnings
    assert all("The model never predicts" in str(warning.message) for warning in caught)


def test_large_tables_are_searched_on_a_sample_of_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7_000, 2))
    y = (X[:, 0] > 0) & (X[:, 1] > 0)
    space = {"layers": (4, 2), "tau": [1.0, 2.0], "epochs": 3, "n_networks": 1}
    found = quick(space=space, cv="auto", n_trials=2).fit(X, y)
    assert found.n_splits_ == 3
    assert found.score(X, y) > 0.8
    assert found.best_estimator_.history_["loss"].shape == (1, 3)


def test_a_time_limit_ends_the_search_after_a_batch(iris: Any) -> None:
    assert len(quick(time_limit=0.0).fit(*iris).trials_) == 3


def test_ctrl_c_keeps_the_trials_so_far(iris: Any) -> None:
    def interrupt(state: SearchState) -> None:
        if len(state.trials) == 3:
            raise KeyboardInterrupt

    with pytest.warns(
        UserWarning, match="The search was interrupted. The trials that had finished are kept"
    ):
        found = quick(callback=interrupt, on_interrupt="keep").fit(*iris)
    assert found.trials_ == quick(n_trials=3).fit(*iris).trials_
    assert found.predict(iris[0]).shape == (150,)
    with pytest.raises(KeyboardInterrupt):
        quick(callback=interrupt).fit(*iris)


@pytest.mark.parametrize("broken_off", ["search", "final fit"])
def test_an_interrupted_second_fit_keeps_the_labels_of_the_first(
    iris: Any, monkeypatch: pytest.MonkeyPatch, broken_off: str
) -> None:
    X, y = iris
    found = quick(n_trials=3).fit(X, y)
    before = found.predict(X)

    def interrupt(*_: object) -> Any:
        raise KeyboardInterrupt

    if broken_off == "search":
        found.set_params(callback=interrupt)
    else:
        monkeypatch.setattr(found, "fit_trial", interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, np.array(["a", "b", "c"])[y])
    assert found.classes_.tolist() == found.best_estimator_.classes_.tolist() == [0, 1, 2]
    assert (found.predict(X) == before).all()


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"space": "big"}, 'space is \'big\', expected "default", "paper", "program" or a dict'),
        ({"space": 3}, "space is 3, expected"),
        ({"space": {"width": 3}}, "'width', which is not a parameter of DLNClassifier"),
        ({"space": {"n_jobs": 3}}, "'n_jobs', which a search does not vary"),
        ({"space": {"tau": []}}, "the space has no value for 'tau'"),
        ({"space": {"tau": [0.0]}}, "tau is 0.0, expected a number from 0.001"),
        ({"n_trials": 0}, "n_trials is 0, expected an integer"),
        ({"batch_size": 2.5}, "batch_size is 2.5, expected an integer"),
        ({"objective": "size"}, "objective is 'size', expected one of 'accuracy', 'pareto'"),
        ({"refit": "smallest"}, "refit is 'smallest', expected one of 'best', 'small' or a bool"),
        ({"space": {"tau": np.ones(2)}}, "an array for 'tau'; give a list of values"),
        ({"backend": "dask"}, "backend is 'dask', expected one of 'local', 'ray'"),
        ({"cv": 1}, "cv is 1, expected at least 2 folds"),
        ({"cv": "five"}, "cv is 'five', which cannot split the rows"),
        ({"cv": [([], [1])]}, "expected row numbers for training and validation"),
        ({"cv": [([0, 1], [150])]}, "expected row numbers for training and validation"),
        ({"time_limit": -1}, "time_limit is -1, expected a number from 0"),
        ({"callback": 3}, "callback is 3, expected a function or None"),
        ({"engine": "gpu"}, "engine is 'gpu', expected one of"),
        ({"on_interrupt": "stop"}, "on_interrupt is 'stop', expected one of"),
        ({"random_state": -1}, "random_state is -1, expected an integer of at least 0"),
    ],
)
def test_a_bad_option_is_one_clear_line(iris: Any, parameters: Any, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        quick(**parameters).fit(*iris)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_more_folds_than_rows_of_a_class_are_refused(iris: Any) -> None:
    X, y = iris
    with pytest.raises(TableError, match="the rarest class has 2 rows; use fewer folds"):
        quick().fit(X[:102], y[:102])


@UNDERTRAINED
def test_the_only_row_of_a_class_is_trained_on_and_not_scored(iris: Any) -> None:
    X, y = iris
    found = quick(cv="auto", n_trials=3).fit(X[:101], y[:101])
    assert found.n_splits_ == 20
    assert found.classes_.tolist() == [0, 1, 2]
    with pytest.raises(TableError, match="no class has two rows"):
        quick().fit(X[::60], y[::60])


@pytest.mark.parametrize("ends", [(2, 1), (0.0, float("inf")), ("a", "b"), (True, 3)])
def test_a_range_has_two_numbers_in_order(ends: Any) -> None:
    with pytest.raises(OptionError, match="Between has the ends"):
        Between(*ends)
    with pytest.raises(OptionError, match="expected two numbers above 0"):
        Between(0.0, 1.0, log=True)


def test_a_diverged_training_is_a_failed_trial(iris: Any, tmp_path: Path) -> None:
    # Each of twelve layers multiplies the gradient by a million, so that training diverges.
    space = {"layers": [(12, 6), (12,) * 12], "tau": 1e-3, "grad_factor": 1e6, "n_networks": 1}
    storage = tmp_path / "search.db"
    found = quick(space=space, objective="pareto", storage=storage).fit(*iris)
    depths = [len(trial.params["layers"]) for trial in found.trials_]
    assert set(depths) == {2, 12}
    scores = {depth: trial.score for depth, trial in zip(depths, found.trials_, strict=True)}
    assert scores[12] == 0.0
    assert scores[2] > 0.5
    assert {len(trial.params["layers"]) for trial in found.pareto_} == {2}
    assert found.draw().axes


@pytest.mark.parametrize(("package", "parameters"), [("optuna", {}), ("ray", {"backend": "ray"})])
def test_the_error_for_a_missing_package_names_it(
    iris: Any, monkeypatch: pytest.MonkeyPatch, package: str, parameters: Any
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExtraMissingError, match=rf"requires {package}; install with: pip"):
        quick(**parameters).fit(*iris)


def test_importing_dln_imports_neither_optuna_nor_ray() -> None:
    code = "import sys, dln; print({'optuna', 'ray', 'matplotlib'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


@UNDERTRAINED
def test_rows_of_weight_zero_are_left_out(iris: Any) -> None:
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 2, len(y)).astype(float)
    kept = weight > 0
    expected = quick(n_trials=3).fit(X[kept], y[kept])
    assert quick(n_trials=3).fit(X, y, weight).trials_ == expected.trials_
