"""Proofs about circuits that predict a number, compared with all rows of small circuits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.parts import Rule
from dln.core.score import Score
from dln.prove.certify import independence_claim, range_claim
from dln.prove.claim import decide
from tests.prove.test_certificate import checker, made
from tests.support.strategies import every_row, law, score_logic_circuits

SMALL = score_logic_circuits(max_literals=4, max_gates=8)


def plain(circuit: Circuit) -> Circuit:
    """Return a circuit with the link "identity" and two digits."""
    return replace(circuit, readout=replace(circuit.number_readout, link="identity", digits=2))


@law
@given(SMALL, SMALL, st.sampled_from([0.0, 0.5, 1000.0]))
def test_two_circuits_are_equal_if_and_only_if_all_rows_agree(
    a: Circuit, b: Circuit, tolerance: float
) -> None:
    a, b = plain(a), plain(b)
    if len(a.columns) != len(b.columns):
        b = replace(a, readout=replace(b.number_readout, rules=a.rules, base_votes=a.base_votes))
    rows = every_row(a)
    apart = np.abs(a.votes(rows) - b.votes(rows)).max() > round(100 * tolerance)
    verdict = dln.prove_equal(a, b, tolerance=tolerance)
    assert bool(verdict) is not bool(apart)
    if isinstance(verdict, dln.Counterexample):
        cells = [[float(verdict.row.get(column.name) or 0) for column in a.columns]]
        assert verdict.numbers == (a.predict(cells)[0], b.predict(cells)[0])


@law
@given(SMALL, st.data())
def test_a_trend_is_proven_if_and_only_if_all_rows_follow_it(
    circuit: Circuit, data: st.DataObject
) -> None:
    if not circuit.columns:
        return
    number = data.draw(st.integers(0, len(circuit.columns) - 1))
    rows = every_row(circuit)
    low, high = rows[rows[:, number] == 0], rows[rows[:, number] == 1]
    rises = bool((circuit.votes(low) <= circuit.votes(high)).all())
    falls = bool((circuit.votes(low) >= circuit.votes(high)).all())
    name = circuit.columns[number].name
    assert bool(dln.prove_monotone(circuit, name)) is rises
    assert bool(dln.prove_monotone(circuit, name, direction="falling")) is falls


@law
@given(SMALL, st.data())
def test_a_range_is_proven_if_and_only_if_all_rows_are_in_it(
    circuit: Circuit, data: st.DataObject
) -> None:
    predictions = circuit.predict(every_row(circuit))
    finite = predictions[np.isfinite(predictions)].tolist() or [0.0]
    low = data.draw(st.one_of(st.none(), st.sampled_from(finite)))
    high = data.draw(
        st.one_of(st.none() if low is not None else st.nothing(), st.just(max(finite)))
    )
    claim = range_claim(circuit, None, low, high, {}, None)
    holds = (low is None or (predictions >= low).all()) and (
        high is None or (predictions <= high).all()
    )
    verdict = decide(claim, None)
    assert bool(verdict) is bool(holds)
    if verdict:
        model, certificate = made(circuit, claim)
        assert checker.check([model], certificate)
    else:
        assert isinstance(verdict, dln.Violation)
        assert isinstance(verdict.label, float)


@law
@given(SMALL, st.data(), st.sampled_from([0.0, 0.25]))
def test_independence_is_proven_if_and_only_if_all_pairs_agree(
    circuit: Circuit, data: st.DataObject, tolerance: float
) -> None:
    if not circuit.columns:
        return
    circuit = plain(circuit)
    number = data.draw(st.integers(0, len(circuit.columns) - 1))
    rows = every_row(circuit)
    low, high = rows[rows[:, number] == 0], rows[rows[:, number] == 1]
    gaps = np.abs(circuit.votes(low) - circuit.votes(high))
    missing = low.copy()
    missing[:, number] = np.nan
    for others in (low, high):
        gaps = np.maximum(gaps, np.abs(circuit.votes(missing) - circuit.votes(others)))
    claim = independence_claim(circuit, [circuit.columns[number].name], {}, None, tolerance)
    verdict = decide(claim, None)
    assert bool(verdict) is bool((gaps <= round(100 * tolerance)).all())
    if verdict:
        model, certificate = made(circuit, claim)
        assert checker.check([model], certificate)


AGE = dln.Column("age", "integer")
SCORE = Score((Rule(0, (32,)),), (125,), digits=1, name="price")
PRICE = Circuit(logic=dln.Logic((AGE,), (dln.Above(0, 54.0),), ()), readout=SCORE)


def test_results_are_written_as_numbers() -> None:
    dearer = replace(PRICE, readout=replace(SCORE, base_votes=(130,)))
    assert str(dln.prove_equal(PRICE, dearer)).startswith("not equal: 12.5 and 13 where age = ")
    assert str(dln.prove_equal(PRICE, dearer, tolerance=0.5)).startswith("within 0.5 of each other")
    assert str(dln.prove_monotone(PRICE, "age")).startswith("price never falls as age grows (prov")
    found = str(dln.prove_monotone(PRICE, "age", direction="falling"))
    assert "changes the prediction from 12.5 to 15.7" in found
    finer = replace(PRICE, readout=Score((Rule(0, (320,)),), (1250,), digits=2, name="price"))
    assert dln.prove_equal(PRICE, finer)
    assert dln.simplify(finer).proof is not None


def test_the_checker_writes_the_claim_itself() -> None:
    claim = range_claim(PRICE, None, 12.5, 15.7, {}, None)
    model, certificate = made(PRICE, claim)
    said = checker.check([model], certificate)
    assert said == '"price" is at least 125 and at most 157 (in units of 10**-1, link identity)'
    for wrong in ({"at_least": 126}, {"at_most": 156}, {"kind": "always"}):
        broken = {**certificate, "question": {**certificate["question"], **wrong}}
        with pytest.raises(checker.Refused):
            checker.check([model], json.loads(json.dumps(broken)))


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: dln.prove_range(PRICE), dln.OptionError, "give at_least or at_most"),
        (lambda: dln.prove_range(PRICE, "dear"), dln.OptionError, "has no class 'dear'; leave out"),
        (lambda: dln.prove_range(PRICE, at_least=np.nan), dln.OptionError, "expected a finite num"),
        (lambda: dln.prove_monotone(PRICE, "age", "dear"), dln.OptionError, "has no class 'dear'"),
        (lambda: dln.prove_equal(PRICE, PRICE, tolerance=-1), dln.OptionError, "at least 0"),
        (
            lambda: dln.prove_equal(PRICE, Circuit((AGE,), (), (), (), (0, 1), ("no", "yes"))),
            dln.CircuitError,
            "one circuit predicts classes, the other a number",
        ),
        (
            lambda: dln.prove_equal(PRICE, replace(PRICE, readout=replace(SCORE, link="log"))),
            dln.CircuitError,
            "the links 'identity' and 'log'",
        ),
        (
            lambda: dln.prove_independent(
                replace(PRICE, readout=replace(SCORE, link="log")), ["age"], tolerance=1
            ),
            dln.OptionError,
            "a tolerance needs predictions that are sums",
        ),
        (lambda: dln.prove_rule(PRICE, "dear"), dln.TaskError, "predicts a number"),
    ],
)
def test_a_wrong_question_is_one_line(ask: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()
