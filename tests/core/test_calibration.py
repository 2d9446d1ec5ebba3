"""Calibration: probabilities sum to 1, ascend with the lead, and survive files and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import Calibration, Circuit, CircuitError, Votes
from dln.core.calibration import leads_of
from dln.core.model_file import circuit_from_json, circuit_to_json
from dln.exporters.identity import circuit_id
from tests.support.strategies import calibrations, circuits

VOTES = st.lists(st.integers(-20, 20), min_size=2, max_size=5)


@given(votes=VOTES, data=st.data())
def test_probabilities_are_positive_and_sum_to_one(votes: list[int], data: st.DataObject) -> None:
    calibration = data.draw(calibrations(len(votes)).filter(bool))
    assert calibration is not None
    (found,) = calibration.probabilities(np.array([votes]))
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1.0)


@given(votes=VOTES, data=st.data())
def test_more_votes_never_lower_a_probability(votes: list[int], data: st.DataObject) -> None:
    calibration = data.draw(calibrations(len(votes)).filter(bool))
    assert calibration is not None
    number = data.draw(st.integers(0, len(votes) - 1))
    more = [vote + (place == number) for place, vote in enumerate(votes)]
    before, after = calibration.probabilities(np.array([votes, more]))
    assert after[number] >= before[number] - 1e-12


@given(votes=VOTES, data=st.data())
def test_a_shared_table_never_prefers_a_class_with_fewer_votes(
    votes: list[int], data: st.DataObject
) -> None:
    calibration = data.draw(calibrations(3).filter(lambda c: c and len(c.values) == 1))
    assert calibration is not None
    (found,) = calibration.probabilities(np.array([(votes * 2)[:3]]))
    assert found[int(np.argmax((votes * 2)[:3]))] == pytest.approx(found.max())


@given(votes=VOTES)
def test_a_lead_is_over_the_best_other_class(votes: list[int]) -> None:
    expected = [vote - max(votes[:place] + votes[place + 1 :]) for place, vote in enumerate(votes)]
    assert leads_of(np.array([votes])).tolist() == [expected]


@given(circuit=circuits())
def test_files_keep_calibrations_and_ids_depend_on_them(circuit: Circuit) -> None:
    assert circuit_from_json(circuit_to_json(circuit)).calibration == circuit.calibration
    if circuit.calibration is not None:
        plain = replace(circuit, calibration=None)
        assert plain != circuit
        assert circuit_id(plain) != circuit_id(circuit)


@pytest.mark.parametrize(
    ("leads", "values", "message"),
    [
        ((), ((),), "at least one lead"),
        ((0, 0), ((0.1, 0.2),), "do not ascend"),
        ((0.5,), ((0.1,),), "plain integers"),
        ((0,), (), "no table"),
        ((0, 1), ((0.1,),), "1 values for 2 leads"),
        ((0, 1), ((0.2, 0.1),), "descend"),
        ((0,), ((1.0,),), "between 0 and 1"),
        ((0,), ((0.0,),), "between 0 and 1"),
        ((0,), ((float("nan"),),), "between 0 and 1"),
    ],
)
def test_tables_that_mean_nothing_are_refused(leads: tuple, values: tuple, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(CircuitError, match=message):
        Calibration(leads, values)


def test_tables_must_fit_the_classes() -> None:
    one, two = Calibration((0,), ((0.5,),)), Calibration((0,), ((0.5,), (0.5,)))
    assert Votes((), (0, 0, 0), ("a", "b", "c"), calibration=one).calibration is one
    assert Votes((), (0,), ("a",), calibration=one).calibration is None  # it is certain
    for classes, calibration in ((("a", "b"), two), (("a", "b", "c"), two)):
        with pytest.raises(CircuitError, match="calibration"):
            Votes((), (0,) * len(classes), classes, calibration=calibration)
    with pytest.raises(CircuitError, match="expected a Calibration"):
        Votes((), (0, 0), ("a", "b"), calibration=(0, 1))  # type: ignore[arg-type]
