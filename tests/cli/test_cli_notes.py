"""Notes of `dln train` on columns and classes that may not be read as the user intended."""

import csv
from pathlib import Path

import pytest

from dln.cli.layout import Layout
from dln.cli.prepare import prepare
from tests.conftest import Run

QUICK = ("-o", "m.json", "--layers", "4,2", "--networks", "1", "--epochs", "3", "--tau", "2")


def notes(tmp_path: Path, columns: dict[str, list[str]], *kinds: str) -> list[str]:
    """Return the notes on the columns of a table, without those on its target."""
    path, n_rows = tmp_path / "t.csv", len(next(iter(columns.values())))
    rows = zip(*columns.values(), ("ab"[place % 2] for place in range(n_rows)), strict=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*columns, "y"], *rows])
    found = prepare(str(path), Layout(), "y", kinds=kinds, ignore=[]).notes
    return [note for note in found if "has only one or two" not in note]


FIGURES = [f"{place % 7}.5" for place in range(39)]


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (
            [*FIGURES, "<0.3"],
            "39 of 40 values are numbers, but not '<0.3' (row 40). Correct such values, or add "
            "--kind crp=category.",
        ),
        (
            ["0", "?", "", *FIGURES, 100 * "z"],
            f"40 of 41 values are numbers, but not '{56 * 'z'}...",
        ),
        ([*FIGURES[:31], *9 * ["low"]], ""),
        ([*FIGURES[:32], *8 * ["low"]], "32 of 40 values are numbers, but not 'low' (row 33)"),
        ([*FIGURES, "0123"], ""),
        (["5,5", "1.234,5", "7"], "All values are numbers with separators: write 1,234.5 or"),
        ([*9 * ["5,5"], "low"], "9 of 10 values are numbers with separators, but not 'low'"),
        (["95%", "97 %", "99"], "All values are numbers with '%' after them: remove the '%'."),
        (["62 kg", "62,5 kg"], "All values are numbers with 'kg' after them: remove the 'kg'."),
        (["6 mg/l", *9 * ["7 mg/l"], "high"], "10 of 11 values are numbers with 'mg/l' after"),
        (["12a", "12b", "12c"], ""),
        (
            ["26/02/2023", "01.10.23"],
            "All values are dates in another format",
        ),
        (
            ["2023/02/26 08:00", "2023/02/27"],
            "All values are dates in another format",
        ),
        ([*9 * ["2023-02-26"], "soon"], "9 of 10 values are dates, but not 'soon' (row 10)"),
        (["low", "high"], ""),
    ],
)
def test_text_columns_of_mostly_numbers_or_dates_are_noted(
    tmp_path: Path, cells: list[str], note: str
) -> None:
    found = notes(tmp_path, {"crp": cells})
    assert len(found) == bool(note)
    assert "".join(found).startswith(f"Column 'crp' is read as text. {note}" if note else "")
    assert notes(tmp_path, {"crp": cells}, "crp=category") == []


def test_columns_of_unique_values_and_of_one_value_are_noted(tmp_path: Path) -> None:
    several = {"": [str(place * place) for place in range(100)], "site": 100 * ["3"]}
    same = "Column 'site' has the same value in every row. It is not used."
    unique = "Column '' is unique in every row. If it is an identifier, add --ignore ''."
    assert notes(tmp_path, several) == [unique, same]
    assert notes(tmp_path, {name: cells[:99] for name, cells in several.items()}) == [same]


def test_similar_and_rare_classes_are_noted(run: Run) -> None:
    labels = [*9 * ["healthy"], *5 * ["healthy "], *3 * ["HEALTHY"], *9 * ["ill"], "unknown"]
    table = "x,y\n" + "".join(f"{place % 9},{label}\n" for place, label in enumerate(labels))
    err = run("train", "-", "--target", "y", *QUICK, stdin=table.encode())[2]
    assert "target 'y': HEALTHY (3), healthy (9), 'healthy ' (5), ill (9), unknown (1)\n" in err
    assert (
        "note: The classes 'HEALTHY', 'healthy', 'healthy ' of 'y' differ only in spaces or case. "
        "If they are one class, write them alike.\n"
        "note: The target 'y' has only one or two rows of 'unknown'. Remove them, or join them "
        "with other classes.\n"
    ) in err


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "patient"])
@pytest.mark.parametrize("first", [0, 1])
def test_row_numbers_are_noted(tmp_path: Path, name: str, first: int) -> None:
    numbers = [str(first + place) for place in range(10)]
    (note,) = notes(tmp_path, {name: numbers, "x": FIGURES[:10]})
    assert note.startswith(
        f"Column {name!r} holds row numbers ({first}, {first + 1}, ...). Add --i"
    )
    assert notes(tmp_path, {name: numbers[::-1], "x": FIGURES[:10]}) == []


def test_integers_that_rounding_makes_equal_are_noted(tmp_path: Path) -> None:
    start = 1 << 53
    near = [str(start + place % 2) for place in range(20)]
    (note,) = notes(tmp_path, {"code": near})
    assert note == (
        "Column 'code' has integers beyond 2**53, and some differ by less than their rounding. "
        "If they are codes, add --kind code=category."
    )
    assert notes(tmp_path, {"code": near}, "code=category") == []
    assert notes(tmp_path, {"code": [str(start + 2 * (place % 2)) for place in range(20)]}) == []
