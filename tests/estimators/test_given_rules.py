"""Given rules survive training, budgets, saving, simplification and export."""

from __future__ import annotations

from dataclasses import replace
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
from dln.estimators.classifier import DLNClassifier
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
        ({"layers": (4,)}, "a fit with given rules trains no network; leave out layers or rules"),
        ({"rules": "il:\n  +1  smoker"}, "there is no class 'il'; did you mean 'ill'?"),
        ({"rules": "ill:\n  +1  smokr"}, "line 2, column 7: there is no column 'smokr'"),
        ({"rules": "ill:\n  +1  always"}, "these are learned, so leave the line out"),
        ({"rules": "ill:"}, "rules has no rule"),
        ({"rules": 3}, "rules is an int, expected text as dln rules prints it, or a Circuit"),
    ],
)
def test_rules_that_cannot_be_kept_are_one_line(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DlnError) as caught:
        DLNClassifier(**{"rules": GIVEN, **parameters}).fit(X, Y)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


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


def test_a_typo_is_marked() -> None:
    with pytest.raises(RuleTextError, match=r"\^agee > 3"):
        DLNClassifier(rules="ill:\n  +1  smoker and agee > 3").fit(X, Y)


def test_a_refit_keeps_the_constraints() -> None:
    wanted = {"monotone": {"ill": {"age": "+"}}, "unused_columns": ["smoker"], "max_rules": 3}
    model = DLNClassifier(random_state=0, **wanted).fit(X, Y)
    again = dln.refit(dln.edit(model.circuit_).lock(1).circuit, X, Y)
    assert again.constraints == model.circuit_.constraints
    assert dln.prove_constraints(again)


def test_a_demand_on_a_circuit_with_directions_is_proven() -> None:
    circuit = DLNClassifier(random_state=0, monotone={"ill": {"age": "+"}}, max_rules=3)
    edited = dln.edit(circuit.fit(X, Y).circuit_).force("age > 85", never="well")
    assert "well" not in edited.circuit.predict(X[X["age"] > 85])
    assert edited.circuit.constraints is not None
