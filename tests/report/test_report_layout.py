"""The report fits its window and its paper, with long names and many classes too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dln import Above, Circuit, Column, Rule
from dln.report import make_report
from tests.support.browser import Tab, open_tab

PAPER = {"width": 718, "height": 1047}
"""A4 less Chromium's margins, in CSS pixels."""
CUT_OFF = """() => [...document.querySelectorAll(".scroll, main")]
  .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent.slice(0, 80))"""


def wide_report(n_classes: int, n_columns: int, letters: int = 0) -> str:
    """Report on a circuit with names of so many letters without a space."""
    rng = np.random.default_rng(0)
    rules = [tuple(int(place == number % n_classes) for place in range(n_classes))
             for number in range(n_columns)]  # fmt: skip
    circuit = Circuit(
        columns=tuple(Column(f"column{'n' * letters}{i}", "number") for i in range(n_columns)),
        literals=tuple(Above(column, 0.5) for column in range(n_columns)),
        nodes=(),
        rules=tuple(Rule(wire, votes) for wire, votes in enumerate(rules)),
        base_votes=(0,) * n_classes,
        classes=tuple(f"class{'c' * letters}{number}" for number in range(n_classes)),
    )
    X = rng.random((4 * n_classes, n_columns))
    y = [circuit.classes[row % n_classes] for row in range(len(X))]
    return make_report(circuit, X, y).html


@pytest.mark.parametrize("width", [375, 1200])
@pytest.mark.parametrize(("n_classes", "n_columns", "letters"), [(2, 3, 150), (30, 40, 0)])
def test_long_and_many_names_stay_within_the_window(
    browser: Any, tmp_path: Path, width: int, n_classes: int, n_columns: int, letters: int
) -> None:
    with open_tab(browser, offline=True, viewport={"width": width, "height": 800}) as tab:
        html = wide_report(n_classes, n_columns, letters)
        page = tab.open(html, tmp_path / "report.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.complaints == []


def printed(tab: Tab, html: str, path: Path) -> Any:
    page = tab.open(html, path)
    page.emulate_media(media="print")
    return page


@pytest.mark.parametrize(
    ("n_classes", "n_columns", "letters"), [(2, 3, 150), (3, 12, 0), (30, 4, 0), (30, 40, 40)]
)
def test_nothing_is_cut_off_on_paper(
    browser: Any, tmp_path: Path, n_classes: int, n_columns: int, letters: int
) -> None:
    with open_tab(browser, offline=True, viewport=PAPER) as tab:
        html = wide_report(n_classes, n_columns, letters)
        page = printed(tab, html, tmp_path / "report.html")
        assert page.evaluate(CUT_OFF) == []
        matrix = "#matrix" if n_classes == 2 else ".confusion:not(#matrix)"
        assert page.locator(f"{matrix} tbody td:not(.total)").count() == n_classes**2
        # Either the rows are printed, or a sentence says that they are not.
        assert page.locator("#rows-table").is_visible() == (n_columns <= 12)
        assert page.get_by_text("too many to print").is_visible() == (n_columns > 12)


def test_paper_does_not_mention_controls(browser: Any, tmp_path: Path) -> None:
    with open_tab(browser, offline=True, viewport=PAPER) as tab:
        page = printed(tab, wide_report(2, 3), tmp_path / "report.html")
        text = page.locator("main").inner_text()
        for words in (
            "check mark",
            "Point at",
            "Choose a row",
            "Try it",
            "Zoom",
            "Moving the threshold",
        ):
            assert words not in text
