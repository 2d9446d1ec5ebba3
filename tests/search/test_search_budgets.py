"""A search with a budget: every trial keeps it, and so does the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import Circuit, DLNClassifier, DLNSearchCV, OptionError, measure_size
from dln.paths.budget import Budget
from dln.search.budget_preset import budget_preset
from dln.train.problem import Problem
from tests.conftest import Run

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


def search(**options: Any) -> DLNSearchCV:
    return DLNSearchCV(
        **{"space": SPACE, "n_trials": 2, "cv": 3, "random_state": 0, "n_jobs": 1, **options}
    )


def test_every_trial_and_the_model_keep_the_limits() -> None:
    limits = {"max_rules": 2, "max_columns": 2, "column_costs": {"age": 5.0}, "max_cost": 4.0}
    found = search(fixed=limits).fit(*table())
    assert [trial.params["max_literals"] for trial in found.trials_] in ([2, 4], [4, 2])
    assert all(limits.items() <= trial.params.items() for trial in found.trials_)
    size = measure_size(found.circuit_)
    assert Budget(**limits, max_literals=found.best_params_["max_literals"]).allows(size)
    assert "age" not in size.columns
    again = DLNClassifier(**found.best_params_, random_state=found.seed_).fit(*table())
    assert again.circuit_ == found.circuit_


def test_threads_and_resuming_do_not_change_the_result(tmp_path: Path) -> None:
    stored = search(fixed={"max_rules": 2}, storage=str(tmp_path / "search.db"))
    first = stored.fit(*table()).trials_
    assert search(fixed={"max_rules": 2}, n_jobs=2).fit(*table()).trials_ == first
    assert stored.fit(*table()).trials_ == first  # read from the file


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
    problem = Problem.__new__(Problem)
    object.__setattr__(problem, "target", np.zeros(100, dtype=np.int32))
    preset = budget_preset(problem, fixed).with_fixed(fixed)
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
        ({"space": {"path": [True]}}, "'path', which is a parameter of the search itself"),
    ],
)
def test_mistakes_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message) as error:
        search(**options).fit(*table())
    assert "\n" not in str(error.value)


def test_the_command_keeps_the_limits(run: Run) -> None:
    X, y = table()
    X.assign(state=y).to_csv("rows.csv", index=False)
    options = "--max-rules", "2", "--max-literals", "1", "--trials", "2"
    status, out, err = run("search", "rows.csv", "-t", "state", "-o", "m.json", *options)
    assert (status, err.count("error")) == (0, 0)
    assert measure_size(Circuit.load("m.json")).n_literals == 1
    assert "1 rule, 1 literal, 1 column" in out
