"""The rules, tables and score cards of circuits that predict a number."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given

import dln
from dln.core.circuit import Circuit
from dln.core.gates import GATE_BY_NAME
from dln.core.parts import Node, Rule
from dln.core.score import Score
from dln.explain.effects import find_effects
from dln.explain.number_rules import NumberRuleTable, NumberScoreCard
from tests.explain.test_class_reasons import all_rows
from tests.support.strategies import as_objects, law, plain_votes, plain_wires, score_circuits

COLUMNS = (
    dln.Column("age", "integer"),
    dln.Column("smoker", "boolean"),
    dln.Column("hue", "category", ("red", "blue")),
)
LOGIC = dln.Logic(
    COLUMNS,
    (dln.Above(0, 54.0), dln.Above(1, 0.5), dln.Above(0, 30.0), dln.Among(2, (0,))),
    (Node(GATE_BY_NAME["AND"], 0, 1),),
)
SCORE = Score(
    (Rule(4, (32,)), Rule(0, (-15,)), Rule(2, (7,)), Rule(3, (7,))), (125,), 1, name="price"
)
PRICE = Circuit(logic=LOGIC, readout=SCORE)
ROWS = [[60, True, "red"], [20, False, "blue"], [40, True, "blue"]]


@law
@given(score_circuits())
def test_steps_of_features_and_joint_rules_add_up(circuit: Circuit) -> None:
    """The score card adds up to the points of every row that the circuit can distinguish."""
    atoms, rows = all_rows(circuit)
    effects = find_effects(circuit)
    places = {index: at for at, index in enumerate(circuit._search.variables.read)}
    wires = plain_wires(circuit, rows)
    expected = plain_votes(circuit, rows)[:, 0].tolist()
    for at, row in enumerate(atoms):
        total = circuit.number_readout.offset
        for effect in effects.alone:
            # The entry is found by the atoms of all literals of the column, as the search has them.
            total += effect.points[row[places[effect.column]]]
        for rule in effects.joint:
            total += circuit.rules[rule].votes[0] * int(wires[at, circuit.rules[rule].wire])
        assert total == expected[at]


@law
@given(score_circuits())
def test_every_format_is_written_for_every_circuit(circuit: Circuit) -> None:
    for found in (dln.rule_table(circuit), dln.score_card(circuit)):
        document = json.loads(found.to_json())
        assert document["offset"] == circuit.number_readout.offset
        assert "<script" not in found.to_html()
        assert found.to_markdown()
        assert str(found)
    table = dln.rule_table(circuit)
    assert isinstance(table, NumberRuleTable)
    for rule, (_, (points,)) in zip(table.rules, circuit.rules, strict=True):
        exact = Decimal(points).scaleb(-circuit.number_readout.digits)
        assert rule.adds == exact == Decimal(rule.to_dict()["adds"])


@law
@given(score_circuits())
def test_statistics_are_means_over_rows(circuit: Circuit) -> None:
    _, rows = all_rows(circuit)
    assume(circuit.columns)
    target = np.arange(len(rows)) * 1.5
    found = dln.rule_table(circuit, as_objects(circuit, rows), target)
    assert isinstance(found, NumberRuleTable)
    wires = plain_wires(circuit, rows)
    for rule, (wire, _) in zip(found.rules, circuit.rules, strict=True):
        fired, evidence = wires[:, wire], rule.evidence
        assert evidence is not None
        assert evidence.support == fired.sum()
        for mean, where in ((evidence.mean_target, fired), (evidence.mean_elsewhere, ~fired)):
            assert (mean is None) == (not where.any())
            if mean is not None:
                assert mean == pytest.approx(target[where].mean())


def test_a_table_with_statistics_reads_well() -> None:
    table = dln.rule_table(PRICE, ROWS, [16.0, 12.0, 13.0])
    assert str(table).splitlines()[:5] == [
        "price is 12.5 plus what the rules add.",
        "  +3.2  age > 54 and smoker",
        "      1 of 3 rows (33.3 %), mean price 16, elsewhere 12.5",
        "  -1.5  age > 54",
        "      1 of 3 rows (33.3 %), mean price 16, elsewhere 12.5",
    ]
    assert isinstance(table, NumberRuleTable)
    assert [str(rule) for rule in table.ranked[:2]] == [
        "adds 3.2 if age > 54 and smoker",
        "subtracts 1.5 if age > 54",
    ]
    assert "| +3.2 | age > 54 and smoker | 1 | 33.3 % | 15.6 | 16 | 12.5 |" in table.to_markdown()
    assert "mean where" not in dln.rule_table(PRICE, ROWS).to_markdown()
    assert '<td class="number">+3.2</td>' in PRICE._repr_html_()


def test_a_score_card_has_what_each_value_adds() -> None:
    card = dln.score_card(PRICE)
    assert isinstance(card, NumberScoreCard)
    assert str(card).splitlines() == [
        "Add up the start and what applies. The sum is price.",
        "  +12.5  start",
        "age:",
        "  +0  age <= 30",
        "  +0.7  30 < age <= 54",
        "  -0.8  age > 54",
        "hue:",
        "  +0  hue != red",
        "  +0.7  hue = red",
        "several features:",
        "  +3.2  age > 54 and smoker",
    ]


@pytest.mark.parametrize(
    ("link", "head", "line"),
    [
        ("log", "exp(1.25 plus what the rules add): 3.49034 times the fac", "  +0.32 (× 1.38)  "),
        ("logit", "1 / (1 + exp(-s)), where s is 1.25 plus", "  +0.32 (odds × 1.38)  "),
    ],
)
def test_a_link_shows_factors_beside_the_exact_decimals(link: Any, head: str, line: str) -> None:
    circuit = replace(PRICE, readout=replace(SCORE, digits=2, link=link))
    for text in (str(circuit), str(dln.rule_table(circuit))):
        first, second, *_ = text.splitlines()
        assert first.startswith(f"price is {head}")
        assert second == f"{line}age > 54 and smoker"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([1, 2], "the table has 3 rows, but the target has 2"),
        ([1, "x", 2], "the target holds 'x', expected numbers"),
        ([1.0, float("nan"), 2], "the target is missing in 1 of 3 rows"),
        ([1.0, 2.0, float("inf")], "the target of row 2 is inf; remove such rows"),
        ([[1, 2], [1, 2], [1, 2]], r"got an array of shape \(3, 2\) instead"),
        (np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), "the target holds dates such as"),
    ],
)
def test_a_wrong_target_is_refused(target: Any, message: str) -> None:
    with pytest.raises(dln.TableError, match=message):
        dln.rule_table(PRICE, ROWS, target)
