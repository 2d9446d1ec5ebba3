"""Given rules survive training, budgets, saving, simplification and export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import dln
from dln.core.circuit import Circuit
from dln.data.table import read_table
from dln.errors import DlnError, OptionError, RuleTextError
from dln.estimators.classifier import DLNClassifier
from dln.train.given import loss_with_base
from dln.train.problem import Problem
from dln.train.soft_votes import _fit_factors
from tests.support.strategies import law

CITIES = ["Bern", "Chur", "Genf"]
GIVEN = """
ill:
  +2  age > 70 and city in {Bern, Chur}
  -3  dose is missing
"""


def table(n_rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Draw rows of which the given rules say little."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "city": rng.choice(CITIES, n_rows),
            "dose": np.where(rng.random(n_rows) < 0.1, np.nan, rng.random(n_rows)),
            "smoker": rng.random(n_rows) < 0.5,
        }
    )
    ill = (rows["age"] > 54) ^ (rng.random(n_rows) < 0.05)
    return rows, np.where(ill, "ill", "well")


X, Y = table()


def kept(circuit: Circuit) -> list[tuple[str, tuple[int, ...]]]:
    """List the locked rules, as text with their votes."""
    texts = [row.text for row in dln.rule_table(circuit).rules]
    return sorted((texts[place], circuit.rules[place].votes) for place in circuit.locked)


TRAINED = Circuit.from_rules("ill:\n  +1  age > 3\nwell:", columns=[dln.Column("age", "integer")])
EXPECTED = [("age > 70 and city in {Bern, Chur}", (2, 0)), ("dose is missing", (-3, 0))]


@pytest.mark.parametrize("limits", [{"max_rules": 4}, {"max_literals": 5}, {"max_columns": 3}])
def test_given_rules_survive_training_within_a_budget(
    limits: dict[str, int], tmp_path: Path
) -> None:
    model = DLNClassifier(rules=GIVEN, random_state=0, **limits).fit(X, Y)
    circuit = model.circuit_
    assert kept(circuit) == EXPECTED
    size = dln.measure_size(circuit)
    for name, limit in limits.items():
        assert getattr(size, name.replace("max_", "n_")) <= limit
    assert model.score(X, Y) > 0.85
    for point in model.path_:
        assert kept(point.circuit) == EXPECTED
    circuit.save(tmp_path / "m.json")
    loaded = Circuit.load(tmp_path / "m.json")
    assert kept(loaded) == kept(dln.simplify(loaded)) == EXPECTED
    assert "Bern" in dln.export(loaded, to="python").text
    assert kept(dln.prune(loaded, X, Y, tolerance=0.1).circuit) == EXPECTED


def test_rules_that_say_nothing_new_leave_the_rest_to_be_learned() -> None:
    free = DLNClassifier(max_rules=3, random_state=0).fit(X, Y)
    bound = DLNClassifier(max_rules=5, rules=GIVEN, random_state=0).fit(X, Y)
    assert bound.score(X, Y) >= free.score(X, Y) - 0.06


def test_the_same_seed_gives_the_same_circuit_on_any_number_of_threads() -> None:
    model = DLNClassifier(rules=GIVEN, max_rules=4, random_state=3)
    first, second = (clone(model).set_params(n_jobs=n).fit(X, Y).circuit_ for n in (1, 2))
    assert first == second
    assert first.locked


@settings(parent=law, max_examples=4)
@given(
    rule=st.sampled_from(["age > 30", "smoker xor age > 60", "dose <= 0.3 or city = Genf"]),
    votes=st.sampled_from([1, 5, -2]),
    n_classes=st.integers(2, 3),
)
def test_random_rules_are_kept_with_any_number_of_classes(
    rule: str, votes: int, n_classes: int
) -> None:
    rows, target = table(90, seed=votes + 5)
    if n_classes == 3:
        target = np.where((rows["age"] < 30) & (target == "well"), "young", target)
    model = DLNClassifier(rules=f"ill:\n  {votes:+d}  {rule}", max_rules=2, random_state=0)
    circuit = model.fit(rows, target).circuit_
    (place,) = circuit.locked
    assert circuit.rules[place].votes == (votes, *(0,) * (n_classes - 1))
    alone = Circuit.from_rules(f"a:\n  +1  {rule}", columns=circuit.columns)
    fires = circuit.evaluate(rows).wires([circuit.rules[place].wire])[:, 0]
    np.testing.assert_array_equal(fires, alone.votes(rows)[:, 0] == 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_rules": 1}, "max_rules is 1, but the given rules need 2"),
        ({"max_literals": 2}, "max_literals is 2, but the given rules need 3"),
        ({"max_literals_per_rule": 1}, "max_literals_per_rule is 1, but the given rules need 2"),
        ({"max_columns": 2}, "max_columns is 2, but the given rules need 3"),
        (
            {"max_cost": 1.0, "column_costs": {"age": 2.0}},
            "max_cost is 1, but the given rules need",
        ),
        ({"ensemble": "boosting"}, 'needs votes of one worth; use "sum" or "bagging"'),
        ({"monotone": {"well": {"age": "+"}}}, "rules breaks a constraint: "),
        ({"unused_columns": ["dose"]}, "rules breaks a constraint: "),
        (
            {"soft_rules": "ill:\n  +1  smoker", "max_rules": 2},
            "max_rules is 2, but the given rules and one of the soft rules need 3",
        ),
        ({"init": TRAINED}, "leave out one of the two, or add the rules to init with dln.edit"),
        ({"soft_rules": 3}, "soft_rules is an int, expected text as dln rules prints it"),
        ({"soft_rules": "ill:\n  +1  always"}, 'soft_rules has the rule "always"'),
        ({"rules": "il:\n  +1  smoker"}, "there is no class 'il'; did you mean 'ill'?"),
        ({"rules": "ill:\n  +1  always"}, "what every row gets is learned, so leave the rule out"),
        ({"rules": "ill:"}, "rules has no rule"),
        ({"rules": 3}, "rules is an int, expected text as dln rules prints it, or a Circuit"),
    ],
)
def test_rules_that_cannot_be_kept_are_one_line(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DlnError) as caught:
        DLNClassifier(**{"rules": GIVEN, **parameters}).fit(X, Y)
    assert message in str(caught.value)
    # A mistake in a text is followed by its line and a mark below the place.
    lines = str(caught.value).count("\n") + 1
    assert lines == (3 if isinstance(caught.value, RuleTextError) else 1)


# -- networks and trees around given rules ----------------------------------------------------

SMALL: dict[str, Any] = {"layers": (12, 6), "n_networks": 2, "tau": 2.0, "epochs": 15}


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_networks_of_every_engine_learn_around_given_rules(engine: str, tmp_path: Path) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    model = DLNClassifier(rules=GIVEN, random_state=0, engine=engine, **SMALL).fit(X, Y)
    circuit = model.circuit_
    assert len(model.history_["loss"]) == 2
    assert kept(circuit) == EXPECTED
    assert model.score(X, Y) > 0.85
    circuit.save(tmp_path / "m.json")
    loaded = Circuit.load(tmp_path / "m.json")
    assert kept(loaded) == kept(dln.simplify(loaded)) == EXPECTED
    assert kept(dln.prune(loaded, X, Y, tolerance=0.05).circuit) == EXPECTED


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_are_grown_around_given_rules(n_classes: int) -> None:
    target = Y if n_classes == 2 else np.where(X["smoker"] & (Y == "well"), "smokes", Y)
    model = DLNClassifier(rules=GIVEN, random_state=0, n_trees=20, **SMALL).fit(X, target)
    more = (0,) * (n_classes - 2)
    assert kept(model.circuit_) == [(text, (*votes, *more)) for text, votes in EXPECTED]
    assert model.score(X, target) > 0.85
    again = clone(model).set_params(n_jobs=2).fit(X, target)
    assert again.circuit_ == model.circuit_


def test_what_given_rules_say_is_not_learned_again() -> None:
    """Training starts from the votes of the given rules, so that its first loss is lower."""
    rule = "ill:\n  +6  age > 54\nwell:\n  +6  age <= 54"
    model = DLNClassifier(rules=rule, random_state=0, **SMALL).fit(X, Y)
    plain = DLNClassifier(random_state=0, **SMALL).fit(X, Y)
    assert model.score(X, Y) >= np.mean((X["age"] > 54) == (Y == "ill")) - 0.01
    loss = [float(each.history_["loss"][0][0]) for each in (model, plain)]
    assert loss[0] < loss[1]


def test_the_unit_of_given_votes_is_kept_in_a_refit() -> None:
    start = DLNClassifier(random_state=0, **SMALL).fit(X, Y).circuit_
    editing = dln.edit(start).lock(1)
    again = dln.refit(editing.circuit, X, Y, model=DLNClassifier(effort="quick", random_state=0))
    assert kept(again) == kept(editing.circuit)
    assert again.temperature == pytest.approx(start.temperature)


# -- soft rules -------------------------------------------------------------------------------

_RIGHT = "yes:\n  +3  a > 0.3 and b > -0.2\n  +2  c > 0.5"
_WRONG = _RIGHT.replace("yes", "no")


def risk(n_rows: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Draw rows whose class mostly follows two rules."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(n_rows, 8)), columns=list("abcdefgh"))
    score = 1.5 * ((rows["a"] > 0.3) & (rows["b"] > -0.2)) + (rows["c"] > 0.5) - 1.0
    return rows, np.where(score + 0.5 * rng.logistic(size=n_rows) > 0, "yes", "no")


def test_soft_rules_that_are_right_help_on_few_rows() -> None:
    test_rows, truth = risk(3000, 99)
    scores: dict[str | None, list[float]] = {None: [], _RIGHT: []}
    for seed in range(3):
        rows, target = risk(30, seed)
        for rules, found in scores.items():
            model = DLNClassifier(soft_rules=rules, random_state=0, **SMALL).fit(rows, target)
            found.append(model.score(test_rows, truth))
    assert np.mean(scores[_RIGHT]) > np.mean(scores[None]) + 0.03


def test_soft_rules_that_are_wrong_are_unlearned() -> None:
    rows, target = risk(300, 1)
    model = DLNClassifier(soft_rules=_WRONG, random_state=0, **SMALL).fit(rows, target)
    plain = DLNClassifier(random_state=0, **SMALL).fit(rows, target)
    assert model.circuit_ == plain.circuit_


def test_each_soft_rule_is_learned_by_itself_beside_locked_rules() -> None:
    rows, target = risk(300, 1)
    mixed = "yes:\n  +3  a > 0.3 and b > -0.2\nno:\n  +2  c > 0.5"
    given = "yes:\n  +1  h > 2"
    model = DLNClassifier(rules=given, soft_rules=mixed, random_state=0, simplify=None, **SMALL)
    circuit = model.fit(rows, target).circuit_
    assert kept(circuit) == [("h > 2", (0, 1))]
    votes = {row.text: row.votes for row in dln.rule_table(circuit).rules}
    no, yes = votes["a > 0.3 and b > -0.2"]
    assert yes > no
    assert "c > 0.5" not in votes or votes["c > 0.5"][1] >= votes["c > 0.5"][0]


@law
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(2, 40), n_classes=st.integers(2, 4))
def test_soft_votes_maximise_the_posterior(seed: int, n_rows: int, n_classes: int) -> None:
    """No small change of a factor or a base has a larger posterior probability."""
    rng = np.random.default_rng(seed)
    fires = rng.integers(0, 2, (n_rows, 2)).astype(np.float64)
    stated = rng.integers(-2, 3, (2, n_classes)).astype(np.float64)
    target = rng.integers(0, n_classes, n_rows).astype(np.int32)
    weight = rng.uniform(0.5, 2.0, n_rows).astype(np.float32)
    before = rng.normal(size=(n_rows, n_classes))
    rows = read_table(np.zeros((n_rows, 1)))
    problem = Problem(rows, target, weight, tuple(range(n_classes)), given=before)
    found, _ = _fit_factors(fires, stated, problem, 0.5)

    def loss(factors: Any) -> float:
        points = fires @ (factors[:, None] * stated)
        spread = np.ptp(stated, axis=1)
        prior = 0.5 * float((spread**2 * (factors - 0.5) ** 2).sum())
        return n_rows * loss_with_base(points, problem) + prior

    assume(len(set(target.tolist())) == n_classes)
    least = loss(found)
    for place in range(2):
        for step in (-0.05, 0.05):
            moved = found.copy()
            moved[place] += step
            assert least <= loss(moved) + 1e-3


# -- circuits as rules, and refits ------------------------------------------------------------


def test_a_refit_keeps_locked_rules_and_demands() -> None:
    start = DLNClassifier(max_rules=3, random_state=0).fit(X, Y).circuit_
    editing = dln.edit(start).add("age > 70 and city in {Bern, Chur}", {"ill": 2}, locked=True)
    editing = editing.force("age > 80 and not smoker", never="ill", why="trial")
    model = DLNClassifier(max_rules=4, random_state=0)
    rows, target = table(240, seed=1)
    again = dln.refit(editing.circuit, rows, target, model=model, who="A", why="new rows")
    assert ("age > 70 and city in {Bern, Chur}", (2, 0)) in kept(again)
    forbidden = rows[(rows["age"] > 80) & ~rows["smoker"]]
    assert len(forbidden)
    assert "ill" not in again.predict(forbidden)
    assert again.edits[:-1] == editing.circuit.edits
    assert again.edits[-1].to_dict() == {
        "edit": "refit",
        "rows": 240,
        "who": "A",
        "why": "new rows",
    }
    # Edits go on from here, and the demand still holds.
    with pytest.raises(OptionError, match="would be broken"):
        dln.edit(again).add("age > 80 and not smoker", {"ill": 99})


def test_numbers_name_further_rules_to_keep() -> None:
    circuit = Circuit.from_rules(
        "ill:\n  +2  age > 60\n  +1  city = Lugano\nwell:",
        columns=[
            dln.Column("age", "integer"),
            dln.Column("city", "category", ("Bern", "Chur", "Genf", "Lugano")),
        ],
    )
    again = dln.refit(circuit, X, Y, locked=[2], model=DLNClassifier(max_rules=2, random_state=0))
    assert kept(again) == [("city = Lugano", (1, 0))]
    with pytest.raises(OptionError, match="there is no rule 9"):
        dln.refit(circuit, X, Y, locked=[9])
    with pytest.raises(OptionError, match="expected numbers of rules"):
        dln.refit(circuit, X, Y, locked=["2"])  # type: ignore[list-item]
    for other, message in (
        (replace(circuit, classes=("ill", "fine")), "for the classes 'ill', 'fine'"),  # type: ignore[call-arg]
        (dln.edit(circuit).rename_column("city", "town").circuit, "there is no column 'town'"),
    ):
        with pytest.raises(OptionError, match=message):
            DLNClassifier(rules=other).fit(X, Y)


@pytest.mark.parametrize("name", ["rules", "soft_rules"])
def test_a_typo_is_marked(name: str) -> None:
    with pytest.raises(RuleTextError) as caught:
        DLNClassifier(**{name: "ill:\n  +1  smoker and agee > 3"}).fit(X, Y)
    said, shown, mark = str(caught.value).split("\n")
    assert said.startswith("line 2, column 18: there is no column 'agee'; did you mean 'age'?")
    assert shown[mark.index("^") :] == "agee > 3"


def test_a_refit_keeps_the_constraints() -> None:
    wanted = {"monotone": {"ill": {"age": "+"}}, "unused_columns": ["smoker"], "max_rules": 3}
    model = DLNClassifier(random_state=0, **wanted).fit(X, Y)
    learner = DLNClassifier(random_state=0, **SMALL)
    again = dln.refit(dln.edit(model.circuit_).lock(1).circuit, X, Y, model=learner)
    assert again.constraints == model.circuit_.constraints
    assert dln.prove_constraints(again)


def test_a_demand_on_a_circuit_with_directions_is_proven() -> None:
    circuit = DLNClassifier(random_state=0, monotone={"ill": {"age": "+"}}, max_rules=3)
    edited = dln.edit(circuit.fit(X, Y).circuit_).force("age > 85", never="well")
    assert "well" not in edited.circuit.predict(X[X["age"] > 85])
    assert edited.circuit.constraints is not None
