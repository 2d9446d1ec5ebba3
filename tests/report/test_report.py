"""The report's page evaluates the circuit like Python does, in a real browser."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

from dln import Above, Among, Circuit, Column, DLNClassifier, Missing, Node, OptionError, Rule
from dln.core.gates import GATE_BY_NAME
from dln.report import DataNote, make_report
from tests.support.browser import Tab, open_tab
from tests.support.strategies import as_objects, circuits, rows_for

SCREENSHOTS = Path("build") / "screenshots"

ANSWERS = """() => testRows.map((row) => {
  load(row.cells);
  const [change] = nearestChanges(circuit, features, currentRow());
  return {
    number: row.number,
    shown: find("prediction").textContent,
    votes: predict(currentRow()).votes,
    votesTogether: row.votes, // computed with all other rows
    change: change && [
      change.feature.name, change.condition, page.classes[change.winner], change.crossed,
    ],
  };
})"""
"""Load every test row into the form; return what the page shows."""

TYPED = """(rows) => rows.map((cells) => {
  for (const control of controls) {
    const cell = cells[control.feature.column];
    const wasMissing = control.gone.checked;
    if (wasMissing !== (cell === null)) control.gone.click();
    if (cell === null) continue;
    const { menu, field } = control;
    if (menu) menu.value = typeof cell === "string" ? menu.length - 1 : cell;
    else field.value = cellText(control.feature, cell);
    (menu ?? field).dispatchEvent(new Event(menu ? "change" : "input", { bubbles: true }));
  }
  return find("prediction").textContent;
})"""
"""Use the form as a person does: tick, choose, type. Return the prediction for each row."""


def mixed_circuit() -> Circuit:
    """A circuit that reads every kind of column and tests for missing values."""
    gates = [GATE_BY_NAME[name] for name in ("AND", "OR", "XOR", "NAND")]
    return Circuit(
        columns=(
            Column("size (cm)", "number"),
            Column("age", "integer"),
            Column("unread", "number"),
            Column("smoker", "boolean"),
            Column("since", "date"),
            Column("city", "category", ("Bern", "Basel", "Zürich", 7)),
        ),
        literals=(
            Above(0, 0.1),
            Above(0, 2.5),
            Above(1, 54.0),
            Above(3, 0.5),
            Above(4, 86400.0 * 365),
            Among(5, (0, 3)),
            Among(5, (1,)),
            Missing(0),
            Missing(5),
        ),
        nodes=(
            Node(gates[0], 0, 2),
            Node(gates[1], 3, 5),
            Node(gates[2], 1, 4),
            Node(gates[3], 9, 10),
            Node(gates[0], 11, 6),
        ),
        rules=(Rule(9, (0, 2, 0)), Rule(12, (1, 0, 0)), Rule(13, (0, 0, 3)), Rule(8, (0, -1, 1)),
               Rule(7, (2, 0, 0)), Rule(10, (0, 1, 1))),
        base_votes=(1, 0, 0),
        classes=("low", "middle", "high"),
        temperature=2.0,
    )  # fmt: skip


def mixed_rows(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.to_datetime("1970-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), "D")
    frame = pd.DataFrame(
        {
            "size (cm)": rng.choice([-1.0, 0.1, 0.2, 1e-9, 2.5, 3.25, np.inf, -np.inf], n_rows),
            "age": pd.array(rng.integers(40, 70, n_rows), dtype="Int64"),
            "unread": rng.random(n_rows),
            "smoker": pd.array(rng.random(n_rows) < 0.5, dtype="boolean"),
            "since": days.to_series(index=range(n_rows)),
            "city": rng.choice(
                np.array(["Bern", "Basel", "Zürich", 7, "Genf"], dtype=object), n_rows
            ),
        }
    )
    for name in frame.columns:
        frame.loc[rng.random(n_rows) < 0.15, name] = None
    return frame


def shown_classes(circuit: Circuit, X: Any) -> list[str]:
    return [str(circuit.classes[winner]) for winner in circuit.winners(X).tolist()]


def check_answers(
    circuit: Circuit, X: Any, answers: list[dict[str, Any]], rows: list[Any], every: int = 1
) -> None:
    """Compare every answer with Python, and the smallest change of every n-th row."""
    shown, votes = shown_classes(circuit, X), circuit.votes(X).tolist()
    for answer in answers:
        row = answer["number"] - 1
        assert answer["shown"] == shown[row]
        assert answer["votes"] == answer["votesTogether"] == votes[row]
        if row % every:
            continue
        change = circuit.explain(rows[row]).change
        expected = change and [
            change.feature,
            change.condition,
            str(change.label),
            change.n_crossed,
        ]
        assert answer["change"] == expected


def test_page_answers_like_python_for_every_kind_of_value(tab: Tab, tmp_path: Path) -> None:
    circuit, frame = mixed_circuit(), mixed_rows(600)
    y = circuit.class_labels[np.random.default_rng(1).integers(0, 3, 600)]
    page = tab.open(make_report(circuit, frame, y).html, tmp_path / "report.html")
    answers = page.evaluate(ANSWERS)
    assert len(answers) == 600
    rows = [frame.iloc[[row]] for row in range(600)]
    check_answers(circuit, frame, answers, rows, every=6)
    assert tab.complaints == []
    assert tab.requests == [(tmp_path / "report.html").as_uri()]


def test_form_predicts_what_is_typed_and_chosen(tab: Tab, tmp_path: Path) -> None:
    circuit, frame = mixed_circuit(), mixed_rows(600)
    y = circuit.class_labels[np.zeros(600, dtype=int)]
    page = tab.open(make_report(circuit, frame, y).html, tmp_path / "report.html")
    rows = page.evaluate("() => testRows.map((row) => row.cells)")
    numbers = page.evaluate("() => testRows.map((row) => row.number)")
    shown = shown_classes(circuit, frame)
    assert page.evaluate(TYPED, rows) == [shown[number - 1] for number in numbers]
    assert tab.complaints == []


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),  # shrinking takes minutes in a browser
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), circuit=circuits())
def test_page_answers_like_python_for_random_circuits(
    tab: Tab, tmp_path: Path, data: st.DataObject, circuit: Circuit
) -> None:
    rows = data.draw(rows_for(circuit, max_rows=20).filter(bool))
    X = as_objects(circuit, rows)
    report = make_report(circuit, X, [circuit.classes[0]] * len(rows))
    page = tab.open(report.html, tmp_path / "report.html")
    check_answers(circuit, X, page.evaluate(ANSWERS), rows)
    assert tab.complaints == []


HOSTILE = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'{{7*7}}'


def test_names_are_shown_as_text_whatever_they_hold(tab: Tab, tmp_path: Path) -> None:
    circuit = Circuit(
        columns=(Column(HOSTILE, "number"), Column("city", "category", (HOSTILE, "<b>x</b>"))),
        literals=(Above(0, 1.0), Among(1, (0,)), Among(1, (1,))),
        nodes=(Node(GATE_BY_NAME["AND"], 0, 1),),
        rules=(Rule(3, (0, 1)), Rule(2, (0, 1))),
        base_votes=(0, 0),
        classes=("<i>no</i>", HOSTILE),
    )
    X = [[2.0, HOSTILE], [0.0, "<b>x</b>"], [None, "<u>unseen</u>"]]
    report = make_report(circuit, X, [HOSTILE, HOSTILE, "<i>no</i>"], title=HOSTILE)
    page = tab.open(report.html, tmp_path / "report.html")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b b, main u, output i, header i").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE
    answers = page.evaluate(ANSWERS)
    check_answers(circuit, X, answers, X)
    assert page.evaluate("window.hacked") is None
    assert tab.complaints == []


# -- what a person does -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer() -> tuple[Circuit, pd.DataFrame, Any]:
    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target].astype(str)
    model = DLNClassifier(layers=(16, 8), n_networks=1, epochs=40, tau=4.0, random_state=0)
    return model.fit(data.data[::2], y[::2]).circuit_, data.data[1::2], y[1::2]


def test_rows_are_chosen_and_changes_applied_by_keyboard(
    tab: Tab, tmp_path: Path, cancer: tuple[Circuit, pd.DataFrame, Any]
) -> None:
    circuit, X, y = cancer
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    place = page.evaluate(
        "() => testRows.findIndex((row) => nearestChanges(circuit, features, row.cells).length)"
    )
    number = page.evaluate(f"() => testRows[{place}].number")
    page.evaluate(f"() => {{ first = {place}; showTable(); }}")
    page.get_by_role("button", name=f"Load row {number}", exact=True).press("Enter")
    row = page.locator("#rows-table tr[aria-current=true]")
    assert int(row.locator("td").first.inner_text()) == number
    assert page.locator("#prediction").inner_text() == shown_classes(circuit, X)[number - 1]
    before = page.locator("#prediction").inner_text()
    page.locator("#changes button").first.press("Enter")
    assert page.locator("#prediction").inner_text() != before
    value = page.evaluate("() => controls[0].cell")
    page.locator("#form input[type=range]").first.press("ArrowRight")
    assert page.evaluate("() => controls[0].cell") > value
    assert tab.complaints == []


def test_pointing_at_a_rule_highlights_its_path_only(
    tab: Tab, tmp_path: Path, cancer: tuple[Circuit, pd.DataFrame, Any]
) -> None:
    circuit, X, y = cancer
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    rule = page.locator("tr[data-rule]").first
    rule.hover()
    number = rule.get_attribute("data-rule")
    parts = page.eval_on_selector_all(
        "#picture [data-rules]",
        "parts => parts.map((part) => [part.dataset.rules, part.classList.contains('dln-lit')])",
    )
    assert any(lit for _, lit in parts)
    assert all(lit == (number in rules.split()) for rules, lit in parts)
    page.locator("h1").hover()
    assert page.locator("#picture .dln-picking").count() == 0


def test_diagram_zooms_and_fits(
    tab: Tab, tmp_path: Path, cancer: tuple[Circuit, pd.DataFrame, Any]
) -> None:
    circuit, X, y = cancer
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    view = "() => find('picture').querySelector('svg').getAttribute('viewBox')"
    page.locator("#zoom-fit").click()
    whole = page.evaluate(view)
    page.locator("#zoom-in").click()
    assert float(page.evaluate(view).split()[2]) < float(whole.split()[2])
    page.locator("#zoom-fit").click()
    assert page.evaluate(view) == whole


def test_downloaded_model_is_the_circuit(
    tab: Tab, tmp_path: Path, cancer: tuple[Circuit, pd.DataFrame, Any]
) -> None:
    circuit, X, y = cancer
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    with page.expect_download() as waiting:
        page.locator("#download").click()
    waiting.value.save_as(tmp_path / "downloaded.json")
    assert Circuit.load(tmp_path / "downloaded.json") == circuit


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("light", {"viewport": {"width": 1200, "height": 900}, "color_scheme": "light"}),
        ("dark", {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"}),
        ("phone", {"viewport": {"width": 390, "height": 844}, "has_touch": True}),
    ],
)
def test_page_fits_its_window(
    browser: Any, tmp_path: Path, cancer: tuple[Circuit, pd.DataFrame, Any], name: str, options: Any
) -> None:
    circuit, X, y = cancer
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with open_tab(browser, offline=True, **options) as tab:
        page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
        # Playwright hides the caret by a style element, which the page forbids.
        page.screenshot(path=SCREENSHOTS / f"report-{name}.png", full_page=True, caret="initial")
        wide = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
        assert wide[0] <= wide[1]
        assert tab.complaints == []


def test_page_prints_without_its_controls(
    tab: Tab, tmp_path: Path, cancer: tuple[Circuit, pd.DataFrame, Any]
) -> None:
    circuit, X, y = cancer
    page = tab.open(make_report(circuit, X, y).html, tmp_path / "report.html")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    assert page.pdf(path=SCREENSHOTS / "report.pdf").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator("#form").is_visible()
    assert page.locator("#rules").is_visible()
    page.emulate_media(media="screen")


def test_a_report_on_many_rows_can_be_mailed() -> None:
    iris = load_iris(as_frame=True)
    model = DLNClassifier(layers=(40, 30), n_networks=1, epochs=10, tau=4.0, random_state=0)
    circuit = model.fit(iris.data, iris.target).circuit_
    rng = np.random.default_rng(0)
    rows = rng.choice(150, 30_000)
    X = iris.data.to_numpy()[rows] + rng.random((30_000, 4))
    report = make_report(circuit, X, iris.target.to_numpy()[rows])
    assert len(report.html.encode()) < 2_000_000
    assert '"total":30000' in report.html


def test_a_report_on_many_cutoffs_can_be_mailed(tab: Tab, tmp_path: Path) -> None:
    cutoffs = [float(cutoff) for cutoff in range(1000)]
    circuit = Circuit(
        columns=(Column("x", "number"), Column("y", "integer")),
        literals=tuple(Above(column, cutoff) for column in (0, 1) for cutoff in cutoffs),
        nodes=(),
        rules=tuple(Rule(wire, (0, 1)) for wire in (3, 500, 1999)),
        base_votes=(1, 0),
        classes=("no", "yes"),
    )
    X = np.random.default_rng(0).integers(0, 1100, (30_000, 2))
    report = make_report(circuit, X, circuit.predict(X))
    assert len(report.html.encode()) < 2_000_000
    page = tab.open(report.html, tmp_path / "report.html")
    answers = page.evaluate(ANSWERS.replace("testRows.map", "testRows.slice(0, 3).map"))
    check_answers(circuit, X, answers, [[int(cell) for cell in row] for row in X])


def test_numbers_of_rows_that_are_too_few_are_refused() -> None:
    circuit = Circuit((Column("x", "number"),), (), (), (), (0, 0), ("a", "b"))
    with pytest.raises(OptionError, match="has 1 row numbers, but the table has 2 rows"):
        make_report(circuit, [[1.0], [2.0]], ["a", "b"], data=DataNote(numbers=(7,)))


def test_dates_are_written_and_read_alike(tab: Tab, tmp_path: Path) -> None:
    circuit = Circuit(
        (Column("d", "date"),), (Above(0, 0.0),), (), (Rule(0, (0, 1)),), (0, 0), ("a", "b")
    )
    moments = [datetime.datetime(1969, 12, 31, 23, 59, 59, 250000), datetime.datetime(2020, 2, 29)]
    report = make_report(circuit, [[moment] for moment in moments], ["a", "b"])
    page = tab.open(report.html, tmp_path / "report.html")
    texts = page.evaluate("() => testRows.map((row) => cellText(features[0], row.cells[0]))")
    assert texts == ["1969-12-31T23:59:59.250000", "2020-02-29"]
    back = page.evaluate("(texts) => texts.map(momentSeconds)", texts)
    assert back == page.evaluate("() => testRows.map((row) => row.cells[0])") == [-0.75, 1582934400]
