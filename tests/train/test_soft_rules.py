"""Soft rules change their conditions where the rows say so, and only there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dln
from dln.core.builder import LogicBuilder
from dln.core.circuit import Circuit
from dln.core.constraints import read_constraints
from dln.core.gates import GATES
from dln.core.obedience import find_breach, find_reach
from dln.core.parts import Rule
from dln.core.score import Score
from dln.data.table import read_table
from dln.estimators.given import read_given, read_given_numbers
from dln.train.number_loss import NumberLoss
from dln.train.problem import NumberProblem, Problem
from dln.train.soft_amounts import _SoftAmounts, learn_soft_amounts
from dln.train.soft_conditions import (
    _changes,
    _Condition,
    _Costs,
    adapt_conditions,
    candidates_for,
    fires_of,
    similar_gates,
)
from dln.train.soft_votes import _SoftVotes, learn_soft_votes
from dln.train.standard import Standard
from tests.support.strategies import law

TRUTH = "age > 54 and smoker"


def frame(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Draw patients, and whether the true rule applies to them."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "city": rng.choice(["Bern", "Chur", "Genf"], n_rows),
            "dose": np.where(rng.random(n_rows) < 0.1, np.nan, rng.random(n_rows)),
            "smoker": rng.random(n_rows) < 0.5,
        }
    )
    return rows, (rows["age"] > 54) & rows["smoker"]


def classes(n_rows: int, seed: int = 0) -> Problem:
    rows, holds = frame(n_rows, seed)
    ill = np.random.default_rng(seed + 1).random(n_rows) < np.where(holds, 0.9, 0.15)
    weight = np.ones(n_rows, dtype=np.float32)
    return Problem(read_table(rows), ill.astype(np.int32), weight, ("well", "ill"))


def numbers(n_rows: int, seed: int = 0) -> NumberProblem:
    rows, holds = frame(n_rows, seed)
    noise = np.random.default_rng(seed + 1).normal(0, 1, n_rows)
    weight = np.ones(n_rows, dtype=np.float32)
    return NumberProblem(read_table(rows), np.asarray(10 + 3.0 * holds + noise), weight)


def learned_texts(task: str, rule: str, n_rows: int) -> list[str]:
    """Learn one soft rule; return the rules that are left, as text."""
    if task == "classes":
        problem = classes(n_rows)
        soft = read_given(f"ill:\n  +2  {rule}", problem)
        assert soft is not None
        return [row.text for row in dln.rule_table(learn_soft_votes(soft, problem, 0.02)).rules]
    counts = numbers(n_rows)
    soft = read_given_numbers(f"  +2  {rule}", counts, "identity")
    assert soft is not None
    learned = learn_soft_amounts(soft, counts, NumberLoss("squared"))
    return [row.text for row in dln.rule_table(learned).rules]


@pytest.mark.parametrize("task", ["classes", "number"])
@pytest.mark.parametrize(
    ("rule", "n_rows", "expected"),
    [
        ("age > 70 and smoker", 2000, r"age > 5[345] and smoker"),
        ("age > 54 or smoker", 300, TRUTH),
        ("age > 54 and smoker and city in {Bern, Chur}", 300, TRUTH),
        (TRUTH, 300, TRUTH),
    ],
)
def test_conditions_move_to_what_the_rows_say(
    task: str, rule: str, n_rows: int, expected: str
) -> None:
    (text,) = learned_texts(task, rule, n_rows)
    assert re.fullmatch(expected, text)


@pytest.mark.parametrize("task", ["classes", "number"])
def test_few_rows_do_not_change_a_condition(task: str) -> None:
    assert learned_texts(task, "age > 62 and smoker", 12) == ["age > 62 and smoker"]


def test_similar_gates_move_in_the_same_directions() -> None:
    def directions(gate: dln.Gate) -> set[tuple[str, int]]:
        pairs = [("a", (0, 0), (1, 0)), ("a", (0, 1), (1, 1))]
        pairs += [("b", (0, 0), (0, 1)), ("b", (1, 0), (1, 1))]
        steps = ((name, gate.hard(*high) - gate.hard(*low)) for name, low, high in pairs)
        return {(name, step) for name, step in steps if step}

    for gate in GATES:
        for other in similar_gates(gate):
            assert directions(other)
            assert directions(other) <= directions(gate)
            assert any(
                other.hard(a, b) == gate.hard(a, b) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))
            )
    assert similar_gates(dln.GATE_BY_NAME["TRUE"]) == ()


RULES = st.sampled_from(
    [
        "age > 40",
        "age <= 60 or smoker",
        "smoker xor age > 60",
        "dose <= 0.3 or city = Genf",
        "not (city in {Bern, Chur} and dose > 0.5) and age > 30",
        "dose is missing or age > 71",
    ]
)


@settings(parent=law, max_examples=12)
@given(rules=st.lists(RULES, min_size=1, max_size=3, unique=True), seed=st.integers(0, 999))
def test_a_change_lowers_the_cost_and_keeps_directions(rules: list[str], seed: int) -> None:
    """The cost is that of a fresh fit, and no rule reads or does what it did not before."""
    problem, counts = classes(150, seed), numbers(150, seed)
    lines = "".join(f"  +1  {rule}\n" for rule in rules)
    voting, adding = (
        read_given("ill:\n" + lines, problem),
        read_given_numbers(lines, counts, "identity"),
    )
    assert voting is not None
    assert adding is not None
    assume(len(voting.rules) == len(rules))
    loss = NumberLoss("squared")
    for circuit, rows, table in (
        (voting, _SoftVotes.of(voting, problem), problem.table),
        (adding, _SoftAmounts.of(adding, counts, loss, Standard.of(counts, loss)), counts.table),
    ):
        own = problem if circuit is voting else counts
        found = adapt_conditions(circuit, table, candidates_for(circuit, own), rows)
        costs = [rows.fit(fires_of(each, table)).cost for each in (circuit, found)]
        assert found == circuit or costs[1] < costs[0] - 3.0
        before, after = find_reach(circuit.logic), find_reach(found.logic)
        for old, new in zip(circuit.rules, found.rules, strict=True):
            assert old.votes == new.votes
            for x, y in zip(before[old.wire], after[new.wire], strict=True):
                assert y & ~x == 0


@settings(parent=law, max_examples=8)
@given(rules=st.lists(RULES, min_size=1, max_size=2, unique=True), seed=st.integers(0, 999))
def test_the_estimate_of_a_change_is_a_bound_of_its_cost(rules: list[str], seed: int) -> None:
    """It is the cost with factors to choose from, so a fit of all factors is not worse."""
    problem = numbers(120, seed)
    circuit = read_given_numbers("".join(f"  +1  {x}\n" for x in rules), problem, "identity")
    assert circuit is not None
    assume(len(circuit.rules) == len(rules))
    loss = NumberLoss("squared")
    rows = _SoftAmounts.of(circuit, problem, loss, Standard.of(problem, loss))
    tests = candidates_for(circuit, problem)
    conditions = [_Condition.of(circuit, rule.wire, problem.table) for rule in circuit.rules]
    best = rows.fit(fires_of(circuit, problem.table))
    costs = _Costs.of(conditions[0], 0, best, rows)
    bits = tests.evaluate(problem.table)
    for change in _changes(conditions[0], tests, bits, costs):
        other = conditions[0].with_change(change)
        builder = LogicBuilder(circuit.columns)
        signal = builder.copy(other.logic)[other.wire]
        if signal.part is not None:  # the changed condition is what its bits say
            logic, wires = builder.build([signal])
            alone = Circuit(logic=logic, readout=Score((Rule(wires[signal], (1,)),), (0,)))
            np.testing.assert_array_equal(other.fires, fires_of(alone, problem.table)[:, 0])
        fires = np.column_stack([own.fires for own in (other, *conditions[1:])])
        assert rows.fit(fires).cost <= change.cost + 1e-6


def test_soft_rules_keep_constraints_in_a_fit() -> None:
    rows, holds = frame(400)
    y = np.where(holds, 3.0, 0.0) + rows["age"] % 7
    model = dln.DLNRegressor(
        soft_rules="  +1  age > 70 or smoker",
        monotone={"age": "+"},
        effort="quick",
        random_state=0,
    ).fit(rows, y)
    circuit = model.circuit_
    assert circuit.locked == ()
    assert dln.prove_constraints(circuit)
    wanted = read_constraints((None,), monotone={"age": "+"})
    assert find_breach(wanted, circuit.logic, circuit.rules, (None,)) is None


@pytest.mark.parametrize("loss", ["squared", "absolute", "quantile", "poisson", "gamma"])
def test_amounts_that_the_rows_contradict_are_dropped(loss: Any) -> None:
    problem = numbers(400)
    soft = read_given_numbers("  -0.5  smoker\n  +0.01  age > 54", problem, NumberLoss(loss).link)
    assert soft is not None
    learned = learn_soft_amounts(soft, problem, NumberLoss(loss))
    adds = {
        row.text: learned.number_readout.decimal(rule.votes[0])
        for row, rule in zip(dln.rule_table(learned).rules, learned.rules, strict=True)
    }
    assert not any("smoker" in text for text in adds)
    assert all(amount > 0 for amount in adds.values())


# -- soft rules and budgets -------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classes", "number"])
def test_soft_rules_count_in_a_budget(task: str) -> None:
    rows, holds = frame(400)
    noise = np.random.default_rng(3).random(400)
    rules = "  +2  age > 65 and smoker\n  +1  dose > 0.5\n"
    model: dln.DLNClassifier | dln.DLNRegressor
    if task == "classes":
        target: Any = np.where(noise < np.where(holds, 0.9, 0.1), "ill", "well")
        model = dln.DLNClassifier(soft_rules="ill:\n" + rules, max_rules=2, random_state=0)
    else:
        target = 3.0 * holds + noise
        model = dln.DLNRegressor(soft_rules=rules, max_rules=2, random_state=0)
    circuit = model.fit(rows, target).circuit_
    assert dln.measure_size(circuit).n_rules <= 2
    assert circuit.locked == ()
    assert any(row.text.endswith("and smoker") for row in dln.rule_table(circuit).rules)
    message = "max_literals_per_rule is 1, but one of the soft rules needs 2"
    with pytest.raises(dln.errors.OptionError, match=message):
        model.set_params(max_literals_per_rule=1).fit(rows, target)


def test_soft_rules_beside_locked_ones_within_a_budget() -> None:
    rows, holds = frame(400)
    target = 3.0 * holds + np.random.default_rng(3).random(400)
    model = dln.DLNRegressor(
        rules="  +0.5  city = Chur",
        soft_rules="  +2  age > 65 and smoker\n  +2  dose > 0.5\n",
        max_literals=3,
        random_state=0,
    )
    circuit = model.fit(rows, target).circuit_
    texts = {row.text for row in dln.rule_table(circuit).rules}
    assert [dln.rule_table(circuit).rules[place].text for place in circuit.locked] == [
        "city = Chur"
    ]
    assert any(text.endswith("and smoker") for text in texts)
    assert dln.measure_size(circuit).n_literals == 3
