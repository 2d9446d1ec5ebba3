"""DLNRegressorSearchCV: it keeps the promises of DLNSearchCV for a target of numbers."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_regressor
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from dln import Circuit, DLNRegressor, OptionError, TableError
from dln.estimators.plan import plan_number_fit, read_number_parameters
from dln.estimators.reading import read_number_problem
from dln.search import Between, DLNRegressorSearchCV, DLNSearchCV
from dln.search.number_preset import find_number_preset
from dln.train.engines import find_engine
from dln.train.number_fit import fit_number
from dln.train.number_loss import NumberLoss
from tests.support.classifiers import UNDERTRAINED

Run = Callable[..., tuple[int, str, str]]
SPACE: dict[str, Any] = {
    "layers": [(4,), (8, 4)],
    "n_trees": [0, 10],
    "learning_rate": Between(0.02, 0.1, log=True),
    "epochs": 8,
    "n_networks": 1,
    "effort": "quick",
}


def quick(**parameters: Any) -> DLNRegressorSearchCV:
    usual = {"n_trials": 4, "batch_size": 2, "cv": 3, "random_state": 0}
    return DLNRegressorSearchCV(**{"space": SPACE, **usual, **parameters})


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 80, 150), "plan": rng.choice(["a", "b", "c"], 150)})
    y = np.where(X["age"] > 50, 20.0, 10.0) + 5 * (X["plan"] == "b") + rng.normal(0, 1, 150)
    return X, pd.Series(y, name="price")


@pytest.fixture(scope="module")
def found(rows: Any) -> DLNRegressorSearchCV:
    return quick().fit(*rows)


def test_the_best_trial_is_refitted_on_all_rows(rows: Any, found: DLNRegressorSearchCV) -> None:
    again = DLNRegressor(**found.best_params_, random_state=found.seed_).fit(*rows)
    assert again.circuit_ == found.circuit_
    assert_array_equal(again.predict(rows[0]), found.predict(rows[0]))
    assert found.best_score_ == found.trials_[found.best_index_].score > 0.8
    assert found.score(*rows) == r2_score(rows[1], found.predict(rows[0]))
    assert is_regressor(found)
    assert not hasattr(found, "predict_proba")
    assert (found.cv_results_["size"] > 0).all()


def test_a_score_is_r2_of_the_fit_on_the_other_rows(rows: Any, found: DLNRegressorSearchCV) -> None:
    """A second implementation: DLNRegressor on the rows of each fold, with the same draws."""
    X, y = rows
    splits = list(KFold(3, shuffle=True, random_state=1).split(X))
    search = quick(cv=splits, n_trials=2, refit=False).fit(X, y)
    for trial in search.trials_:
        for number, (train, valid) in enumerate(splits):
            if number >= len(trial.fold_scores):
                continue
            model = _fit_again(trial.params, X.iloc[train], y.iloc[train], search.seed_, number)
            expected = r2_score(y.iloc[valid], model.predict(X.iloc[valid]))
            assert_allclose(trial.fold_scores[number], expected, atol=1e-9)


def _fit_again(params: Any, X: Any, y: Any, *seeds: int, loss: Any = "squared") -> Circuit:
    """Fit as DLNRegressor does, with the random stream of a fold of the search."""
    model = DLNRegressor(**params, loss=loss)
    parameters = read_number_parameters(model)
    problem = read_number_problem(model, X, y, None, loss).counting()
    plan = plan_number_fit(parameters, parameters.losses[0], problem)
    rng = np.random.default_rng(seeds)
    return fit_number(problem, plan, engine=find_engine("native", "cpu"), rng=rng).circuit


def test_threads_interruption_and_storage_change_nothing(
    rows: Any, found: DLNRegressorSearchCV, tmp_path: Path
) -> None:
    assert quick(n_jobs=2, batch_size=2).fit(*rows).trials_ == found.trials_
    storage = tmp_path / "search.db"

    def stop(state: Any) -> None:
        if len(state.trials) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(storage=storage, callback=stop).fit(*rows)
    resumed = quick(storage=storage).fit(*rows)
    assert resumed.trials_ == found.trials_
    assert resumed.circuit_ == found.circuit_
    with pytest.raises(OptionError, match="holds a search with other loss"):
        quick(storage=storage, loss="absolute").fit(*rows)
    X, y = rows
    with pytest.raises(OptionError, match="holds a search with other data"):
        quick(storage=storage).fit(X, y + 1)


def test_another_loss_is_scored_by_d2(rows: Any) -> None:
    X, y = rows
    counts = np.random.default_rng(1).poisson(y / 5)
    search = quick(loss="poisson", n_trials=1, cv=[(np.arange(100), np.arange(100, 150))])
    search.fit(X, counts)
    assert search.measure == "D²"
    (trial,) = search.trials_
    model = _fit_again(trial.params, X[:100], counts[:100], search.seed_, 0, loss="poisson")
    expected = d2_tweedie_score(counts[100:], model.predict(X[100:]), power=1)
    assert_allclose(trial.score, expected, atol=1e-9)


def test_groups_stay_together(rows: Any) -> None:
    X, y = rows
    groups = np.arange(150) // 10
    counted = quick(n_trials=1, refit=False).fit(X, y, groups=groups)
    given = quick(n_trials=1, refit=False, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert counted.n_splits_ == given.n_splits_ == 3
    with pytest.raises(TableError, match="cv is 20, but there are 15 groups; use fewer folds"):
        quick(cv=20).fit(X, y, groups=groups)


def test_every_start_of_the_default_space_can_be_fitted(rows: Any) -> None:
    problem = read_number_problem(DLNRegressor(), *rows, None, "squared")
    preset = find_number_preset("default", problem)
    plans = []
    for values in preset.first:
        parameters = read_number_parameters(DLNRegressor(**preset.parameters(values)))
        plans.append(plan_number_fit(parameters, parameters.losses[0], problem))
    usual = plan_number_fit(read_number_parameters(DLNRegressor()), NumberLoss("squared"), problem)
    assert plans[0] == usual  # a search starts with the default of the regressor
    assert len({repr(plan) for plan in plans}) == len(plans)


def test_the_picture_shows_r2(found: DLNRegressorSearchCV) -> None:
    assert found.draw().axes[0].get_ylabel() == "R²"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"space": "paper"}, "space is 'paper', expected \"default\" or a dict"),
        ({"space": {"tau": [1.0]}}, "'tau', which is not a parameter of DLNRegressor"),
        ({"space": {"max_cost": [3]}}, "max_cost is not possible in a search"),
        ({"space": {"loss": ["squared"]}}, "'loss', which a search does not vary"),
        ({"loss": "hinge"}, "loss is 'hinge', expected one of"),
        ({"loss": "quantile", "quantile": (0.1, 0.9)}, "expected one number between 0 and 1"),
        ({"cv": 1}, "cv is 1, expected at least 2 folds"),
        ({"fixed": {"n_trees": [1]}}, "fixed has \\[1\\] for 'n_trees', expected one value"),
    ],
)
def test_a_mistake_is_one_line(rows: Any, parameters: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        quick(**parameters).fit(*rows)
    assert "\n" not in str(caught.value)


def test_a_fold_with_one_number_is_refused(rows: Any) -> None:
    X, _ = rows
    y = np.r_[np.zeros(149), 1.0]
    with pytest.raises(TableError, match="all training rows of a fold have the same target"):
        quick(cv=[(np.arange(100), np.arange(100, 150))]).fit(X, y)


def test_classes_are_refused_by_name(rows: Any) -> None:
    with pytest.raises(TableError, match="DLNRegressor"):
        DLNSearchCV().fit(*rows)


def test_the_command_chooses_by_the_target(run: Run, rows: Any, tmp_path: Path) -> None:
    rows[0].assign(price=rows[1]).to_csv(tmp_path / "t.csv", index=False)
    options = tmp_path / "o.toml"
    options.write_text("layers = [4]\nn_trees = 0\nepochs = 5\nn_networks = 1\n")
    command = ("search", "t.csv", "-t", "price", "-o", "m.json", "--trials", 2)
    status, shown, said = run(*command, "--options", options, "--storage", "s.db")
    assert status == 0, said
    assert "so a number is predicted" in said
    assert "Score on 5 folds: R² 0." in shown
    assert "R² on 38 test rows: 0." in shown
    status, again, _ = run(*command, "--options", options, "--storage", "s.db")
    assert (status, again) == (0, shown)
    status, _, said = run(*command, "--class-weight", "none")
    assert status != 0
    assert "--class-weight is for classes, but a number is predicted" in said
    status, _, said = run(*command, "--task", "classes", "--loss", "poisson")
    assert status != 0
    assert len(said.splitlines()) == 1


@parametrize_with_checks(
    [
        DLNRegressorSearchCV(
            space={"layers": (16,), "epochs": 15, "n_networks": 1, "n_trees": 0},
            n_trials=1,
            cv=2,
            random_state=0,
        )
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "the order of rows in batches is random",
        "check_sample_weight_equivalence_on_sparse_data": "the order of rows in batches is random",
    },
)
@UNDERTRAINED
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The model has no rules")
        check(estimator)
