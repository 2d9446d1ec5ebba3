"""A search with a budget: every trial keeps it, and so does the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score

from dln import (
    Circuit,
    DLNClassifier,
    DLNRegressor,
    DLNRegressorSearchCV,
    DLNSearchCV,
    OptionError,
    measure_size,
)
from dln.estimators.reading import read_number_problem
from dln.paths.budget import Budget
from dln.paths.number_fit import fit_number_path
from dln.search.base import CircuitSearch
from dln.search.budget_preset import budget_preset
from dln.search.budget_tasks import NumberBudget, make_budget_task
from dln.search.scoring import Scoring
from dln.train.number_loss import NumberLoss
from tests.conftest import Run

SQUARED = NumberLoss("squared")
SPACE = {"max_literals": [2, 4]}


def table(n_rows: int = 90) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n_rows),
            "dose": rng.normal(size=n_rows).round(2),
            "city": rng.choice(["Basel", "Bern", "Chur"], n_rows),
        }
    )
    ill = (X["age"] > 50) & (X["dose"] > -0.5) | (X["city"] == "Chur")
    return X, np.where(ill, "ill", "healthy")


def of_number(table: tuple[pd.DataFrame, Any]) -> tuple[pd.DataFrame, Any]:
    """Make the target a number that the classes explain."""
    X, y = table
    return X, np.where(y == "ill", 30.0, 10.0) + X["dose"].to_numpy()


def search(kind: type[CircuitSearch] = DLNSearchCV, **options: Any) -> Any:
    usual = {"space": SPACE, "n_trials": 2, "cv": 3, "random_state": 0, "n_jobs": 1}
    return kind(**{**usual, **options})


@pytest.mark.parametrize(
    ("kind", "of", "rows"),
    [
        (DLNSearchCV, DLNClassifier, table()),
        (DLNRegressorSearchCV, DLNRegressor, of_number(table())),
    ],
)
def test_every_trial_and_the_model_keep_the_limits(kind: Any, of: Any, rows: Any) -> None:
    limits = {"max_rules": 2, "max_columns": 2, "column_costs": {"age": 5.0}, "max_cost": 4.0}
    found = search(kind, fixed=limits).fit(*rows)
    assert [trial.params["max_literals"] for trial in found.trials_] in ([2, 4], [4, 2])
    assert all(limits.items() <= trial.params.items() for trial in found.trials_)
    size = measure_size(found.circuit_)
    assert Budget(**limits, max_literals=found.best_params_["max_literals"]).allows(size)
    assert "age" not in size.columns
    again = of(**found.best_params_, random_state=found.seed_).fit(*rows)
    assert again.circuit_ == found.circuit_


@pytest.mark.parametrize(
    ("kind", "rows"), [(DLNSearchCV, table()), (DLNRegressorSearchCV, of_number(table()))]
)
def test_threads_and_resuming_do_not_change_the_result(
    kind: Any, rows: Any, tmp_path: Path
) -> None:
    limits = {"max_rules": 2}
    stored = search(kind, fixed=limits, storage=str(tmp_path / "search.db"))
    first = stored.fit(*rows).trials_
    assert search(kind, fixed=limits, n_jobs=2).fit(*rows).trials_ == first
    assert stored.fit(*rows).trials_ == first  # read from the file


def test_a_trial_with_a_number_is_scored_like_a_fit_on_the_training_rows() -> None:
    X, y = of_number(table())
    folds = [(np.arange(60), np.arange(60, 90))]
    limits = {"max_rules": 2, "max_literals": 3}
    found = search(DLNRegressorSearchCV, space=limits, cv=folds, n_trials=1).fit(X, y)
    (score,) = found.trials_[0].fold_scores
    task = make_budget_task(NumberBudget(Budget(**limits), SQUARED, None), 0, found.seed_)
    rows = read_number_problem(DLNRegressor(), X[:60], y[:60], None, "squared")
    circuit = fit_number_path(
        rows, Budget(**limits), SQUARED, rng=np.random.default_rng(task.seed)
    ).path.circuit
    assert score == pytest.approx(r2_score(y[60:], circuit.predict(X[60:])))


def test_the_default_search_of_a_number_varies_the_lengths() -> None:
    found = search(DLNRegressorSearchCV, space="default", fixed={"max_rules": 1})
    found.fit(*of_number(table()))
    assert set(found.space_) == {"max_literals", "max_literals_per_rule", "max_rules"}
    assert measure_size(found.circuit_).n_rules == 1


@given(
    max_rules=st.none() | st.integers(1, 30),
    max_literals=st.none() | st.integers(1, 100),
    longest=st.none() | st.integers(1, 10),
)
def test_the_default_search_stays_within_the_limits_and_repeats_nothing(
    max_rules: int | None, max_literals: int | None, longest: int | None
) -> None:
    given_limits = {
        "max_rules": max_rules,
        "max_literals": max_literals,
        "max_literals_per_rule": longest,
    }
    fixed = {name: own for name, own in given_limits.items() if own is not None}
    scoring = Scoring(lambda target, seed: [])
    preset = budget_preset(scoring, fixed).with_fixed(fixed)
    settings = [preset.parameters(values) for values in preset.first]
    assert preset.most_trials == len(settings) == len({str(own) for own in settings})
    for setting in settings:
        assert setting.get("max_rules") == max_rules
        assert setting["max_literals"] <= (max_literals or 60)
        assert setting["max_literals_per_rule"] <= (longest or 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fixed": {"max_rules": 0}}, "max_rules is 0, expected an integer from 1"),
        ({"fixed": {"max_rules": [2, 3]}}, r"fixed has \[2, 3\] for 'max_rules', expected one"),
        ({"fixed": {"max_cost": 3.0}}, "max_cost is 3.0, but no column has a cost"),
        ({"fixed": {"max_rules": 3}, "space": "paper"}, "space='paper' compares networks"),
        (
            {"fixed": {"max_rules": 3}, "space": {"tau": [1.0, 2.0]}},
            "tau is .*, but a fit with a budget",
        ),
        ({"space": {"max_cost": [1, 2]}}, "max_cost is not possible in a search space"),
        ({"space": {"path": [True]}}, "'path', which a search does not vary"),
    ],
)
def test_mistakes_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message) as error:
        search(**options).fit(*table())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("rows", [table(), of_number(table())])
def test_the_command_keeps_the_limits(run: Run, rows: Any) -> None:
    X, y = rows
    X.assign(state=y).to_csv("rows.csv", index=False)
    options = "--max-rules", "2", "--max-literals", "1", "--trials", "2"
    status, out, err = run("search", "rows.csv", "-t", "state", "-o", "m.json", *options)
    assert (status, err.count("error")) == (0, 0)
    assert measure_size(Circuit.load("m.json")).n_literals == 1
    assert "1 rule, 1 literal, 1 column" in out
