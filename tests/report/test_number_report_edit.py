"""The edit mode in the report of a number, in Chromium: it shows what Python computes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dln
from dln import Circuit
from dln.edits.number_effect import compare_numbers
from dln.report import make_report
from tests.conftest import Run
from tests.report.test_report_edit import COLUMNS, PHONE, clinic, cutoff, switch
from tests.support.browser import Tab, open_tab
from tests.support.strategies import as_objects, rows_for, score_circuits


def stay() -> tuple[Circuit, pd.DataFrame, Any]:
    """Return a circuit that predicts the days in a clinic, and noisy rows."""
    circuit = Circuit.from_rules(
        """
days is 2.5 plus what the rules add.
  +4  age > 55 and pain != none
  +1.5  age > 70
  -0.75  day > 2024-05-31
  +0.25  sex = 1
""",
        columns=COLUMNS,
    )
    _, X, _ = clinic()
    noise = np.random.default_rng(1).normal(scale=0.8, size=len(X))
    return circuit, X, np.round(circuit.predict(X) + (X["age"] - 55) / 40 + noise, 2)


def figures(page: Any) -> dict[str, str]:
    names = ("r2", "r2-before", "mae", "mae-before", "changed")
    return {name: page.locator(f"#edit-{name}").inner_text() for name in names}


def expected(before: Circuit, after: Circuit, X: Any, y: Any) -> dict[str, str]:
    effect = compare_numbers(before, after, X, y)
    assert effect.r2 is not None
    assert effect.mae is not None
    assert effect.n_changed is not None
    return {
        "r2": shown(effect.r2[1]),
        "r2-before": f"{shown(effect.r2[0])} before",
        "mae": shown(effect.mae[1]),
        "mae-before": f"{shown(effect.mae[0])} before",
        "changed": f"{100 * effect.n_changed / len(X):.1f}\xa0%",
    }


def shown(figure: float) -> str:
    return f"{figure:.4g}".replace("-", "−")


def test_edits_are_seen_at_once_downloaded_applied_and_refitted(
    tab: Tab, tmp_path: Path, run: Run
) -> None:
    circuit, X, y = stay()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    assert figures(page) == expected(circuit, circuit, X, y)
    assert page.locator("#edit-download").is_disabled()
    editing = dln.edit(circuit).drop("sex = 1")
    switch(page, "sex = 1").uncheck()
    assert figures(page) == expected(circuit, editing.circuit, X, y)
    assert page.locator("#edit-changed-by").inner_text() == ", by −0.25"
    editing = editing.move_cutoff("age", 55, 48.5)
    cutoff(page, "age > 55").fill("48.5")
    assert figures(page) == expected(circuit, editing.circuit, X, y)
    assert page.locator("#edit-changed-by").inner_text() == ", by −0.25 to +4"
    editing = editing.move_cutoff("day", "2024-05-31", "2024-03-01")
    cutoff(page, "day > 2024-05-31").fill("2024-03-01")
    assert figures(page) == expected(circuit, editing.circuit, X, y)
    assert page.locator("#edit-count").inner_text() == "3 edits"
    page.locator("#edit-who").fill("A. Weber")
    page.locator("#edit-why").fill("guideline <2024>")
    with page.expect_download() as waiting:
        page.locator("#edit-download").click()
    waiting.value.save_as(tmp_path / "edits.json")
    assert tab.complaints == []
    assert [address for address in tab.requests if not address.startswith(("file:", "blob:"))] == []
    # Apply them on the command line; the result is the circuit that Python makes.
    circuit.save(tmp_path / "model.json")
    X.assign(days=y).to_csv(tmp_path / "rows.csv", index=False)
    status, out, err = run(
        *("edit", "model.json", "--apply", "edits.json", "--data", "rows.csv", "-t", "days"),
        *("-o", "new.json"),
    )
    assert (status, err) == (0, "")
    effect = compare_numbers(circuit, editing.circuit, X, y)
    assert effect.r2 is not None
    assert f"R²: {effect.r2[0]:.4g} before, {effect.r2[1]:.4g} after." in out
    assert "exactly where" in out
    edited = Circuit.load(tmp_path / "new.json")
    assert dln.prove_equal(edited, editing.circuit)
    assert {(record.who, record.why) for record in edited.edits} == {
        ("A. Weber", "guideline <2024>")
    }
    assert run("verify", "new.json", "model.json")[0] == 1
    # The report of the edited model begins with the figures that the page promised.
    promised = figures(page)
    page = tab.open(make_report(edited, X, y).html, tmp_path / "again.html")
    assert figures(page)["r2"] == promised["r2"]
    assert figures(page)["mae"] == promised["mae"]
    assert "A. Weber" in page.locator("#about").inner_text()
    # Lock a rule, and learn the others again around it.
    assert run("edit", "new.json", "--lock", "1", "-o", "locked.json")[0] == 0
    learn = ("--layers", "8", "--networks", "1", "--epochs", "10", "--test", "0")
    status, _, err = run(
        *("train", "rows.csv", "-t", "days", "--rules", "locked.json", *learn),
        *("-o", "refitted.json", "--quiet"),
    )
    assert (status, err) == (0, "")
    refitted = Circuit.load(tmp_path / "refitted.json")
    assert [record.edit.action for record in refitted.edits][-2:] == ["lock", "refit"]
    (place,) = refitted.locked
    kept = refitted._written_rules.texts[place]
    assert kept == edited._written_rules.texts[0]
    page = tab.open(make_report(refitted, X, y).html, tmp_path / "refitted.html")
    assert switch(page, kept).first.is_disabled()
    assert figures(page) == expected(refitted, refitted, X, y)


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),  # shrinking takes minutes in a browser
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), circuit=score_circuits().filter(lambda circuit: bool(circuit.rules)))
def test_any_rules_can_be_switched_off(
    tab: Tab, tmp_path: Path, data: st.DataObject, circuit: Circuit
) -> None:
    rows = data.draw(rows_for(circuit, max_rows=40).filter(bool))
    X = as_objects(circuit, rows)
    page = tab.open(
        make_report(circuit, X, np.arange(len(rows)) / 4).html, tmp_path / "report.html"
    )
    places = range(len(circuit.rules))
    off = data.draw(st.lists(st.sampled_from(places), unique=True))
    answers = page.evaluate(
        """(off) => {
          off.forEach((rule) => switchedOff.add(rule));
          return allCells.votes(editedCircuit()).map(([points]) => points);
        }""",
        off,
    )
    score = circuit.number_readout
    kept = tuple(rule for place, rule in enumerate(circuit.rules) if place not in off)
    edited = replace(circuit, readout=replace(score, rules=kept), locked=())
    assert answers == edited.votes(X)[:, 0].tolist()
    assert tab.complaints == []


def test_a_sample_of_the_rows_starts_with_the_figures_of_all(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    circuit, X, y = stay()
    monkeypatch.setattr("dln.report.report._MOST_ROW_BYTES", 3_000)
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    n_kept = page.evaluate("() => testRows.length")
    assert n_kept < len(X)
    assert page.evaluate("() => sum(page.test.weights)") == pytest.approx(len(X), rel=1e-4)
    note = f"Figures are estimated from the {n_kept} test rows in this page."
    assert page.locator("#edit-sample").inner_text() == note
    whole = expected(circuit, circuit, X, y)
    assert figures(page) == whole
    switch(page, "age > 70").uncheck()
    found = figures(page)
    truth = expected(circuit, dln.edit(circuit).drop("age > 70").circuit, X, y)
    assert found["r2-before"] == whole["r2-before"]
    assert float(found["r2"]) == pytest.approx(float(truth["r2"]), abs=0.05)
    assert float(found["mae"]) == pytest.approx(float(truth["mae"]), rel=0.05)


@pytest.mark.parametrize("link", ["log", "logit"])
def test_predictions_through_a_link_are_measured(tab: Tab, tmp_path: Path, link: Any) -> None:
    circuit, X, _ = stay()
    linked = replace(circuit, readout=replace(circuit.number_readout, link=link))
    y = linked.predict(X) * np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    page = tab.open(make_report(linked, X, y).html, tmp_path / "report.html")
    switch(page, "age > 70").uncheck()
    assert figures(page) == expected(linked, dln.edit(linked).drop("age > 70").circuit, X, y)


def test_infinite_predictions_and_equal_numbers_have_no_figures(tab: Tab, tmp_path: Path) -> None:
    circuit, X, _ = stay()
    score = replace(circuit.number_readout, link="log", digits=-3)
    page = tab.open(
        make_report(replace(circuit, readout=score), X, np.full(len(X), 3.0)).html,
        tmp_path / "report.html",
    )
    assert figures(page)["r2"] == "–"
    assert figures(page)["mae"] == "∞"
    switch(page, "age > 70").uncheck()
    assert tab.complaints == []
    html = make_report(replace(circuit, readout=score), X, np.arange(len(X)), rows=False).html
    tab.open(html, tmp_path / "report.html")
    assert tab.complaints == []


def test_editing_works_on_a_phone(browser: Any, tmp_path: Path) -> None:
    circuit, X, y = stay()
    with open_tab(browser, **PHONE) as phone:
        page = phone.open(make_report(circuit, X, y).html, tmp_path / "report.html")
        switch(page, "sex = 1").tap()
        after = dln.edit(circuit).drop("sex = 1").circuit
        assert figures(page) == expected(circuit, after, X, y)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert phone.complaints == []


def test_a_report_without_rows_has_no_edit_mode(tab: Tab, tmp_path: Path) -> None:
    circuit, X, y = stay()
    html = make_report(circuit, X, y, rows=False).html
    assert not re.search(r'<section id="edit"', html)
    tab.open(html, tmp_path / "report.html")
    assert tab.complaints == []
