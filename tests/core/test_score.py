"""The readout of circuits that predict a number."""

from __future__ import annotations

import pickle
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dln
from dln import _native
from dln.core.circuit import Circuit
from dln.core.labels import label_text
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.core.parts import MAX_VOTES, Rule
from dln.core.score import Score
from dln.evaluate.predictor import compile_circuit, native_arguments, numpy_evaluate
from dln.shrink.simplify.votes import cancel_votes
from tests.support.strategies import (
    FORMS,
    every_row,
    law,
    plain_number,
    plain_votes,
    rows_for,
    score_circuits,
    score_logic_circuits,
)

AGE = dln.Column("age", "integer")
SCORE = Score((Rule(0, (32,)),), (125,), digits=1, name="price")
PRICE = Circuit(logic=dln.Logic((AGE,), (dln.Above(0, 54.0),), ()), readout=SCORE)


@law
@given(data=st.data())
def test_a_number_is_the_exact_sum_rounded_once(data: st.DataObject) -> None:
    circuit = data.draw(score_circuits())
    assume(circuit.columns)  # a frame without columns has no rows
    rows = data.draw(rows_for(circuit))
    points = plain_votes(circuit, rows)
    expected = [plain_number(circuit.number_readout, int(total)) for (total,) in points]
    for form in FORMS.values():
        table = form(circuit, rows)
        assert circuit.votes(table).tolist() == points.tolist()
        # Exponentials of NumPy and of Python may differ in the last bits.
        tolerance = 0.0 if circuit.number_readout.link == "identity" else 1e-14
        np.testing.assert_allclose(circuit.predict(table), expected, rtol=tolerance, atol=0)
        assert circuit.evaluate(table).answers.tolist() == circuit.predict(table).tolist()


@law
@given(score_logic_circuits())
def test_native_code_and_numpy_add_up_the_same_points(circuit: Circuit) -> None:
    rows = every_row(circuit)
    assert compile_circuit(circuit).votes(rows, 1, len(rows)).tolist() == (
        plain_votes(circuit, rows.tolist()).tolist()
    )
    assert native_arguments(circuit)["rule_votes"].shape == (len(circuit.rules), 1)


@law
@given(data=st.data())
def test_every_level_writes_the_scores_of_numpy(data: st.DataObject) -> None:
    circuit = data.draw(score_logic_circuits())
    rows, score = every_row(circuit), circuit.number_readout
    expected = score.scores(plain_votes(circuit, rows.tolist()))
    for level in _native.levels():
        found = compile_circuit(circuit, level).scores(rows, *score.scale, n_rows=len(rows))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("level", _native.levels())
@pytest.mark.parametrize("most", [1, 99, 10**6])
@pytest.mark.parametrize("n_rules", [3, 400])
def test_scores_of_many_rows_do_not_depend_on_threads(level: str, most: int, n_rules: int) -> None:
    """Few rules or large points are added row by row, many small points bit by bit."""
    rng = np.random.default_rng(n_rules)
    logic = dln.Logic(
        (dln.Column("x", "number"), dln.Column("y", "number")),
        tuple(dln.Above(place % 2, place / 400) for place in range(400)),
        tuple(dln.Node(dln.GATES[14], place, place + 1) for place in range(399)),
    )
    points = rng.integers(-most, most + 1, n_rules).tolist()
    rules = tuple(Rule(799 - 1 - place, (more,)) for place, more in enumerate(points))
    circuit = Circuit(logic=logic, readout=Score(rules, (-5,), digits=3))
    program = compile_circuit(circuit, level)
    table = rng.random((140_001, 2), dtype=np.float32)
    scores = program.scores(table, 1.0, 1000.0)
    np.testing.assert_array_equal(program.scores(table, 1.0, 1000.0, n_threads=2), scores)
    np.testing.assert_array_equal(program.votes(table)[:, 0] / 1000, scores)
    some = table[:1000]
    expected = circuit.number_readout.scores(numpy_evaluate(circuit, some, len(some))[1])
    np.testing.assert_array_equal(scores[: len(some)], expected)


def test_scores_of_classes_are_refused() -> None:
    classifier = Circuit((), (), (), (), (0, 1), ("no", "yes"))
    with pytest.raises(ValueError, match="there are 2 classes; expected one number"):
        compile_circuit(classifier).scores([], 1.0, 1.0, n_rows=1)


@law
@given(score_circuits())
def test_a_saved_score_is_loaded_unchanged(circuit: Circuit) -> None:
    assert circuit_from_json(circuit_to_json(circuit)) == circuit
    assert pickle.loads(pickle.dumps(circuit)) == circuit


@law
@given(score_circuits())
def test_printed_decimals_are_the_points(circuit: Circuit) -> None:
    score = circuit.number_readout
    for points in (score.offset, *(rule.votes[0] for rule in score.rules)):
        printed = Decimal(f"{score.decimal(points):f}")
        assert printed * Decimal(10) ** score.digits == points
    assert str(circuit).startswith(f"{label_text(score.name)} is ")


@law
@given(score_logic_circuits())
def test_cancelled_points_add_up_to_the_same(circuit: Circuit) -> None:
    rows = every_row(circuit)
    smaller = cancel_votes(circuit)
    assert smaller.votes(rows).tolist() == circuit.votes(rows).tolist()
    assert len(smaller.rules) <= len(circuit.rules)


def test_a_score_prints_what_it_adds() -> None:
    assert str(PRICE) == "price is 12.5 plus what the rules add.\n  +3.2  age > 54"
    assert PRICE.predict([[60], [50]]).tolist() == [15.7, 12.5]
    assert repr(PRICE) == "<Circuit: 1 literals, 0 gates, 1 rules, predicts price>"
    assert PRICE.task == "number"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"digits": 23}, "digits is 23, expected an integer from -22 to 22"),
        ({"digits": 1.0}, "digits is 1.0, expected an integer"),
        ({"link": "sqrt"}, "link is 'sqrt', expected one of identity, log, logit"),
        ({"name": 3}, "the name of the prediction is 3, expected text"),
        ({"base_votes": (1, 2)}, r"base_votes has votes \(1, 2\), expected a tuple of 1"),
        ({"rules": (Rule(0, (0.5,)),)}, "rule 0 has the vote 0.5, expected a plain integer"),
        ({"rules": (Rule(0, (MAX_VOTES,)),)}, "the points may add up to 2147483772, at most"),
    ],
)
def test_a_wrong_score_is_refused(part: dict[str, Any], message: str) -> None:
    with pytest.raises(dln.CircuitError, match=message):
        replace(SCORE, **part)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"link": "identity"', '"link": "sqrt"', "the link 'sqrt' is none of identity, log, logit"),
        ('"points": 32', '"votes": [32]', "'votes' is none of wire, points"),
        ('"offset": 125', '"offset": 1.5', "1.5 is not an integer"),
        ('"offset": 125', '"classes": ["a"]', r"'classes' is none of format, .*, offset, digits"),
        ('"readout": "score"', '"readout": "sum"', '"readout" is .sum., expected "votes" or "scor'),
        ('"name": "price"', '"name": 7', "7 is not text"),
    ],
)
def test_a_damaged_file_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    PRICE.save(tmp_path / "price.json")
    text = (tmp_path / "price.json").read_text()
    assert old in text
    (tmp_path / "price.json").write_text(text.replace(old, new))
    with pytest.raises(dln.CircuitFileError, match=message):
        Circuit.load(tmp_path / "price.json")


def test_questions_about_classes_name_what_is_predicted() -> None:
    for ask in (
        lambda: PRICE.classes,
        lambda: PRICE.predict_proba([[1]]),
        lambda: PRICE.winners([[1]]),
        lambda: PRICE.evaluate([[1]]).probabilities,
    ):
        with pytest.raises(dln.TaskError, match=r"predicts a number \(price\) and has no classes"):
            ask()
    classifier = Circuit((), (), (), (), (0, 1), ("no", "yes"))
    with pytest.raises(dln.TaskError, match="predicts 2 classes; expected a circuit that predicts"):
        classifier.number_readout  # noqa: B018
