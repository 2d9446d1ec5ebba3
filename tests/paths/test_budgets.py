"""Budgets are hard limits: every circuit of a path keeps them, counted as it is written."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dln import Circuit, DLNClassifier, OptionError, measure_size, rule_table
from dln.paths.budget import Budget
from tests.support.strategies import law, logic_circuits


def random_table(seed: int, n_rows: int = 60, n_classes: int = 2) -> tuple[pd.DataFrame, Any]:
    """Make a table of every kind of column, with missing values and noisy classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n_rows),
            "weight": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(70, 10, n_rows)),
            "smoker": rng.random(n_rows) < 0.4,
            "city": rng.choice(["Basel", "Bern", "Chur", "Genf", "Zug", "Zürich"], n_rows),
            "dose": rng.choice([1, 2, 3], n_rows),
        }
    )
    score = (X["age"] > 50).astype(int) + X["smoker"] + X["city"].isin(["Bern", "Chur"])
    y = (score + (rng.random(n_rows) < 0.15)) % n_classes
    y[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes  # every class has rows
    return X, y.map(lambda number: f"class {number}")


limits = st.fixed_dictionaries(
    {},
    optional={
        "max_rules": st.integers(1, 4),
        "max_literals": st.integers(1, 6),
        "max_literals_per_rule": st.integers(1, 3),
        "max_columns": st.integers(1, 3),
        "max_cost": st.sampled_from([0.0, 1.0, 2.5]),
    },
).filter(bool)
COSTS = {"age": 1.0, "weight": 2.0, "city": 0.5}


@settings(law, max_examples=12)
@given(limits=limits, seed=st.integers(0, 99), n_classes=st.sampled_from([2, 2, 3]))
def test_every_circuit_of_a_path_keeps_every_limit(
    limits: dict[str, Any], seed: int, n_classes: int
) -> None:
    X, y = random_table(seed, n_classes=n_classes)
    if "max_cost" in limits:
        limits = {**limits, "column_costs": COSTS}
    limits = {"max_literals": 6, **limits}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dln.estimators.classifier.warn_of_lost_classes", lambda *_: None)
        model = DLNClassifier(**limits, random_state=seed, n_jobs=1).fit(X, y)
    budget = Budget(**limits)
    assert model.path_ is not None
    for point in model.path_:
        assert budget.allows(point.size)
        assert_is_readable(point.circuit)
        assert_rules_differ(point.circuit, X, y)
        # What is kept is what is printed.
        texts = [rule.text for rule in rule_table(point.circuit).rules]
        assert sum(map(count_written, texts)) == point.size.n_literals
        assert len(texts) == point.size.n_rules
    assert model.circuit_ == model.path_.circuit
    sizes = [point.size.n_literals for point in model.path_]
    assert sizes == sorted(set(sizes))


def assert_is_readable(circuit: Circuit) -> None:
    assert all(node.gate.form.operation in ("and", "or", "copy") for node in circuit.nodes)
    assert len({rule.wire for rule in circuit.rules}) == len(circuit.rules)
    assert all(abs(vote) <= 9 for rule in circuit.rules for vote in rule.votes)


def assert_rules_differ(circuit: Circuit, X: pd.DataFrame, y: Any) -> None:
    """No rule fires for everybody or nobody, and no two rules say nearly the same."""
    weight = 1.0 / y.map(y.value_counts()).to_numpy()
    weight /= weight.sum()
    wires = circuit.readout.wires
    evaluation = circuit.evaluate(X, wires=wires)
    held = [evaluation.wire(wire) for wire in wires]
    for place, own in enumerate(held):
        assert 0.01 - 1e-6 <= weight @ own <= 0.99 + 1e-6
        for other in held[:place]:
            assert 0.025 - 1e-6 < weight @ (own == other) < 0.975 + 1e-6
    for rule in rule_table(circuit).rules:  # categories of one column are one set
        assert len(re.findall(r"city (?:=|!=|in|not in) ", rule.text)) <= 1


def count_written(text: str) -> int:
    """Count the tests in a text: one more than the words that join them."""
    return 1 + len(re.findall(r" (?:and|or) ", text))


@law
@given(circuit=logic_circuits())
def test_literals_are_counted_as_they_are_written(circuit: Circuit) -> None:
    table = rule_table(circuit)
    if table.parts or any("xor" in rule.text for rule in table.rules):
        return
    texts = [rule.text for rule in table.rules if rule.text not in ("always", "never")]
    assert measure_size(circuit).n_literals == sum(map(count_written, texts))


def test_the_seed_decides_alone() -> None:
    X, _ = random_table(3, n_rows=90)
    y = X["age"] + 10 * X["smoker"] > 55
    fits = [
        DLNClassifier(max_literals=4, random_state=1, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    ]
    assert fits[0].path_ == fits[1].path_


def test_a_budget_finds_the_rule_that_made_the_classes() -> None:
    X, _ = random_table(0, n_rows=200)
    y = (X["age"] > 50) & X["smoker"]
    circuit = DLNClassifier(max_rules=1, random_state=0).fit(X, y).circuit_
    assert_array_equal(circuit.predict(X), y)
    assert [rule.text for rule in rule_table(circuit).rules] in (
        ["smoker and age > 50"],
        ["age > 50 and smoker"],
    )


def test_a_set_of_categories_is_one_literal() -> None:
    X, _ = random_table(0, n_rows=200)
    y = X["city"].isin(["Bern", "Chur", "Zug"])
    model = DLNClassifier(max_literals=1, random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), y)
    assert model.path_ is not None
    assert model.path_[0].size.n_literals == 1


def test_a_column_that_costs_too_much_is_not_read() -> None:
    X, _ = random_table(0, n_rows=200)
    y = X["age"] > 50
    model = DLNClassifier(max_literals=3, column_costs={"age": 5}, max_cost=4, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dln.estimators.classifier.warn_of_lost_classes", lambda *_: None)
        circuit = model.fit(X, y).circuit_
    assert "age" not in measure_size(circuit).columns
    model.set_params(max_cost=5)
    assert measure_size(model.fit(X, y).circuit_).columns == ("age",)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_rules": 0}, "max_rules is 0, expected an integer from 1"),
        ({"max_literals": 0}, "max_literals is 0, expected an integer from 1"),
        ({"max_columns": -1}, "max_columns is -1, expected"),
        ({"max_literals_per_rule": 1.5}, "max_literals_per_rule is 1.5, expected an integer"),
        ({"max_cost": 3}, "max_cost is 3, but no column has a cost; give column_costs too"),
        ({"column_costs": {"age": 1}}, "column_costs is given without max_cost"),
        ({"column_costs": {"age": -1}, "max_cost": 1}, r"column_costs\['age'\] is -1, expected"),
        ({"column_costs": 3, "max_cost": 1}, "column_costs is 3, expected a dict"),
        ({"column_costs": {"agee": 1}, "max_cost": 1}, "names 'agee', which the table lacks"),
        (
            {"column_costs": dict.fromkeys(random_table(0)[0], 2), "max_cost": 1},
            "max_cost is 1, but the cheapest column, 'age', costs 2",
        ),
        ({"max_rules": 3, "layers": (8, 4)}, r"layers is \(8, 4\), but a fit with a budget"),
        ({"gates": "xor"}, "gates is 'xor', expected one of 'all', 'readable'"),
    ],
)
def test_impossible_budgets_are_refused_before_training(
    parameters: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("training started")

    monkeypatch.setattr("dln.estimators.classifier.fit_path", never)
    monkeypatch.setattr("dln.estimators.classifier.fit_circuit", never)
    with pytest.raises(OptionError, match=message):
        DLNClassifier(**parameters).fit(*random_table(0))
