"""The report of a path in Chromium: the dial switches rules, figures and form, and keeps values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score

from dln import DLNClassifier, DLNRegressor, PathPoint, load_path
from dln._util.messages import percent
from dln.paths.path import CircuitPath
from dln.report import make_report
from dln.report.dial import MOST_SIZES, points_to_show
from tests.conftest import Run
from tests.support.browser import open_tab

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


def make_rows(n_rows: int = 400) -> tuple[pd.DataFrame, pd.Series[str]]:
    """Make rows whose class depends on five columns, so that the path has several sizes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n_rows),
            "weight": rng.normal(75.0, 12.0, n_rows).round(1),
            "pain": rng.choice(["none", "some", "much"], n_rows),
            "smoker": rng.choice(["no", "yes"], n_rows),
            "pulse": rng.integers(50, 110, n_rows),
        }
    )
    score = (
        (X["age"] - 50) / 12
        + (X["weight"] - 75) / 16
        + 1.5 * (X["pain"] == "much")
        + 1.2 * (X["smoker"] == "yes")
        + (X["pulse"] - 80) / 30
    )
    ill = score + rng.logistic(scale=0.4, size=n_rows) > 1.0
    return X, pd.Series(np.where(ill, "ill", "healthy"), name="state")


@pytest.fixture(scope="module")
def fitted() -> tuple[CircuitPath, pd.DataFrame, Any]:
    X, y = make_rows()
    model = DLNClassifier(max_rules=8, random_state=0, n_jobs=1).fit(X[:300], y[:300])
    assert model.path_ is not None
    return model.path_, X[300:], y[300:]


def move(page: Any, key: str) -> None:
    """Move the dial by a key, which shows another model."""
    page.locator("#dial-size").focus()
    with page.expect_navigation():
        page.keyboard.press(key)


def accuracy_of(point: PathPoint, X: pd.DataFrame, y: Any) -> str:
    predicted = np.array(point.circuit.classes)[point.circuit.winners(X)]
    return percent(balanced_accuracy_score(y, predicted))


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_the_dial_switches_the_model_and_keeps_the_values(
    browser: Any,
    tmp_path: Path,
    fitted: tuple[CircuitPath, pd.DataFrame, Any],
    options: dict[str, Any],
) -> None:
    path, X, y = fitted
    points = points_to_show(path)
    assert len(points) > 3
    with open_tab(browser, **options) as tab:
        page = tab.open(make_report(path, X, y).html, tmp_path / "path.html")
        start = points.index(path[path.chosen])
        assert page.locator("#dial-size").input_value() == str(start)
        assert "chosen by the fit" in page.locator("#dial-text").inner_text()
        page.locator(".field", has_text="pain").locator("select").select_option(label="much")
        page.locator(".field", has_text="age").locator("input[type=text]").fill("61")
        for place, key in ((0, "Home"), (1, "ArrowRight"), (len(points) - 1, "End")):
            move(page, key)
            point = points[place]
            assert page.locator("#dial-text").inner_text().startswith(f"{point.size.n_rules} rule")
            assert page.locator("#rules-list tr[data-rule]").count() == len(point.circuit.rules)
            assert accuracy_of(point, X, y) in page.locator(".cards").inner_text()
            values = {"age": 61, "pain": "much"}
            for name in point.size.columns:
                field = page.locator(".field", has=page.locator(f"label.name:text-is('{name}')"))
                if name == "age":
                    assert field.locator("input[type=text]").input_value() == "61"
                elif name == "pain":
                    assert field.locator("select option:checked").inner_text() == "much"
                elif field.locator("select").count():
                    values[name] = field.locator("select option:checked").inner_text()
                else:
                    values[name] = float(field.locator("input[type=text]").input_value())
            row = {name: values.get(name) for name in X.columns}
            winner = point.circuit.winners(pd.DataFrame([row]))[0]
            shown = page.locator("#prediction").inner_text()
            assert shown == point.circuit.classes[winner]
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        assert tab.complaints == []


def test_a_report_has_few_sizes_and_the_chosen_one(
    fitted: tuple[CircuitPath, pd.DataFrame, Any],
) -> None:
    path, X, y = fitted
    for chosen in range(len(path)):
        other = CircuitPath(path.points, chosen, path.measure)
        points = points_to_show(other)
        assert path[chosen] in points
        assert points[0] is path[0]
        assert points[-1] is path[-1]
        assert len(points) <= MOST_SIZES
        literals = [point.size.n_literals for point in points]
        assert literals == sorted(set(literals))
    assert len(make_report(path, X, y).html) < 1_900_000


def test_without_rows_no_size_holds_rows(
    fitted: tuple[CircuitPath, pd.DataFrame, Any],
) -> None:
    path, X, y = fitted
    html = make_report(path, X, y, rows=False).html
    assert html.count('"rows":null') == len(points_to_show(path))


def test_numbers_have_a_dial_too(browser: Any, tmp_path: Path) -> None:
    X, _ = make_rows(200)
    y = X["age"] * 1.0 + 10 * (X["pain"] == "much") + 5 * (X["smoker"] == "yes")
    model = DLNRegressor(max_rules=5, random_state=0, n_jobs=1).fit(X, y)
    assert model.path_ is not None
    with open_tab(browser) as tab:
        page = tab.open(make_report(model.path_, X, y).html, tmp_path / "number.html")
        move(page, "Home")
        assert "R², cross-validated" in page.locator("#dial-text").inner_text()
        assert page.locator("#prediction").inner_text()
        assert tab.complaints == []


def test_train_saves_a_path_that_the_report_shows_on_the_test_rows(run: Run) -> None:
    X, y = make_rows(200)
    X.assign(state=y).to_csv("clinic.csv", index=False)
    options = "--max-rules", "4", "--path", "path.json"
    assert run("train", "clinic.csv", "-t", "state", *options)[0] == 0
    path = load_path("path.json")
    origins = [point.circuit.origin for point in path]
    assert origins[0] is not None
    assert origins[0].target == "state"
    assert all(origin == origins[0] for origin in origins)
    assert Path("path.json").read_text().count('"digest"') == 1
    status, _, err = run("report", "path.json", "-d", "clinic.csv", "-o", "clinic.html")
    assert status == 0
    assert "150 of the 200 rows were used to train this model; they are left out." in err
    assert 'id="dial"' in Path("clinic.html").read_text()
    assert run("path", "path.json", "--max-rules", "2", "-o", "small.json")[0] == 0
    _, _, err = run("evaluate", "small.json", "clinic.csv")
    assert "150 of the 200 rows were used to train this model; they are left out." in err
