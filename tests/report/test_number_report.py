"""The report of a circuit that predicts a number: its page computes what Python does."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dln
from dln.core.circuit import Circuit
from dln.core.score import Score
from dln.explain.number_explanation import NumberExplanation
from dln.report import make_report
from tests.explain.test_number_rules import PRICE, SCORE
from tests.report.test_report import HOSTILE, mixed_circuit, mixed_rows
from tests.support.browser import Tab, open_tab
from tests.support.strategies import as_objects, rows_for, score_circuits

ANSWERS = """([way, wanted]) => testRows.map((row) => {
  load(row.cells);
  const now = circuit.answer(row.votes[0]);
  const inside = way === "least" ? (value) => value >= wanted : (value) => value <= wanted;
  const ranged = new RangeCircuit(circuit.model, page.gates, inside);
  const [change] = inside(now) ? [] : nearestChanges(ranged, features, currentRow());
  return {
    number: row.number, points: row.votes[0], now: String(now),
    shown: find("prediction").textContent,
    change: change && [change.feature.name, change.condition, change.crossed],
  };
})"""
"""Load every test row into the form; return what the page shows, and the change to a limit."""


def check_answers(
    circuit: Circuit, X: Any, rows: list[Any], answers: list[dict[str, Any]], at_least: float
) -> None:
    points, numbers = circuit.votes(X)[:, 0].tolist(), circuit.predict(X).tolist()
    for answer in answers:
        row = answer["number"] - 1
        assert answer["points"] == points[row]
        now = float(answer["now"].replace("Infinity", "inf"))
        assert now == pytest.approx(numbers[row], rel=1e-13)
        if circuit.number_readout.link == "identity":
            assert now == numbers[row]
        if numbers[row] < at_least:
            found = circuit.explain(rows[row], at_least=at_least)
            assert isinstance(found, NumberExplanation)
            change = found.change
            expected = change and [change.feature, change.condition, change.n_crossed]
            assert answer["change"] == expected


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),  # shrinking takes minutes in a browser
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), circuit=score_circuits())
def test_page_answers_like_python_for_random_circuits(
    tab: Tab, tmp_path: Path, data: st.DataObject, circuit: Circuit
) -> None:
    if circuit.number_readout.link != "identity":  # an exponential may differ in its last bit
        circuit = replace(circuit, readout=replace(circuit.number_readout, digits=6))
    rows = data.draw(rows_for(circuit, max_rows=12).filter(bool))
    X = as_objects(circuit, rows)
    report = make_report(circuit, X, np.arange(len(rows)) / 4)
    page = tab.open(report.html, tmp_path / "report.html")
    goal = float(np.median(circuit.predict(X)) * 1.0001 + 1e-9)
    check_answers(circuit, X, rows, page.evaluate(ANSWERS, ["least", goal]), goal)
    assert tab.complaints == []


def test_page_answers_like_python_for_every_kind_of_value(tab: Tab, tmp_path: Path) -> None:
    logic, frame = mixed_circuit().logic, mixed_rows(300)
    points = (12, -7, 30, 4, 9, -25)
    rules = tuple(
        dln.Rule(rule.wire, (value,))
        for rule, value in zip(mixed_circuit().rules, points, strict=True)
    )
    circuit = Circuit(logic=logic, readout=Score(rules, (105,), 1, name="height"))
    target = circuit.predict(frame) + np.random.default_rng(0).normal(0, 1, 300)
    page = tab.open(make_report(circuit, frame, target).html, tmp_path / "report.html")
    rows = [frame.iloc[[row]] for row in range(300)]
    answers = page.evaluate(ANSWERS, ["least", 12.0])
    assert len(answers) == 300
    check_answers(circuit, frame, rows, answers, 12.0)
    assert [answer["shown"] for answer in answers] == [
        f"{number:.10g}".replace("-", "−")
        for number in circuit.predict(frame)[[answer["number"] - 1 for answer in answers]]
    ]
    assert tab.complaints == []
    assert tab.requests == [(tmp_path / "report.html").as_uri()]


def sample(n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.empty((n, 3), dtype=object)
    X[:, 0], X[:, 1] = rng.integers(20, 80, n).tolist(), (rng.random(n) < 0.5).tolist()
    X[:, 2] = rng.choice(["red", "blue"], n)
    return X, PRICE.predict(X) + rng.normal(0, 1, n)


def test_the_figures_are_those_of_the_tally(tab: Tab, tmp_path: Path) -> None:
    X, y = sample()
    page = tab.open(make_report(PRICE, X, y).html, tmp_path / "report.html")
    cards = page.locator(".card b").all_inner_texts()
    tally = dln.evaluate.number_scores.tally_numbers(y, PRICE.predict(X))
    assert tally.r2 is not None
    figures = [f"{tally.r2.value:.3f}", f"{tally.mae.value:.3g}", f"{tally.rmse.value:.3g}"]
    assert cards == [*figures, "4 rules"]
    assert page.locator("#agreement circle").count() == 60
    groups = page.locator(".deciles tbody tr")
    assert (
        sum(int(groups.nth(i).locator("td").first.inner_text()) for i in range(groups.count()))
        == 60
    )
    counts = page.evaluate("() => page.errors.residuals.counts")
    assert sum(counts) == 60
    assert page.locator("#rules-list tr[data-rule]").count() == 4


def test_a_goal_is_typed_and_a_change_applied(tab: Tab, tmp_path: Path) -> None:
    X, y = sample()
    page = tab.open(make_report(PRICE, X, y).html, tmp_path / "report.html")
    page.evaluate("() => load([60, 1, 1])")
    assert page.locator("#prediction").inner_text() == "14.9"
    assert page.locator("#sum").inner_text() == "12.5 + 2.4"
    page.locator("#goal-way").select_option("most")
    page.locator("#goal").fill("13")
    lines = page.locator("#changes li").all_inner_texts()
    assert [line.removesuffix(" Apply") for line in lines] == [
        "not smoker: 11.7",
        "age <= 30, for example 30: 12.5",
    ]
    page.locator("#changes button").first.press("Enter")
    assert page.locator("#prediction").inner_text() == "11.7"
    assert page.locator("#changes li").inner_text() == "The prediction is at most 13 already."
    page.locator("#goal").fill("x")
    assert page.locator("#changes li").inner_text() == "Enter a number to reach."
    page.locator("#goal").fill("1")
    assert "No change of a single feature gives at most 1" in page.locator("#changes").inner_text()
    assert tab.complaints == []


@pytest.mark.parametrize("link", ["log", "logit"])
def test_factors_are_shown_with_a_link(tab: Tab, tmp_path: Path, link: Any) -> None:
    circuit = replace(PRICE, readout=replace(SCORE, digits=2, link=link))
    X, _ = sample()
    y = circuit.predict(X)
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    page.evaluate("() => load([60, 1, 1])")
    odds = "odds " if link == "logit" else ""
    chips = page.locator("#fired .chip").all_inner_texts()
    assert chips[1] == f"+0.32 ({odds}× 1.38)"
    assert tab.complaints == []


def test_without_rows_no_value_of_a_row_is_in_the_file(tab: Tab, tmp_path: Path) -> None:
    X, y = sample()
    y = np.round(y, 4) + 0.00017
    html = make_report(PRICE, X, y, rows=False).html
    for number in y:
        assert f"{number:.5f}" not in html
        assert f"{number:.5g}" not in re.sub(r'"features".*', "", html)
    page = tab.open(html, tmp_path / "report.html")
    assert page.locator("#agreement circle").count() == page.locator(".deciles tbody tr").count()
    assert page.locator("#prediction").inner_text()
    assert tab.complaints == []
    content = json.loads(
        page.locator("#page").inner_text() or page.evaluate("find('page').textContent")
    )
    assert content["errors"]["points"] is None
    assert content["test"]["rows"] is None


def test_a_phone_in_the_dark_needs_no_sideways_scrolling(browser: Any, tmp_path: Path) -> None:
    X, y = sample()
    phone = {"width": 375, "height": 700}
    with open_tab(browser, viewport=phone, color_scheme="dark") as tab:
        page = tab.open(make_report(PRICE, X, y).html, tmp_path / "report.html")
        assert page.evaluate("document.documentElement.scrollWidth") == 375
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
        assert tab.complaints == []


def test_names_are_shown_as_text_whatever_they_hold(tab: Tab, tmp_path: Path) -> None:
    circuit = replace(PRICE, readout=replace(SCORE, name=HOSTILE))
    X, y = sample()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == HOSTILE
    assert tab.complaints == []


def test_constant_targets_and_one_row_are_reported(tab: Tab, tmp_path: Path) -> None:
    X, _ = sample()
    for rows, y in ((X, np.full(60, 3.0)), (X[:1], [3.0])):
        page = tab.open(make_report(PRICE, rows, y).html, tmp_path / "report.html")
        assert "all test rows have the same number" in page.locator(".card").first.inner_text()
        assert tab.complaints == []


def test_claims_about_classes_are_refused() -> None:
    X, y = sample()
    with pytest.raises(dln.OptionError, match="tolerances are proven for classes"):
        make_report(PRICE, X, y, tolerances={"age": 1.0})
    with pytest.raises(dln.TableError, match="the target holds 'x', expected numbers"):
        make_report(PRICE, X, ["x"] * 60)


def test_many_rules_are_listed_on_request(tab: Tab, tmp_path: Path) -> None:
    rules = tuple(dln.Rule(number % 5, (number,)) for number in range(1, 51))
    circuit = replace(PRICE, readout=replace(SCORE, rules=rules))
    X, y = sample()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    assert page.locator("#rules-list tr[data-rule]").count() == 40
    page.get_by_role("button", name="Show all 50 rules").press("Enter")
    assert page.locator("#rules-list tr[data-rule]").count() == 50
    page.evaluate("() => load([60, 1, 0])")
    assert page.locator("#fired li[data-rule]").count() == 5
    page.locator("#fired").get_by_role("button", name="Show all 50").press("Enter")
    assert page.locator("#fired li[data-rule]").count() == 50
    assert tab.complaints == []


def test_all_rules_are_printed(tab: Tab, tmp_path: Path) -> None:
    rules = tuple(dln.Rule(number % 5, (number,)) for number in range(1, 51))
    circuit = replace(PRICE, readout=replace(SCORE, rules=rules))
    page = tab.open(make_report(circuit, *sample()).html, tmp_path / "report.html")
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rules-list tr[data-rule]").count() == 50


def test_certificates_are_those_of_the_prover() -> None:
    X, y = [[60, True, "red"], [20, False, "blue"]], [16.0, 12.0]
    low, high = (PRICE.number_readout.answer(points) for points in possible_points(PRICE))
    made = make_report(PRICE, X, y, independent=["age"], at_least=low, at_most=high)
    table = made.html.split('<table class="certificates">')[1].split("</table>")[0]
    text = re.sub(r"<[^>]+>", " ", table)
    assert f"price is at least {low} and at most {high}." in text
    assert "price never changes with age alone." in text
    assert text.split().count("proven") == 1
    assert text.split().count("refuted") == 1
    made = make_report(PRICE, X, y, at_most=high - 0.1)
    assert "refuted" in made.html.split('<table class="certificates">')[1].split("</table>")[0]
    assert 'id="certificates"' not in make_report(PRICE, X, y).html


HUES = ("red", "blue", "green")


def possible_points(circuit: Circuit) -> tuple[int, int]:
    """Return the fewest and the most points of all rows of a small circuit."""
    rows = [[age, smoker, hue] for age in (20, 40, 60) for smoker in (0, 1) for hue in HUES]
    points = circuit.votes(rows)[:, 0]
    return int(points.min()), int(points.max())


def test_axes_have_three_to_eight_numbers(tab: Tab, tmp_path: Path) -> None:
    page = tab.open(make_report(PRICE, *sample()).html, tmp_path / "report.html")
    rng = np.random.default_rng(0)
    for low, size in zip(
        rng.normal(scale=100, size=200), 10 ** rng.uniform(-5, 6, 200), strict=True
    ):
        ticks = page.evaluate("([low, high]) => ticksOf(low, high)", [low, low + size])
        assert 3 <= len(ticks) <= 8
        assert all(low - 1e-6 * size <= tick <= low + (1 + 1e-6) * size for tick in ticks)
