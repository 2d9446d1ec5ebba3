"""Every target answers every row like `Circuit`: class or number, votes, rules, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dln
from dln.errors import OptionError
from dln.exporters.export import TARGETS
from tests.support.export.nasty import Case, drawn_cases, fixed_cases, given_holds, number_cases
from tests.support.export.targets import TOOLS, Runner

REFUSALS = ("rename", "make them differ", "reads no column")

# Every target of `dln.export` is tested. A target without tools raises KeyError here.
RUNS = [
    pytest.param(target, runner, id=f"{target}-{runner.__name__.removeprefix('run_')}")
    for target in TARGETS
    for runner in TOOLS[target].runners
]


def fitting(target: str, cases: Sequence[Case]) -> list[Case]:
    """Leave out the circuits that a target refuses, and check the messages."""
    found, refused = [], []
    cases = [case for case in cases if len(case.circuit.nodes) <= TOOLS[target].most_gates]
    for case in cases:
        try:
            dln.export(case.circuit, to=target)
        except OptionError as error:
            refused.append(str(error))
        else:
            found.append(TOOLS[target].fit(case))
    assert all(any(words in error for words in REFUSALS) for error in refused), refused
    assert len(found) > 0.6 * len(cases)
    given_rules = sum(len(case.circuit.locked) for case in found)
    assert given_rules == sum(len(case.circuit.locked) for case in cases)
    return found


@pytest.mark.parametrize(("target", "runner"), RUNS)
def test_exported_code_answers_like_the_circuit(
    target: str, runner: Runner, tmp_path: Path
) -> None:
    chosen = fitting(target, (*fixed_cases(), *drawn_cases()[:: TOOLS[target].every]))
    for case, answers in zip(chosen, runner(chosen, tmp_path), strict=True):
        expected = case.answers()
        assert answers.fired == expected.fired, case.circuit
        assert_given_rules_fire(case, answers.fired)
        assert answers.votes == expected.votes, case.circuit
        assert answers.predicted == expected.predicted, case.circuit
        if answers.probabilities is not None and case.rows:
            # The first of two looked-up probabilities is 1 - p, rounded like a number near 1.
            least = 1e-15 if case.has_table else 1e-300
            assert_allclose(answers.probabilities, expected.probabilities, rtol=1e-12, atol=least)
        elif case.rows:
            assert target == "verilog" or case.circuit.calibration is None


def assert_given_rules_fire(case: Case, fired: Sequence[Sequence[int]]) -> None:
    """A given rule survives training and export."""
    for place in case.circuit.locked:
        assert [place in own for own in fired] == list(map(given_holds, case.rows))


LAST_PLACES = 4
"""Predictions with a link differ by at most so many units in the last place; the docs say so."""


@pytest.mark.parametrize(("target", "runner"), RUNS)
def test_exported_code_predicts_the_number_of_the_circuit(
    target: str, runner: Runner, tmp_path: Path
) -> None:
    chosen = fitting(target, number_cases()[:: TOOLS[target].every])
    for case, answers in zip(chosen, runner(chosen, tmp_path), strict=True):
        expected = case.answers()
        assert answers.fired == expected.fired, case.circuit
        assert_given_rules_fire(case, answers.fired)
        assert answers.votes == expected.votes, case.circuit
        if target == "verilog":
            continue  # it returns points only
        if case.circuit.number_readout.link == "identity":
            assert list(map(repr, answers.predicted)) == list(map(repr, expected.predicted))
        else:
            np.testing.assert_array_max_ulp(
                np.array(answers.predicted), np.array(expected.predicted), LAST_PLACES
            )
