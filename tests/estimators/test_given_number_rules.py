"""Given rules of a number survive training, budgets, saving, simplification and export."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import dln
from dln.core.circuit import Circuit
from dln.errors import DlnError, OptionError, RuleTextError
from dln.estimators.regressor import DLNRegressor
from dln.language.rules import read_number_rules
from dln.train.number_loss import NumberLoss
from tests.support.strategies import law, score_circuits

GIVEN = """
price is 1.23456 plus what the rules add.
  +2.125  age > 70 and city in {Bern, Chur}
  -3  dose is missing
"""
EXPECTED = [("age > 70 and city in {Bern, Chur}", Decimal("2.125")), ("dose is missing", -3)]
SMALL: dict[str, Any] = {"layers": (12, 6), "n_networks": 2, "epochs": 15}


def table(n_rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[float]]:
    """Draw rows of which the given rules say little."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "city": rng.choice(["Bern", "Chur", "Genf"], n_rows),
            "dose": np.where(rng.random(n_rows) < 0.1, np.nan, rng.random(n_rows)),
            "smoker": rng.random(n_rows) < 0.5,
        }
    )
    price = 10 + 3.0 * (rows["age"] > 54) + 2.0 * rows["smoker"] + rng.normal(0, 0.5, n_rows)
    return rows, price.rename("price")


X, Y = table()


def kept(circuit: Circuit) -> list[tuple[str, Decimal]]:
    """List the locked rules, as text with what they add."""
    score = circuit.number_readout
    texts = [row.text for row in dln.rule_table(circuit).rules]
    return sorted(
        (texts[place], score.decimal(circuit.rules[place].votes[0])) for place in circuit.locked
    )


# -- locked rules -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_rules": 4},
        {"max_columns": 3, "loss": "absolute"},
        SMALL,
        {**SMALL, "ensemble": "residuals"},
        {**SMALL, "n_trees": 10, "monotone": {"age": "+"}},
        {"effort": "quick", "loss": "gamma"},
        {"effort": "quick", "loss": "quantile", "quantile": (0.2, 0.8)},
    ],
    ids=lambda parameters: " ".join(f"{name}={each}" for name, each in parameters.items()),
)
def test_given_rules_survive_training(parameters: dict[str, Any], tmp_path: Path) -> None:
    text = GIVEN if parameters.get("loss") != "gamma" else GIVEN.split("\n", 2)[2]
    model = DLNRegressor(rules=text, random_state=0, **parameters).fit(X, Y)
    circuits = [*model.circuits_, *(point.circuit for point in model.path_ or ())]
    for circuit in circuits:
        assert kept(circuit) == EXPECTED
        circuit.save(tmp_path / "m.json")
        loaded = Circuit.load(tmp_path / "m.json")
        assert kept(loaded) == kept(dln.simplify(loaded)) == EXPECTED
    assert kept(dln.prune(loaded, X, Y, tolerance=0.1).circuit) == EXPECTED
    scope: dict[str, Any] = {}
    exec(dln.export(loaded, to="python").text, scope)
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    np.testing.assert_allclose([scope["predict"](row) for row in rows], loaded.predict(X))


def test_the_rest_is_learned_around_given_rules() -> None:
    model = DLNRegressor(rules=GIVEN, effort="quick", random_state=0).fit(X, Y)
    rows, target = table(1000, seed=1)
    plain = DLNRegressor(effort="quick", random_state=0).fit(X, Y)
    assert model.score(rows, target) > plain.score(rows, target) - 0.15
    # Predictions have the mean of the targets, as without given rules.
    assert model.predict(X).mean() == pytest.approx(Y.mean(), abs=0.01)
    again = clone(model).set_params(n_jobs=2).fit(X, Y)
    assert again.circuit_ == model.circuit_


@pytest.mark.parametrize("parameters", [{"max_rules": 4}, SMALL, {"effort": "quick"}])
def test_what_given_rules_say_is_not_learned_again(parameters: dict[str, Any]) -> None:
    """Rules that say all there is leave nothing to learn but noise."""
    rows, target = table(600)
    rule = "  +3  age > 54\n  +2  smoker"
    model = DLNRegressor(rules=rule, random_state=0, **parameters).fit(rows, target)
    columns = model.circuit_.columns
    said = Circuit.from_rules(f"y is 10 plus what the rules add.\n{rule}", columns=columns)
    assert model.validated_score_ > 0.9
    assert np.abs(model.predict(rows) - said.predict(rows)).mean() < 0.15


def test_an_engine_in_python_learns_around_given_rules() -> None:
    pytest.importorskip("torch")
    model = DLNRegressor(rules=GIVEN, engine="torch", random_state=0, **SMALL).fit(X, Y)
    assert kept(model.circuit_) == EXPECTED


@settings(parent=law, max_examples=5)
@given(
    rule=st.sampled_from(["age > 30", "smoker xor age > 60", "dose <= 0.3 or city = Genf"]),
    amount=st.sampled_from(["1", "-0.125", "0.00001", "1200"]),
    scale=st.sampled_from([1.0, 0.01, 1e3]),
)
def test_random_rules_are_kept_exactly(rule: str, amount: str, scale: float) -> None:
    rows, target = table(90, seed=1)
    adds = Decimal(amount)
    model = DLNRegressor(rules=f"  {adds:+f}  {rule}", max_rules=2, random_state=0)
    circuit = model.fit(rows, target * scale).circuit_
    (place,) = circuit.locked
    assert circuit.number_readout.decimal(circuit.rules[place].votes[0]) == adds
    alone = Circuit.from_rules(f"a:\n  +1  {rule}", columns=circuit.columns)
    fires = circuit.evaluate(rows).wires([circuit.rules[place].wire])[:, 0]
    np.testing.assert_array_equal(fires, alone.votes(rows)[:, 0] == 1)


@law
@given(score_circuits())
def test_every_printed_circuit_can_be_given(circuit: Circuit) -> None:
    """What a circuit prints is read as its rules, without the start of the sum."""
    score = circuit.number_readout
    read = read_number_rules(str(circuit), circuit.columns, score.link)
    whole = Circuit.from_rules(str(circuit), columns=circuit.columns)
    amounts = [
        sorted(each.number_readout.decimal(rule.votes[0]) for rule in each.rules)
        for each in (read, whole)
    ]
    assert amounts[0] == amounts[1]


@law
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(["squared", "absolute", "quantile", "poisson", "gamma"]),
)
def test_the_constant_beside_given_scores_is_the_best(seed: int, name: Any) -> None:
    rng = np.random.default_rng(seed)
    loss = NumberLoss(name, 0.3 if name == "quantile" else 0.5)
    target, before = rng.uniform(0.1, 3.0, 12), rng.normal(size=12)
    weight = rng.uniform(0.5, 2.0, 12).astype(np.float32)
    best = loss.constant(target, weight, before)
    least = loss.mean(before + best, target, weight)
    for step in (-0.01, 0.01):
        assert least <= loss.mean(before + best + step, target, weight) + 1e-12


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_rules": 1}, "max_rules is 1, but the given rules need 2"),
        ({"max_literals": 2}, "max_literals is 2, but the given rules need 3"),
        ({"max_columns": 2}, "max_columns is 2, but the given rules need 3"),
        ({"monotone": {"age": "-"}}, "rules breaks a constraint: "),
        ({"unused_columns": ["dose"]}, "rules breaks a constraint: "),
        ({"forbidden_pairs": [("age", "city")]}, "rules breaks a constraint: "),
        ({"monotone": {"agee": "-"}}, "monotone names 'agee', which the table lacks"),
        ({"loss": "gamma"}, "line 2, column 1: the rules have the link 'identity', but the loss"),
        ({"rules": "ill:\n  +1  smoker"}, "the rules vote for a class; expected rules of a number"),
        ({"rules": GIVEN + "ill:\n  +1  smoker"}, "a class among the rules of a number"),
        ({"rules": GIVEN + "y is 3 plus what the rules add."}, "states twice what the rules"),
        ({"rules": "  +1  smoker\ny is 3 plus what the rules add."}, "comes before the rules"),
        ({"rules": "  +1  smoker and agee > 3"}, "line 1, column 18: there is no column 'agee'"),
        ({"rules": "  1  smoker"}, "expected what the rule adds, such as +3.2 or -1"),
        ({"rules": "  +1  always"}, 'rules has the rule "always"'),
        ({"rules": "y is 3 plus what the rules add."}, "rules has no rule"),
        ({"rules": "  +1e-22  smoker"}, "expected what the rule adds"),
        (
            {"rules": "  +0.000000000001  smoker"},
            "the given rules do not suit the size",
        ),
        ({"rules": 3}, "rules is an int, expected text as dln rules prints it, or a Circuit"),
        (
            {"rules": Circuit.from_rules("a:\n  +1  x\nb:", columns=[dln.Column("x", "boolean")])},
            "the given rules are those of classes, but the rows have numbers",
        ),
    ],
)
def test_rules_that_cannot_be_kept_are_one_line(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DlnError) as caught:
        DLNRegressor(**{"rules": GIVEN, "effort": "quick", **parameters}).fit(X, Y)
    assert message in str(caught.value)
    # A mistake in a text is followed by its line and a mark below the place.
    lines = str(caught.value).count("\n") + 1
    assert lines == (3 if isinstance(caught.value, RuleTextError) else 1)


# -- refits -----------------------------------------------------------------------------------


def test_a_refit_keeps_locked_rules_and_demands() -> None:
    start = DLNRegressor(max_rules=3, random_state=0).fit(X, Y).circuit_
    editing = dln.edit(start).rename_target("cost").rename_column("age", "years")
    editing = editing.add("years > 70 and city in {Bern, Chur}", 2.125, locked=True)
    editing = editing.force("years > 80 and not smoker", at_least=14, why="tariff")
    rows, target = table(240, seed=1)
    rows = rows.rename(columns={"age": "years"})
    learner = DLNRegressor(max_rules=4, random_state=0)
    again = dln.refit(editing.circuit, rows, target, model=learner, who="A", why="new rows")
    assert ("years > 70 and city in {Bern, Chur}", Decimal("2.125")) in kept(again)
    assert again.number_readout.name == "cost"
    demanded = rows[(rows["years"] > 80) & ~rows["smoker"]]
    assert len(demanded)
    assert again.predict(demanded).min() >= 14
    assert again.edits[:-1] == editing.circuit.edits
    assert again.edits[-1].to_dict()["edit"] == "refit"
    # Edits go on from here, and the demand still holds.
    with pytest.raises(OptionError, match="would be broken"):
        dln.edit(again).add("years > 80 and not smoker", -99)


def test_a_refit_takes_numbers_of_rules_and_the_constraints() -> None:
    wanted = {"monotone": {"age": "+"}, "unused_columns": ["dose"]}
    start = DLNRegressor(random_state=0, max_rules=3, **wanted).fit(X, Y).circuit_
    adds = start.number_readout.decimal(start.rules[1].votes[0])
    again = dln.refit(start, X, Y, locked=[2], model=DLNRegressor(random_state=0, **SMALL))
    assert [own for _, own in kept(again)] == [adds]
    assert again.constraints == start.constraints
    assert dln.prove_constraints(again)
    assert dln.refit(start, X, Y, model=DLNRegressor(effort="quick")).task == "number"


def test_a_model_that_does_not_suit_a_refit_is_refused() -> None:
    text = "y is 1 plus what the rules add.\n  +2  age > 50"
    circuit = Circuit.from_rules(text, columns=[dln.Column("age", "integer")])
    with pytest.raises(OptionError, match="the circuit predicts a number; give a DLNRegressor"):
        dln.refit(circuit, X, Y, model=dln.DLNClassifier())
    with pytest.raises(OptionError, match=r"link 'identity', but loss='gamma' has 'log'"):
        dln.refit(circuit, X, Y, model=DLNRegressor(loss="gamma"))
    with pytest.raises(OptionError, match="there is no rule 9"):
        dln.refit(circuit, X, Y, locked=[9])
    classes = Circuit.from_rules("a:\n  +1  age > 3\nb:", columns=[dln.Column("age", "integer")])
    with pytest.raises(OptionError, match="the circuit predicts classes; give a DLNClassifier"):
        dln.refit(classes, X, Y, model=DLNRegressor())
