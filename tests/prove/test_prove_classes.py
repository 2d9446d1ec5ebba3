"""Proofs that two circuits predict the same class on every row, and counterexamples."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dln.core.circuit import Circuit
from dln.core.literals import Above, Column
from dln.core.parts import Node, Rule
from dln.core.verdict import Counterexample, Proof
from dln.errors import OptionError
from dln.prove.clock import Clock, TimeIsUpError
from dln.prove.equal import prove_equal
from dln.prove.miter import build_miter
from dln.prove.question import ask
from tests.conftest import Run
from tests.support.provable import (
    AND,
    NUMBER,
    TRIES,
    alike_on_all_rows,
    by,
    changed,
    circuit_of,
    n_atom_rows,
    numbers,
    parity,
    rewritten,
    same_class_on_all_rows,
)
from tests.support.strategies import circuits, law, logic_circuits

SAME = "the same class on every possible row"


def check_counterexample(found: Any) -> None:
    assert isinstance(found, Counterexample)
    a, b = (votes.index(max(votes)) for votes in (found.votes_a, found.votes_b))
    assert a != b


@pytest.mark.parametrize("tries", TRIES)
@law
@given(data=st.data(), a=st.one_of(circuits(max_columns=3), logic_circuits()))
def test_a_proof_is_given_if_and_only_if_the_same_class_wins_everywhere(
    tries: str, data: st.DataObject, a: Circuit
) -> None:
    b = data.draw(changed(a))
    assume(n_atom_rows(a, b) < 5000)
    with by(tries):
        found = prove_equal(a, b, of="classes")
        assert prove_equal(a, b, of="classes") == found
    if same_class_on_all_rows(a, b):
        assert isinstance(found, Proof)
        assert found.claim == SAME
    else:
        check_counterexample(found)


@pytest.mark.parametrize("tries", TRIES)
@law
@given(data=st.data(), a=circuits(max_columns=3), factor=st.integers(2, 5))
def test_votes_that_are_multiplied_choose_the_same_class(
    tries: str, data: st.DataObject, a: Circuit, factor: int
) -> None:
    b = data.draw(rewritten(a))
    more = replace(
        b,
        base_votes=tuple(factor * vote for vote in b.base_votes),
        rules=tuple(Rule(r.wire, tuple(factor * vote for vote in r.votes)) for r in b.rules),
        temperature=factor * 0.7,
    )
    with by(tries):
        assert isinstance(prove_equal(a, more, of="classes"), Proof)


def test_a_larger_margin_of_the_same_winner_is_the_same_class() -> None:
    a, b = (circuit_of(NUMBER, [Above(0, 1.0)], votes={0: (0, votes)}) for votes in (1, 5))
    assert not alike_on_all_rows(a, b)
    assert not prove_equal(a, b)
    assert str(prove_equal(a, b, of="classes")).startswith(SAME)


def test_a_tie_goes_to_the_first_class() -> None:
    a = circuit_of(NUMBER, [Above(0, 1.0)], votes={0: (0, 1)}, base=(1, 0))
    never = circuit_of(NUMBER, [Above(0, 1.0)], votes={0: (0, 0)}, base=(1, 0))
    assert prove_equal(a, never, of="classes")
    often = circuit_of(NUMBER, [Above(0, 1.0)], votes={0: (0, 2)}, base=(1, 0))
    check_counterexample(prove_equal(a, often, of="classes"))


def test_large_circuits_are_decided() -> None:
    a, b = parity(40, range(40)), parity(40, range(39, -1, -1))
    b = replace(b, base_votes=(1, 1), temperature=3.0)
    assert prove_equal(a, b, of="classes") == Proof("SAT", 0.0, SAME)
    columns, literals = numbers(30)
    most = circuit_of(columns, literals, votes=dict.fromkeys(range(30), (0, 1)), base=(29, 0))
    never = circuit_of(columns, literals, votes={0: (0, 1)}, base=(29, 0))
    found = prove_equal(most, never, of="classes")
    check_counterexample(found)
    assert isinstance(found, Counterexample)
    assert found.votes_a == (29, 30)


def test_the_time_limit_is_respected_when_all_classes_are_compared() -> None:
    # Every class is compared with every other. With many classes this takes longer than the solver.
    a = circuit_of(NUMBER, [Above(0, 1.0)])
    miter = build_miter(a, circuit_of(NUMBER, [Above(0, 2.0)]))
    with pytest.raises(TimeIsUpError):
        next(ask(miter, "classes", Clock(0)).edges(miter.sums))


@pytest.mark.parametrize("of", ["votes", ["classes"]])
def test_an_unknown_aspect_is_refused(of: Any) -> None:
    a = circuit_of(NUMBER, [Above(0, 1.0)])
    with pytest.raises(OptionError, match=r'of is .*, expected "probabilities" or "classes"'):
        prove_equal(a, a, of=of)


def test_the_command_compares_classes_of_two_temperatures(run: Run, tmp_path: Path) -> None:
    a = circuit_of(NUMBER, [Above(0, 1.0)])
    a.save(tmp_path / "a.json")
    replace(a, temperature=2.0).save(tmp_path / "b.json")
    status, _, err = run("verify", tmp_path / "a.json", tmp_path / "b.json")
    assert status == 2
    assert "compare only their classes (--classes)" in err
    status, out, _ = run("verify", tmp_path / "a.json", tmp_path / "b.json", "--classes")
    assert status == 0
    assert out.startswith(SAME)


def test_values_of_a_row_differ_from_text_in_json(run: Run, tmp_path: Path) -> None:
    columns = (Column("day", "date"), Column("size", "number"))
    largest = float(np.finfo(np.float64).max)
    a = circuit_of(columns, [Above(0, 0.0), Above(1, largest)], (Node(AND, 0, 1),))
    a.save(tmp_path / "a.json")
    circuit_of(columns, [], (), {}).save(tmp_path / "b.json")
    out = run("verify", tmp_path / "a.json", tmp_path / "b.json", "--json")[1]
    row = json.loads(out)["row"]
    assert row["size"] == {"number": "inf"}
    assert list(row["day"]) == ["moment"]
