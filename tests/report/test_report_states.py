"""What a reader does with the report: threshold, errors, invalid input, phone, and the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dln import Above, Among, Circuit, Column, Rule
from dln.report import make_report
from dln.report.intervals import proportion
from tests.support.browser import Tab, open_tab

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


def clinic(n_classes: int = 2) -> tuple[Circuit, pd.DataFrame, Any]:
    """A circuit with votes for several classes, and noisy rows."""
    labels = ("healthy", "ill", "recovering")[:n_classes]
    unit = np.eye(n_classes, dtype=int).tolist()
    circuit = Circuit(
        columns=(Column("age", "integer"), Column("pain", "category", ("none", "some", "much"))),
        literals=(Above(0, 40.0), Above(0, 55.0), Above(0, 70.0), Among(1, (1,)), Among(1, (2,))),
        nodes=(),
        rules=tuple(Rule(wire, tuple(unit[1 if wire < 4 else -1])) for wire in range(5)),
        base_votes=(2, *(0,) * (n_classes - 1)),
        classes=labels,
        temperature=1.5,
    )
    rng = np.random.default_rng(0)
    age, pain = rng.integers(30, 85, 150), rng.choice(["none", "some", "much"], 150)
    noisy = (age - 30) / 55 + (pain == "much") * 0.5 + rng.normal(scale=0.4, size=150)
    y = np.array(labels)[np.clip((noisy * n_classes / 1.2).astype(int), 0, n_classes - 1)]
    return circuit, pd.DataFrame({"age": age, "pain": pain}), y


def opened(tab: Tab, tmp_path: Path, n_classes: int = 2, **options: Any) -> Any:
    circuit, X, y = clinic(n_classes)
    return tab.open(make_report(circuit, X, y, **options).html, tmp_path / "report.html")


def figures(page: Any) -> dict[str, Any]:
    return page.evaluate("() => figuresOf(currentCounts())")  # type: ignore[no-any-return]


def test_the_threshold_moves_every_figure_like_python_does(tab: Tab, tmp_path: Path) -> None:
    circuit, X, y = clinic()
    page = opened(tab, tmp_path)
    for positive, label in enumerate(circuit.classes):
        page.locator("#positive").select_option(str(positive))
        is_class = y == label
        proba = np.round(circuit.predict_proba(X)[:, positive], 12)
        decisions = [(None, circuit.predict(X) == label)]
        levels = page.evaluate("() => page.curves[positive].levels")
        decisions += [(at, proba >= level - 1e-6) for at, level in enumerate(levels)]
        decisions.append((len(levels), np.zeros(len(X), dtype=bool)))
        for at, predicted in decisions:
            if at is not None:
                page.locator("#threshold").fill(str(at))
            found = figures(page)
            for key, part, hits in (
                ("sensitivity", is_class, predicted),
                ("specificity", ~is_class, ~predicted),
                ("ppv", predicted, is_class),
                ("npv", ~predicted, ~is_class),
            ):
                expected = proportion(int((part & hits).sum()), int(part.sum()))
                if expected is None:
                    assert found[key] is None
                    continue
                values = (found[key]["value"], found[key]["low"], found[key]["high"])
                assert values == pytest.approx((expected.value, expected.low, expected.high))
                assert f"{100 * expected.value:.1f}\xa0%" in page.locator("#figures").inner_text()
            cells = page.locator("#matrix tbody td:not(.total)").all_inner_texts()
            assert [int(cell) for cell in cells] == [
                int((truth & guess).sum())
                for truth in (is_class, ~is_class)
                for guess in (predicted, ~predicted)
            ]
        page.locator("#threshold-reset").click()
        assert "own decision" in page.locator("#threshold-text").inner_text()
    assert tab.complaints == []


def test_the_point_on_the_roc_curve_follows_the_threshold(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, tmp_path)
    place = "() => { const p = document.querySelector('#roc .here'); return [p.cx, p.cy].map((v) => v.baseVal.value); }"  # noqa: E501
    before = page.evaluate(place)
    page.locator("#threshold").press("ArrowRight")
    assert page.evaluate(place) != before
    assert page.locator("#calibration .dot").count() > 2
    assert "Calibration error" in page.locator("#calibration-text").inner_text()


def test_three_classes_have_a_matrix_and_each_class_against_the_rest(
    tab: Tab, tmp_path: Path
) -> None:
    circuit, X, y = clinic(3)
    page = opened(tab, tmp_path, 3)
    predicted = circuit.predict(X)
    cells = page.locator(".confusion:not(#matrix) tbody td").all_inner_texts()
    assert [int(cell) for cell in cells] == [
        int(((y == true) & (predicted == guess)).sum())
        for true in circuit.classes
        for guess in circuit.classes
    ]
    page.locator("#positive").select_option("recovering")
    assert "not recovering" in page.locator("#matrix").inner_text()
    assert tab.complaints == []


def test_the_page_opens_on_a_correct_row_and_walks_through_the_errors(
    tab: Tab, tmp_path: Path
) -> None:
    circuit, X, y = clinic()
    page = opened(tab, tmp_path)
    assert "predicted correctly" in page.locator("#status").inner_text()
    page.locator("#walk-list").select_option("1")
    errors = np.flatnonzero(circuit.predict(X) != y)
    walked = page.evaluate(
        """() => {
          const seen = [];
          for (;;) {
            const texts = ["walk-place", "status", "prediction"].map((id) => find(id).textContent);
            seen.push([loaded.number, ...texts]);
            if (find("walk-next").disabled) return seen;
            find("walk-next").click();
          }
        }"""
    )
    assert sorted(number - 1 for number, *_ in walked) == errors.tolist()
    for place, (number, where, status, prediction) in enumerate(walked, start=1):
        assert where == f"error {place} of {len(errors)}"
        assert status == f"Test row {number} · true class {y[number - 1]} error"
        assert prediction == circuit.predict(X)[number - 1]


def test_reset_restores_the_row(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, tmp_path)
    before = page.evaluate("() => currentRow()")
    assert page.locator("#reset").is_disabled()
    page.get_by_label("age", exact=True).fill("31")
    page.get_by_label("pain", exact=True).select_option("much")
    assert "values changed" in page.locator("#status").inner_text()
    page.locator("#reset").click()
    assert page.evaluate("() => currentRow()") == before
    assert "values changed" not in page.locator("#status").inner_text()


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("65.5", "Enter a whole number such as 66."),
        ("old", "Enter a number such as"),
        ("", "Enter a value, or tick “missing”."),
        ("1e999", "Enter a whole number such as"),
        ("6,5", "with a decimal point"),
    ],
)
def test_invalid_input_shows_a_problem_and_no_prediction(
    tab: Tab, tmp_path: Path, typed: str, problem: str
) -> None:
    page = opened(tab, tmp_path)
    field = page.get_by_label("age", exact=True)
    field.fill(typed)
    assert problem in page.locator(".message.problem").inner_text()
    assert field.get_attribute("aria-invalid") == "true"
    assert page.locator("#prediction").inner_text() == "No prediction"
    assert page.locator("#votes > *, #changes > *, #fired > *, tr.fired").count() == 0
    field.fill("66")
    assert page.locator(".message.problem").count() == 0
    assert page.locator("#prediction").inner_text() != "No prediction"


def test_values_far_outside_the_test_rows_get_a_warning(tab: Tab, tmp_path: Path) -> None:
    _, X, _ = clinic()
    page = opened(tab, tmp_path)
    page.get_by_label("age", exact=True).fill("1000000000")
    low, high = X["age"].min(), X["age"].max()
    warning = f"Outside the range of the test rows, {low} to {high}."
    assert page.locator(".message.warning").inner_text() == warning
    assert "outside the test data: age" in page.locator("#caution").inner_text()
    page.get_by_label("age", exact=True).fill("50")
    assert page.locator(".message.warning").count() == 0
    page.get_by_label("pain", exact=True).select_option("(any other)")
    assert "did not have this category" in page.locator(".message.warning").inner_text()


def test_missing_values_are_named_and_their_fields_are_empty(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, tmp_path)
    age = page.get_by_label("age", exact=True)
    value, box = age.input_value(), page.locator(".field", has=age).get_by_label("missing")
    absent = page.locator("#absent").inner_text()
    assert value
    assert "age" not in absent
    box.check()
    assert age.input_value() == ""
    named, _, note = page.locator("#absent").inner_text().partition(". ")
    assert "age" in named.removeprefix("Missing: ").split(", ")
    assert note == "Missing values fail >, = and in; they pass <=, != and not in."
    box.uncheck()
    assert age.input_value() == value
    assert page.locator("#absent").inner_text() == absent


def test_a_column_of_0_and_1_is_a_menu(tab: Tab, tmp_path: Path) -> None:
    circuit = Circuit(
        columns=(Column("anaemia", "integer", binary=True),),
        literals=(Above(0, 0.0),),
        nodes=(),
        rules=(Rule(0, (0, 2)),),
        base_votes=(1, 0),
        classes=("no", "yes"),
    )
    X, y = pd.DataFrame({"anaemia": [0, 1, 1, 0]}), ["no", "yes", "yes", "no"]
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    menu = page.get_by_label("anaemia", exact=True)
    assert menu.locator("option").all_inner_texts() == ["0", "1"]
    menu.select_option("0")
    assert page.locator("#prediction").inner_text() == "no"
    assert page.locator("#changes li").inner_text().startswith("anaemia = 1: yes")
    page.get_by_role("button", name="Apply anaemia = 1").click()
    assert page.locator("#prediction").inner_text() == "yes"
    assert not tab.complaints


def test_a_rule_has_the_colour_of_its_class_everywhere(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, 3)
    colours = page.evaluate(
        """() => {
          const paint = (part) => getComputedStyle(part, "::before").backgroundColor;
          const box = (part) => getComputedStyle(part).borderLeftColor;
          const seen = {};
          const add = (text, colour) => (seen[text.replace(/^[+−]\\d+ for /, "")] ??= new Set()).add(colour);
          for (const mark of document.querySelectorAll(".mark")) add(mark.textContent, paint(mark));
          for (const chip of document.querySelectorAll(".rule-table [data-rule] .chip")) add(chip.textContent, box(chip));
          for (const bar of document.querySelectorAll(".vote")) {
            add(bar.firstChild.textContent, getComputedStyle(bar.querySelector("i")).backgroundColor);
          }
          for (const part of document.querySelectorAll("#picture .dln-class")) {
            add(part.querySelector("text").textContent, getComputedStyle(part.querySelector("rect")).stroke);
          }
          return Object.entries(seen).map(([name, colours]) => [name, [...colours]]);
        }"""  # noqa: E501
    )
    assert {name for name, _ in colours} == {"healthy", "ill", "recovering"}
    assert all(len(found) == 1 for _, found in colours)
    assert len({found[0] for _, found in colours}) == 3


def test_on_a_phone_the_prediction_stays_in_view(browser: Any, tmp_path: Path) -> None:
    with open_tab(browser, offline=True, **PHONE) as tab:
        page = opened(tab, tmp_path)
        last = page.locator(".field").last
        last.evaluate("(field) => field.scrollIntoView({ block: 'start', behavior: 'instant' })")
        assert page.locator("#prediction").evaluate(
            """(shown) => {
              const { top, bottom, left } = shown.getBoundingClientRect();
              const front = document.elementFromPoint(left + 5, (top + bottom) / 2);
              return top >= 0 && bottom < 200 && shown.contains(front);
            }"""
        )
        for word in page.locator("#matrix th").all():
            assert word.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_clipped_table_fades_at_its_edge(browser: Any, tmp_path: Path) -> None:
    circuit = Circuit(
        columns=tuple(Column(f"a long column name {i}", "number") for i in range(12)),
        literals=tuple(Above(i, 0.5) for i in range(12)),
        nodes=(),
        rules=tuple(Rule(i, (0, 1)) for i in range(12)),
        base_votes=(6, 0),
        classes=("no", "yes"),
    )
    X = np.random.default_rng(0).random((30, 12))
    html = make_report(circuit, X, ["no", "yes"] * 15).html
    with open_tab(browser, offline=True, **PHONE) as tab:
        page = tab.open(html, tmp_path / "report.html")
        box = page.locator(".scroll:has(#rows-table)")
        page.locator("#rows .more-right").wait_for(state="attached")
        box.evaluate("(box) => { box.scrollLeft = 1e6; }")
        page.locator("#rows .more-left").wait_for(state="attached")
        assert "more-right" not in (box.get_attribute("class") or "")


# -- large circuits, no rows, policy ----------------------------------------------------------


def large_circuit() -> Circuit:
    """A circuit that is too large for a diagram at first sight."""
    return Circuit(
        columns=(Column("x", "number"), Column("y", "number")),
        literals=tuple(Above(i % 2, float(i)) for i in range(60)),
        nodes=(),
        rules=tuple(Rule(i, (i % 2, 1 - i % 2)) for i in range(60)),
        base_votes=(0, 0),
        classes=("no", "yes"),
    )


def test_a_large_circuit_lists_each_rule_once_by_column_and_draws_on_demand(
    tab: Tab, tmp_path: Path
) -> None:
    X = np.random.default_rng(0).random((40, 2)) * 60
    html = make_report(large_circuit(), X, ["no", "yes"] * 20).html
    page = tab.open(html, tmp_path / "report.html")
    assert page.locator("#rules-list summary h3").all_inner_texts() == ["x", "y"]
    numbers = page.eval_on_selector_all("tr[data-rule]", "rows => rows.map((r) => r.dataset.rule)")
    assert sorted(map(int, numbers)) == list(range(60))
    assert page.locator("#picture svg").count() == 0
    page.locator("#diagram-box summary").click()
    page.locator("#picture svg").wait_for()
    page.locator("#rules-column").select_option("y")
    assert page.locator("tr[data-rule]").count() == 30
    assert tab.complaints == []


def test_without_rows_the_page_still_works(tab: Tab, tmp_path: Path) -> None:
    page = opened(tab, tmp_path, rows=False)
    assert page.locator("#rows, #walk-list").count() == 0
    assert page.locator("#status").inner_text() == "Typical values of the test rows."
    assert page.locator("#prediction").inner_text() in ("healthy", "ill")
    page.get_by_label("age", exact=True).fill("84")
    assert page.locator("#status").inner_text() == "Your own values."
    page.locator("#threshold").press("ArrowRight")
    assert page.locator("#figures b").count() == 4
    assert page.locator("#form .bars rect").count() > 5
    assert tab.complaints == []


def test_the_policy_blocks_every_script_style_and_request_but_its_own(
    tab: Tab, tmp_path: Path
) -> None:
    page = opened(tab, tmp_path)
    assert tab.complaints == []
    expected = ["script-src-elem", "img-src", "style-src-elem", "base-uri", "connect-src"]
    # The page forbids eval, which Playwright's wait_for_function needs; this promise waits instead.
    page.evaluate(
        """async (expected) => {
          const left = new Set(expected);
          const all = new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation", (event) => {
              left.delete(event.effectiveDirective);
              if (!left.size) resolve();
            });
          });
          const script = document.createElement("script");
          script.textContent = "window.hacked = 1";
          document.body.append(script);
          const image = document.createElement("div");
          image.innerHTML = '<img src="https://example.org/x.png" onerror="window.hacked = 2">';
          document.body.append(image);
          const style = document.createElement("style");
          style.textContent = "body { display: none }";
          document.head.append(style);
          const base = document.createElement("base");
          base.href = "https://example.org/";
          document.head.append(base);
          await fetch("https://example.org/").catch(() => null);
          await all;
        }""",
        expected,
    )
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.baseURI").startswith("file:")
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "form-action 'none'" in policy
