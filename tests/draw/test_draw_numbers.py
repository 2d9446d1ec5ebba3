"""Figures and diagrams of circuits that predict a number."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.parts import Rule
from dln.draw import (
    draw_circuit,
    draw_effect,
    draw_feature,
    draw_predictions,
    draw_residuals,
)
from tests.explain.test_number_rules import LOGIC, PRICE, ROWS, SCORE
from tests.support.strategies import law, score_circuits


@law
@given(score_circuits(), st.sampled_from(["gates", "rules"]))
def test_a_diagram_shows_what_each_rule_adds(circuit: Circuit, detail: str) -> None:
    graph = draw_circuit(circuit, detail=detail).graph  # type: ignore[arg-type]
    (number,) = [vertex for vertex in graph.vertices if vertex.kind == "class"]
    score = circuit.number_readout
    assert number.lines[1].startswith("starts at ")
    votes = [edge for edge in graph.edges if edge.kind == "vote"]
    if detail == "gates":
        assert sum(edge.votes for edge in votes) == sum(rule.votes[0] for rule in circuit.rules)
    for edge in votes:
        assert edge.text.replace("−", "-") == f"{score.decimal(edge.votes):+f}"


def test_the_steps_of_a_feature_are_those_of_the_score_card() -> None:
    figure = draw_effect(PRICE, "age")
    (ax,) = figure.axes
    values, edges, _ = ax.patches[0].get_data()  # type: ignore[attr-defined]
    assert values.tolist() == [0.0, 0.7, -0.8]
    assert edges[1:-1].tolist() == [30.0, 54.0]
    assert ax.get_xlabel() == "age\n1 rule that also reads other features: not shown"
    bars = draw_effect(PRICE, "hue").axes[0]
    assert [bar.get_height() for bar in bars.patches] == [0.0, 0.7]  # type: ignore[attr-defined]
    assert [text.get_text() for text in bars.get_xticklabels()] == ["hue != red", "hue = red"]
    assert "1 rule that also" in draw_effect(PRICE, "smoker").axes[0].get_xlabel()
    logs = replace(PRICE, readout=replace(SCORE, link="log"))
    assert draw_effect(logs, "age").axes[0].get_ylabel() == "added to log(price)"


def test_missing_values_have_a_line_of_their_own() -> None:
    logic = replace(LOGIC, literals=(*LOGIC.literals[:3], dln.Missing(0)))
    circuit = Circuit(logic=logic, readout=replace(SCORE, rules=(Rule(3, (4,)), Rule(0, (1,)))))
    texts = [text.get_text() for text in draw_effect(circuit, "age").axes[0].texts]
    assert texts == ["missing"]


@law
@given(score_circuits())
def test_every_effect_is_drawn(circuit: Circuit) -> None:
    for column in circuit.columns[:1]:
        assert draw_effect(circuit, column.name).axes[0].get_xlabel()


@pytest.mark.parametrize("feature", ["age", "smoker", "hue"])
def test_an_effect_is_rendered(feature: str) -> None:
    buffer = io.BytesIO()
    draw_effect(PRICE, feature).savefig(buffer, format="svg")
    assert b"added to price" in buffer.getvalue() or buffer.tell() > 1000


def test_predictions_and_residuals_are_the_points() -> None:
    target = [16.0, 12.0, 13.0]
    predicted = PRICE.predict(ROWS)
    figures = (draw_predictions(PRICE, ROWS, target), draw_residuals(PRICE, ROWS, target))
    for figure, heights in zip(figures, (target, target - predicted), strict=True):
        points = figure.axes[0].collections[0].get_offsets()
        np.testing.assert_allclose(points, np.column_stack([predicted, heights]))
    many = draw_predictions(PRICE, ROWS * 2000, target * 2000)
    assert "5,000 of 6,000 rows" in many.axes[0].get_xlabel()


def test_figures_of_the_other_task_are_refused() -> None:
    classifier = Circuit((dln.Column("a", "number"),), (), (), (), (0, 1), ("no", "yes"))
    for draw in (draw_predictions, draw_residuals):
        with pytest.raises(dln.TaskError, match="expected a circuit that predicts a number"):
            draw(classifier, [[1.0]], [1.0])
        with pytest.raises(dln.TableError, match="the table has 0 rows"):
            draw(PRICE, np.empty((0, 3)), [])
    with pytest.raises(dln.TaskError, match="expected a circuit that predicts a number"):
        draw_effect(classifier, "a")
    with pytest.raises(dln.OptionError, match="has no feature 'agee'; did you mean 'age'"):
        draw_effect(PRICE, "agee")
    with pytest.raises(dln.TaskError, match="predicts a number"):
        draw_feature(PRICE, ROWS, [1, 2, 3], "age")
