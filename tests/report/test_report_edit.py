"""The report's edit mode in Chromium, end to end: switch off, move, download, apply, refit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dln
from dln import Above, Among, Circuit, Column, Rule
from dln.report import make_report
from tests.conftest import Run
from tests.support.browser import Tab, open_tab

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
COLUMNS = (
    Column("age", "integer"),
    Column("pain", "category", ("none", "some", "much")),
    Column("day", "date"),
    Column("sex", "integer", binary=True),
)


def clinic() -> tuple[Circuit, pd.DataFrame, Any]:
    """Return a circuit with a cutoff of every kind, and noisy rows."""
    circuit = Circuit.from_rules(
        """
healthy:
  +2  always
ill:
  +2  age > 55 and pain != none
  +1  age > 70
  +1  day > 2024-05-31
  +1  sex = 1
  +1  pain = much
""",
        columns=COLUMNS,
    )
    rng = np.random.default_rng(0)
    n_rows = 150
    X = pd.DataFrame(
        {
            "age": rng.integers(30, 85, n_rows),
            "pain": rng.choice(["none", "some", "much"], n_rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n_rows), "D"),
            "sex": rng.integers(0, 2, n_rows),
        }
    )
    score = (X["age"] - 30) / 55 + (X["pain"] == "much") * 0.5 + rng.normal(scale=0.4, size=n_rows)
    return circuit, X, np.where(score > 0.8, "ill", "healthy")


def percents(page: Any) -> dict[str, str]:
    names = ("accuracy", "balanced", "changed", "accuracy-before")
    return {name: page.locator(f"#edit-{name}").inner_text() for name in names}


def expected(before: Circuit, after: Circuit, X: Any, y: Any) -> dict[str, str]:
    effect = dln.edits.effect.compare_circuits(before, after, X, y)  # type: ignore[attr-defined]
    assert effect.accuracy is not None
    assert effect.balanced_accuracy is not None
    assert effect.n_changed is not None
    return {
        "accuracy": f"{100 * effect.accuracy[1]:.1f}\xa0%",
        "balanced": f"{100 * effect.balanced_accuracy[1]:.1f}\xa0%",
        "changed": f"{100 * effect.n_changed / len(X):.1f}\xa0%",
        "accuracy-before": f"{100 * effect.accuracy[0]:.1f}\xa0% before",
    }


def switch(page: Any, text: str) -> Any:
    return page.locator("#edit-rules li", has_text=text).locator("input")


def cutoff(page: Any, name: str) -> Any:
    return page.get_by_label(f"New cutoff for {name}")


def test_edits_are_seen_at_once_downloaded_applied_and_refitted(
    tab: Tab, tmp_path: Path, run: Run
) -> None:
    circuit, X, y = clinic()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    assert percents(page) == expected(circuit, circuit, X, y)
    assert page.locator("#edit-download").is_disabled()
    editing = dln.edit(circuit).drop("sex = 1")
    switch(page, "sex = 1").uncheck()
    assert percents(page) == expected(circuit, editing.circuit, X, y)
    editing = editing.move_cutoff("age", 55, 48.5)
    cutoff(page, "age > 55").fill("48.5")
    assert percents(page) == expected(circuit, editing.circuit, X, y)
    editing = editing.move_cutoff("day", "2024-05-31", "2024-03-01")
    cutoff(page, "day > 2024-05-31").fill("2024-03-01")
    assert percents(page) == expected(circuit, editing.circuit, X, y)
    assert page.locator("#edit-count").inner_text() == "3 edits"
    page.locator("#edit-who").fill("A. Weber")
    page.locator("#edit-why").fill("guideline <2024>")
    with page.expect_download() as waiting:
        page.locator("#edit-download").click()
    edits = tmp_path / "edits.json"
    waiting.value.save_as(edits)
    assert waiting.value.suggested_filename == "edits.json"
    assert tab.complaints == []
    assert [address for address in tab.requests if not address.startswith(("file:", "blob:"))] == []
    # Apply them on the command line; the result is the circuit that Python makes.
    circuit.save(tmp_path / "model.json")
    status, out, err = run("edit", "model.json", "--apply", "edits.json", "-o", "new.json")
    assert (status, err) == (0, "")
    assert "exactly where" in out
    edited = Circuit.load(tmp_path / "new.json")
    assert dln.prove_equal(edited, editing.circuit)
    assert {(record.who, record.why) for record in edited.edits} == {
        ("A. Weber", "guideline <2024>")
    }
    assert run("verify", "new.json", "model.json")[0] == 1
    # Lock a rule, and learn the others again around it, with networks.
    assert run("edit", "new.json", "--lock", "1", "-o", "locked.json")[0] == 0
    X.assign(state=y).to_csv(tmp_path / "rows.csv", index=False)
    learn = ("--layers", "8", "--networks", "1", "--epochs", "10", "--test", "0")
    status, _, err = run(
        *("train", "rows.csv", "-t", "state", "--rules", "locked.json", *learn),
        *("-o", "again.json", "--quiet"),
    )
    assert (status, err) == (0, "")
    again = Circuit.load(tmp_path / "again.json")
    assert [record.edit.action for record in again.edits] == [
        *("drop", "cutoff", "cutoff", "lock", "refit")
    ]
    (place,) = again.locked
    kept = again._written_rules.texts[place]
    assert kept == edited._written_rules.texts[0]
    # The report of the refitted model shows the locked rule and the refit.
    page = tab.open(make_report(again, X, y).html, tmp_path / "again.html")
    assert switch(page, kept).first.is_disabled()
    assert "refit" in page.locator("#about").inner_text()
    assert percents(page) == expected(again, again, X, y)


def test_all_edits_can_be_undone_and_mistakes_are_marked(tab: Tab, tmp_path: Path) -> None:
    circuit, X, y = clinic()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    for text in ("", "old", "1e999"):
        cutoff(page, "age > 55").fill(text)
        assert cutoff(page, "age > 55").get_attribute("aria-invalid") == "true"
        assert page.locator("#edit-download").is_disabled()
        assert "Correct the marked cutoff" in page.locator("#edit-count").inner_text()
    switch(page, "age > 70").uncheck()
    page.locator("#edit-reset").click()
    assert percents(page) == expected(circuit, circuit, X, y)
    assert switch(page, "age > 70").is_checked()
    assert page.locator("#edit-count").inner_text() == "No edits yet."


@pytest.mark.parametrize(
    ("moves", "edits"),
    [
        ({"55": "70"}, [(55, 70)]),
        ({"55": "70", "70": "80"}, [(70, 80), (55, 70)]),
        ({"55": "70", "70": "55"}, None),
    ],
)
def test_cutoffs_move_in_an_order_that_keeps_them_apart(
    tab: Tab, tmp_path: Path, moves: dict[str, str], edits: list[tuple[int, int]] | None
) -> None:
    circuit, X, y = clinic()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    for before, after in moves.items():
        cutoff(page, f"age > {before}").fill(after)
    found = page.evaluate("() => listEdits()")
    if edits is None:
        assert found is None
        assert "cannot be exchanged" in page.locator("#edit-count").inner_text()
        return
    assert [(edit["from"], edit["to"]) for edit in found] == edits
    records = [dln.EditRecord.from_dict(edit) for edit in found]
    edited = dln.edit(circuit).apply(*records).circuit
    assert percents(page) == expected(circuit, edited, X, y)


def test_locked_rules_and_their_cutoffs_cannot_be_edited(tab: Tab, tmp_path: Path) -> None:
    circuit, X, y = clinic()
    locked = replace(circuit, locked=(0,), edits=(dln.edit(circuit).lock(1).records))
    page = tab.open(make_report(locked, X, y).html, tmp_path / "report.html")
    assert switch(page, "age > 55").is_disabled()
    assert cutoff(page, "age > 55").is_disabled()
    assert cutoff(page, "age > 70").is_enabled()
    assert "lock: rule 1" in page.locator("#about").inner_text()


def test_a_cutoff_of_a_rule_that_is_off_is_no_edit(tab: Tab, tmp_path: Path) -> None:
    circuit, X, y = clinic()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    cutoff(page, "age > 70").fill("60")
    switch(page, "age > 70").uncheck()
    assert [edit["edit"] for edit in page.evaluate("() => listEdits()")] == ["drop"]


def test_a_sample_of_the_rows_is_weighted(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    circuit, X, y = clinic()
    monkeypatch.setattr("dln.report.report._MOST_ROW_BYTES", 3_000)
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    wrong = circuit.predict(X) != y
    assert page.evaluate("() => testRows.length") < len(X)
    share = page.evaluate("() => testRows.filter(isError).length / testRows.length")
    assert share > wrong.mean()
    accuracy = f"{100 * np.mean(~wrong):.1f}\xa0% before"
    assert page.locator("#edit-accuracy-before").inner_text() == accuracy
    assert "Figures are estimated from the" in page.locator("#edit-sample").inner_text()


def test_a_report_without_rows_has_no_edit_mode(tab: Tab, tmp_path: Path) -> None:
    circuit, X, y = clinic()
    page = tab.open(make_report(circuit, X, y, rows=False).html, tmp_path / "report.html")
    assert page.locator("#edit").count() == 0
    assert tab.complaints == []


def test_editing_works_on_a_phone(browser: Any, tmp_path: Path) -> None:
    circuit, X, y = clinic()
    with open_tab(browser, **PHONE) as phone:
        page = phone.open(make_report(circuit, X, y).html, tmp_path / "report.html")
        switch(page, "sex = 1").tap()
        after = dln.edit(circuit).drop("sex = 1").circuit
        assert percents(page) == expected(circuit, after, X, y)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert phone.complaints == []


def test_rules_of_literals_alone_can_be_edited(tab: Tab, tmp_path: Path) -> None:
    circuit = Circuit(
        (Column("<b>", "number"), Column("c", "category", ("x", "y"))),
        (Above(0, 0.25), Among(1, (0,))),
        (),
        (Rule(0, (0, 1)), Rule(1, (0, 1))),
        (0, 0),
        ("no", "yes"),
    )
    rows = [[0.1, "x"], [0.3, "y"], [None, "y"]]
    page = tab.open(make_report(circuit, rows, ["yes", "no", "no"]).html, tmp_path / "r.html")
    assert cutoff(page, "<b> > 0.25").input_value() == "0.25"
    cutoff(page, "<b> > 0.25").fill("0.5")
    assert page.locator("#edit-accuracy").inner_text() == "100.0\xa0%"


def test_many_rules_and_cutoffs_are_listed_by_column_or_on_request(
    tab: Tab, tmp_path: Path
) -> None:
    columns = (Column("age", "integer"), Column("dose", "number"))
    circuit = Circuit(
        columns,
        tuple(Above(number % 2, float(number)) for number in range(50)),
        (),
        tuple(Rule(number, (0, 1 + number)) for number in range(50)),
        (0, 0),
        ("no", "yes"),
    )
    rows = [[30, 30.0], [10, 5.0]]
    page = tab.open(make_report(circuit, rows, ["yes", "no"]).html, tmp_path / "r.html")
    rules, fields = page.locator("#edit-rules input"), page.locator("#edit-cutoffs input")
    assert (rules.count(), fields.count()) == (20, 20)
    page.get_by_role("button", name="Show all 50").first.click()
    assert (rules.count(), fields.count()) == (50, 20)
    switch(page, "dose > 49").uncheck()
    page.locator("#edit-which").select_option("age")
    assert page.locator("#edit-rules-count").inner_text() == "25"
    assert (rules.count(), fields.count()) == (20, 20)
    cutoff(page, "age > 4").fill("wrong")
    page.locator("#edit-which").select_option("what is edited")
    assert (rules.count(), fields.count()) == (1, 1)
    assert not rules.first.is_checked()
    assert fields.first.get_attribute("aria-invalid") == "true"
    assert tab.complaints == []


def test_arrow_keys_move_a_cutoff_to_the_values_of_the_rows(tab: Tab, tmp_path: Path) -> None:
    circuit, X, y = clinic()
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    ages = np.unique(X["age"])
    for name, above, values in (("age > 55", 55, ages), ("age > 70", 70, ages)):
        field = cutoff(page, name)
        field.press("ArrowUp")
        assert float(field.input_value()) == values[values > above].min()
        field.press("ArrowDown")
        field.press("ArrowDown")
        below = values[values <= above]
        assert float(field.input_value()) == below[below < above].max()
    field = cutoff(page, "day > 2024-05-31")
    field.press("ArrowUp")
    days = X["day"][X["day"] > pd.Timestamp("2024-05-31")]
    assert field.input_value() == str(days.min().date())
    note = page.locator("#edit-cutoffs li", has_text="day >").locator("small")
    assert note.inner_text() == "was 2024-05-31"
