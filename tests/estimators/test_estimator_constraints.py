"""Constraints of the estimators: what is refused, and what predictions satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dln import (
    Constraints,
    DLNClassifier,
    DLNRegressor,
    DlnWarning,
    Monotone,
    OptionError,
    prove_constraints,
)

SMALL: dict[str, Any] = {"layers": (16, 8), "n_networks": 2, "epochs": 20, "random_state": 0}


def table(n_rows: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, n_rows),
            "dose": rng.normal(size=n_rows),
            "city": rng.choice(["Bern", "Chur"], n_rows),
        }
    )


def wavy(frame: pd.DataFrame) -> Any:
    """Return classes that rise and fall with age."""
    return np.where(np.sin(frame["age"] / 6) + frame["dose"] > 0, "yes", "no")


@pytest.mark.parametrize("preset", [None, "paper"])
def test_predictions_follow_the_direction_where_the_data_do_not(preset: Any) -> None:
    X = table()
    model = DLNClassifier(preset=preset, monotone={"age": "+"}, **SMALL).fit(X, wavy(X))
    grid = pd.DataFrame({"age": np.arange(20, 80)}).assign(dose=0.2, city="Bern")
    votes = model.circuit_.votes(grid)
    assert (np.diff(votes[:, 1] - votes[:, 0]) >= 0).all()
    assert (np.diff(model.predict_proba(grid)[:, 1]) >= 0).all()


def test_without_the_constraint_predictions_follow_the_data() -> None:
    X = table()
    free = DLNClassifier(**SMALL).fit(X, X["age"] < 50)
    assert prove_constraints(free.circuit_, Constraints((Monotone("age", "+", True),))).refuted


def test_several_classes_have_directions_of_their_own() -> None:
    X = table()
    y = np.where(X["age"] + 8 * X["dose"] > 60, "old", np.where(X["dose"] > 0, "mid", "young"))
    signs = {"old": {"age": "+"}, "young": {"age": "-"}}
    model = DLNClassifier(monotone=signs, n_trees=20, **SMALL).fit(X, y)
    assert prove_constraints(model.circuit_, time_limit=None)
    assert model.score(X, y) > 0.7


def test_an_unused_column_is_carried_but_not_read() -> None:
    X = table()
    model = DLNClassifier(unused_columns=["dose"], **SMALL).fit(X, wavy(X))
    assert [column.name for column in model.circuit_.columns] == ["age", "dose", "city"]
    assert 1 not in model.circuit_.logic.used_columns


def test_columns_of_an_array_are_named_by_their_number() -> None:
    X = table()[["age", "dose"]].to_numpy()
    model = DLNClassifier(monotone={"x1": "+"}, interactions=[], **SMALL).fit(X, X[:, 1] > 0)
    assert model.circuit_.constraints is not None
    assert model.circuit_.constraints.lines() == [
        "True never loses as x1 grows",
        "every rule reads a single column",
    ]


@pytest.mark.filterwarnings("ignore::dln.DlnWarning")
def test_columns_without_information_can_be_the_only_ones_left() -> None:
    X = table().assign(one=1)
    model = DLNClassifier(unused_columns=["age", "dose", "city"], **SMALL).fit(X, wavy(X))
    assert model.circuit_.rules == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"monotone": {"age": "+"}, "n_gates": 4}, "n_gates is 4, but monotone needs AND and OR"),
        ({"monotone": {"city": "+"}}, "'city', which has categories and so no order"),
        ({"monotone": {"yes": {"age": "+"}, "no": {"age": "+"}}}, "both directions of 'age'"),
        ({"unused_columns": ["height"]}, "unused_columns names 'height', which the table lacks"),
        ({"max_columns_per_rule": 0}, "max_columns_per_rule is 0, expected an integer from 1"),
    ],
)
def test_contradictions_are_refused_before_training(given: dict[str, Any], message: str) -> None:
    X = table(40)
    with pytest.raises(OptionError, match=message):
        DLNClassifier(**{**given, "epochs": 10**6}).fit(X, wavy(X))


def test_directions_that_leave_no_class_to_vote_for_are_refused() -> None:
    X, y = table(40)[["age"]], np.arange(40) % 4
    signs = {0: {"age": "+"}, 1: {"age": "+"}, 2: {"age": "-"}, 3: {"age": "-"}}
    with pytest.raises(OptionError, match="the constraints leave no column that a rule may read"):
        DLNClassifier(monotone=signs).fit(X, y)


def test_learning_on_keeps_the_constraints_of_the_earlier_circuit() -> None:
    X = table()
    first = DLNClassifier(monotone={"age": "+"}, **SMALL).fit(X, wavy(X)).circuit_
    second = DLNClassifier(init=first, random_state=0).fit(X, wavy(X)).circuit_
    assert second.constraints == first.constraints
    assert len(second.rules) > len(first.rules)
    assert prove_constraints(second, time_limit=None)
    with pytest.raises(OptionError, match="init does not satisfy the constraints: a rule"):
        DLNClassifier(init=first, monotone={"age": "-"}).fit(X, wavy(X))


def test_the_warning_of_lost_classes_names_the_constraints() -> None:
    X = table()
    y = X["age"] < 40
    with pytest.warns(UserWarning, match="Try fewer constraints, more epochs"):
        DLNClassifier(monotone={"age": "+"}, unused_columns=["dose", "city"], **SMALL).fit(X, y)


# -- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"layers": (16, 8), "n_networks": 2, "epochs": 20},
        {"effort": "quick", "n_trees": 50},
        {"effort": "quick", "n_trees": 50, "loss": "absolute"},
        {"max_rules": 2, "max_literals": 2},
    ],
    ids=["networks", "trees", "trees of a median", "budget"],
)
def test_numbers_follow_the_direction_where_the_data_do_not(parameters: Any) -> None:
    X = table()
    y = 3 * np.sin(X["age"] / 6) + X["dose"]
    model = DLNRegressor(monotone={"age": "+", "dose": "+"}, random_state=0, **parameters)
    circuit = model.fit(X, y).circuit_
    grid = pd.DataFrame({"age": np.arange(20, 80)}).assign(dose=0.2, city="Bern")
    assert (np.diff(model.predict(grid)) >= 0).all()
    assert circuit.rules
    assert prove_constraints(circuit, time_limit=None)
    free = DLNRegressor(random_state=0, **parameters).fit(X, y)
    assert prove_constraints(free.circuit_, circuit.constraints).refuted


def test_a_number_does_not_read_unused_columns_and_single_columns_add_up() -> None:
    X = table()
    model = DLNRegressor(
        unused_columns=["city"], interactions=[], effort="quick", n_trees=25, random_state=0
    ).fit(X, X["dose"] * X["age"])
    assert 2 not in model.circuit_.logic.used_columns
    effect = {
        dose: model.predict(X.assign(dose=dose)) - model.predict(X.assign(dose=0.0))
        for dose in (-1.0, 1.0)
    }
    for change in effect.values():  # the same in every row: the columns never interact
        np.testing.assert_allclose(change, change[0], atol=1e-9)


def test_the_constraints_of_a_number_are_parameters_again() -> None:
    X = table()
    given = {"monotone": {"age": "-"}, "forbidden_pairs": [("age", "dose")], "max_rules": 2}
    circuit = DLNRegressor(**given, random_state=0).fit(X, -X["age"]).circuit_
    assert circuit.constraints is not None
    parameters = circuit.constraints.to_parameters()
    assert parameters["monotone"] == {"age": "-"}
    again = DLNRegressor(**parameters, max_rules=2, random_state=0).fit(X, -X["age"])
    assert again.circuit_ == circuit


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"monotone": {"yes": {"age": "+"}}}, "expected a dict such as"),
        ({"monotone": {"city": "+"}}, "'city', which has categories and so no order"),
        ({"monotone": {"agee": "+"}}, "monotone names 'agee', which the table lacks"),
        ({"unused_columns": ["age", "dose", "city"]}, "unused_columns names every column"),
        ({"monotone": {"age": "+"}, "n_gates": 3}, "n_gates is 3, but monotone needs AND and OR"),
    ],
)
def test_constraints_of_a_number_that_cannot_be_satisfied(given: Any, message: str) -> None:
    X = table()
    with pytest.raises(OptionError, match=message):
        DLNRegressor(**given).fit(X, X["dose"])


def test_a_number_without_rules_asks_for_fewer_constraints() -> None:
    X = table().assign(one=1)
    model = DLNRegressor(unused_columns=["age", "dose", "city"], effort="quick", n_trees=10)
    with pytest.warns(DlnWarning, match="no rules.* try fewer constraints, and check that"):
        model.fit(X, X["dose"])
