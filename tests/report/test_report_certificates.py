"""The report's certificates: independence of columns, and robustness of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dln import Above, Circuit, Column, Constraints, Monotone, OptionError, Rule
from dln.core.logic import Logic
from dln.core.score import Score
from dln.report import DataNote, make_report
from tests.conftest import Run
from tests.prove.test_certify import biased
from tests.support.browser import open_tab

ROWS = [[40, "m", 100.0], [50, "m", 100.0], [60, "f", 180.0], [60, "m", 123.5]]
TARGET = ["low", "low", "low", "high"]


def section(**options: Any) -> str:
    html = make_report(biased(), ROWS, TARGET, **options).html
    return html.partition('<section id="certificates"')[2].partition("</section>")[0]


def test_claims_are_proven_or_refuted() -> None:
    text = section(independent=["sex", ["age", "chol"]], tolerances={"age": 1.0})
    assert text.count("<b>refuted</b>") == 3
    assert "the class never changes with age, chol alone" in text
    assert "Proven for 3 of 4 test rows, refuted for 1." in text
    example = "Changing age from 50 to 51 changes low to high where age = 50, sex = m, chol = 100."
    assert f"Row 2: {example}" in text
    assert text.count("<b>proven</b>") == 0
    text = section(tolerances={"age": 0.5})
    assert text.count("<b>proven</b>") == 1


def test_a_column_that_is_not_read_is_proven_independent() -> None:
    columns = (Column("age", "integer"), Column("name", "category", ("x", "y")))
    circuit = Circuit(columns, (Above(0, 50.0),), (), (Rule(0, (0, 2)),), (1, 0), ("low", "high"))
    html = make_report(circuit, [[40, "x"], [60, "y"]], ["low", "high"], independent=["name"]).html
    assert "<b>proven</b>" in html


def test_there_is_no_section_unless_it_is_asked_for() -> None:
    assert section() == ""
    assert 'href="#certificates"' not in make_report(biased(), ROWS, TARGET).html


def test_constraints_of_the_model_are_proven_again() -> None:
    columns = (Column("age", "integer"), Column("name", "category", ("x", "y")))
    kept = Constraints((Monotone("age", "+", "high"),), unused_columns=("name",))
    circuit = Circuit(
        columns, (Above(0, 50.0),), (), (Rule(0, (0, 2)),), (1, 0), ("low", "high"),
        constraints=kept,
    )  # fmt: skip
    html = make_report(circuit, [[40, "x"], [60, "y"]], ["low", "high"]).html
    assert "For every possible row, high never loses as age grows." in html
    assert "For every possible row, no rule reads name." in html
    assert html.count("<b>proven</b>") == 2
    assert "Satisfied by every rule: high never loses as age grows; no rule reads name." in html


def test_without_rows_no_value_of_a_row_is_shown() -> None:
    options: dict[str, Any] = {"independent": ["sex"], "tolerances": {"age": 1.0, "chol": 77.0}}
    assert "Row " in section(**options)
    text = section(**options, rows=False)
    assert "Row " not in text
    assert "refuted for 1" in text
    assert "123.5" not in text


def test_row_numbers_are_those_of_the_file() -> None:
    note = DataNote(numbers=(11, 22, 33, 44))
    assert "Row 22: " in section(tolerances={"age": 1.0}, data=note)


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(OptionError, match="sax"):
        section(independent=["sax"])


def test_the_section_is_shown_in_a_browser(browser: Any, tmp_path: Path) -> None:
    name = "<b>sex</b>" + "x" * 150
    columns = (*biased().columns[:1], Column(name, "category", ("f", "m")), biased().columns[2])
    circuit = biased()
    circuit = Circuit(
        columns, circuit.literals, circuit.nodes, circuit.rules, (1, 0), circuit.classes
    )
    html = make_report(circuit, ROWS, TARGET, independent=[name], tolerances={"age": 1.0}).html
    for width in (375, 1200):
        viewport = {"width": width, "height": 800}
        with open_tab(browser, offline=True, viewport=viewport) as tab:
            page = tab.open(html, tmp_path / "report.html")
            table = page.locator("#certificates table")
            assert table.is_visible()
            assert table.locator("tbody tr").count() == 2
            assert "<b>sex</b>" in table.inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.get_by_role("link", name="Certificates").click()
            assert page.url.endswith("#certificates")
            assert tab.complaints == []


def test_immutable_columns_are_not_proposed_in_the_page(browser: Any, tmp_path: Path) -> None:
    names = [column.name for column in biased().columns]
    for fixed in ([], ["age"], names):
        html = make_report(biased().with_immutable(fixed), ROWS, TARGET).html
        with open_tab(browser, offline=True) as tab:
            text = tab.open(html, tmp_path / "report.html").locator("#changes").inner_text()
            assert ("age" in text) == (not fixed)
            assert ("that is not immutable flips the class" in text) == (len(fixed) > 0)
            assert tab.complaints == []


def test_the_command_has_options_for_it(run: Run, tmp_path: Path) -> None:
    biased().save(tmp_path / "m.json")
    lines = [",".join(map(str, [*row, y])) for row, y in zip(ROWS, TARGET, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["age,sex,chol,y", *lines, ""]), "utf-8")
    start = ("report", "m.json", "--data", "rows.csv", "--target", "y", "-o", "r.html")
    options = ("--prove-independent", "sex", "--tolerance", "age=1")
    assert run(*start, *options)[0] == 0
    html = Path("r.html").read_text("utf-8")
    assert "Proven for 3 of 4" in html
    assert "never changes with sex alone" in html
    status, _, err = run(*start, "--prove-independent", "sax")
    assert (status, err.count("\n")) == (2, 1)
    assert "did you mean 'sex'?" in err
    assert run(*start, "--tolerance", "age")[0] == 2


def test_a_number_has_certificates_of_its_constraints() -> None:
    columns = (Column("age", "integer"), Column("name", "category", ("x", "y")))
    circuit = Circuit(
        logic=Logic(columns, (Above(0, 50.0),), ()),
        readout=Score((Rule(0, (2,)),), (1,), name="risk"),
        constraints=Constraints((Monotone("age", "+", None),), unused_columns=("name",)),
    )
    rows, target = [[40, "x"], [60, "y"], [70, "x"]], [1.0, 3.5, 3.0]
    html = make_report(circuit, rows, target, independent=["age"]).html
    assert "For every possible row, risk never falls as age grows." in html
    assert "For every possible row, no rule reads name." in html
    assert html.count("<b>proven</b><br>Every rule satisfies it.") == 2
    assert "<b>refuted</b><br>Changing age from " in html
    assert "dln prove model.json --constraints --certificate proof.json" in html
    assert 'href="#certificates"' in html
    with pytest.raises(OptionError, match="tolerances are proven for classes, but the circuit"):
        make_report(circuit, rows, target, tolerances={"age": 1.0})
