"""The report's table of trends."""

from __future__ import annotations

import re
from unittest import mock

import pytest

from dln import Above, Among, Circuit, Column, ExtraMissingError, Rule
from dln.report import make_report
from tests.support.provable import circuit_of

AGE, HUE = Column("age", "integer"), Column("hue", "category", ("red", "blue"))


def section(circuit: Circuit) -> str:
    rows = [[30, "red"], [60, "blue"]]
    html = make_report(circuit, rows, list(circuit.classes[:2])).html
    return html.partition('<section id="trends"')[2].partition("</section>")[0]


def test_trends_are_told_of_columns_that_have_an_order() -> None:
    text = section(circuit_of([AGE, HUE], [Above(0, 50.0), Among(1, (0,))]))
    assert re.findall(r'<tr><th scope="row">(.*?)</th>', text) == ["age"]
    assert text.count("never loses</span>") == 0
    text = section(circuit_of([AGE, HUE], [Above(0, 50.0)]))
    assert text.count("never loses</span>") == 1


@pytest.mark.parametrize("n_classes", [4, 5])
def test_many_classes_have_signs_and_what_they_mean(n_classes: int) -> None:
    votes = tuple(range(n_classes))
    circuit = Circuit((AGE, HUE), (Above(0, 50.0),), (), (Rule(0, votes),), (0,) * n_classes, votes)
    text = section(circuit)
    assert text.count('aria-hidden="true"') == n_classes
    assert ("↕ gains and loses" in text) == (n_classes > 4)


def test_no_numbers_no_trends() -> None:
    assert "reads no column of numbers" in section(circuit_of([AGE, HUE], [Among(1, (0,))]))


def test_a_report_needs_no_solver() -> None:
    with mock.patch("dln.report.body.find_trends", side_effect=ExtraMissingError("x")):
        assert "pip install python-sat" in section(circuit_of([AGE, HUE], [Above(0, 50.0)]))
