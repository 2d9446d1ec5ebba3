"""Words read as missing values: the command line agrees with pandas and prints a note."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dln import Above, Among, Circuit, Column, Missing, Rule
from dln.cli import main
from dln.cli.layout import Layout
from dln.cli.missing import MISSING_WORDS, MissingWords
from dln.cli.prepare import prepare
from tests.conftest import Run
from tests.support.strategies import law

TRAIN = ("-o", "m.json", "--layers", "4,2", "--networks", "1", "--epochs", "3", "--tau", "2")
WORDS = st.sampled_from([*MISSING_WORDS, "?", "NA ", "na"])


def test_the_words_are_those_of_pandas() -> None:
    from pandas._libs.parsers import STR_NA_VALUES

    assert sorted(MISSING_WORDS) == sorted(STR_NA_VALUES)


def written(columns: dict[str, list[str]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    return text.getvalue()


def tables() -> st.SearchStrategy[dict[str, list[str]]]:
    cells = {
        "number": st.sampled_from([*MISSING_WORDS, "1", "-2.5", "0", "1e3"]),
        "text": st.sampled_from(["red", "blue", "a,b", 'say "NA"']) | WORDS,
        "flag": st.sampled_from([*MISSING_WORDS, "True", "False"]),
    }
    return st.integers(1, 6).flatmap(
        lambda n: st.fixed_dictionaries(
            {name: st.lists(cell, min_size=n, max_size=n) for name, cell in cells.items()}
        )
    )


CIRCUIT = Circuit(
    columns=(
        Column("number", "number"),
        Column("text", "category", ("red", "?", "NA ")),
        Column("flag", "boolean"),
    ),
    literals=(
        *(Above(0, 0.0), Among(1, (0,)), Among(1, (1, 2)), Above(2, 0.5)),
        *(Missing(0), Missing(1), Missing(2)),
    ),
    nodes=(),
    rules=tuple(
        Rule(place, tuple(2**place if label == 1 else 0 for label in range(2)))
        for place in range(7)
    ),
    base_votes=(64, 0),
    classes=("no", "yes"),
)


@law
@given(columns=tables())
def test_predict_agrees_with_pandas_on_every_file(columns: dict[str, list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, model, out = (f"{folder}/{name}" for name in ("t.csv", "m.json", "votes.csv"))
        Path(table).write_text(written(columns))
        CIRCUIT.save(model)
        assert main(["predict", model, table, "--votes", "-o", out]) == 0
        found = pd.read_csv(out)
    votes = CIRCUIT.votes(pd.read_csv(io.StringIO(written(columns))))
    np.testing.assert_array_equal(found[["votes_no", "votes_yes"]], votes)


@law
@given(
    labels=st.lists(st.sampled_from(["a", "b"]) | WORDS, min_size=2, max_size=8)
    | st.lists(st.sampled_from(["1", "2", *MISSING_WORDS]), min_size=2, max_size=8)
    | st.lists(st.sampled_from(["9007199254740993", "9007199254740992"]), min_size=2, max_size=8)
)
def test_train_reads_the_classes_that_pandas_reads(labels: list[str]) -> None:
    text = written({"x": [str(place) for place in range(len(labels))], "y": labels})
    expected = pd.read_csv(io.StringIO(text))["y"].dropna().tolist()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text(text)
        if not expected:
            with pytest.raises(ValueError, match="the target 'y' has no value in any of"):
                prepare(str(path), Layout(), "y", kinds=[], ignore=[])
            return
        prepared = prepare(str(path), Layout(), "y", kinds=[], ignore=[])
    assert prepared.y.tolist() == expected
    assert len(prepared.X) == len(expected)


PENGUINS = "mass,island,sex\n" + "".join(
    f"{3000 + 10 * place},{'NA' if place % 9 == 0 else 'Biscoe'},"
    f"{'NA' if place % 10 == 3 else 'female' if place % 2 else 'male'}\n"
    for place in range(60)
)


def test_words_read_as_missing_in_text_columns_and_targets_are_noted(run: Run) -> None:
    status, _, err = run("train", "-", "--target", "sex", *TRAIN, stdin=PENGUINS.encode())
    assert status == 0
    assert (
        "note: The target 'sex' has no value in 6 of 60 rows, which are left out.\n"
        "note: Target 'sex': 6 values 'NA' are read as missing. "
        "To keep them as a category, add --missing ''.\n"
        "note: Column 'island': 7 values 'NA' are read as missing. "
        "To keep them as a category, add --missing ''.\n"
    ) in err
    assert "read 54 rows" in err
    assert Circuit.load("m.json").classes == ("female", "male")
    status, out, err = run("evaluate", "m.json", "-", "--all-rows", stdin=PENGUINS.encode())
    assert status == 0
    assert "on 54 rows" in out
    assert "The target 'sex' has no value in 6 of 60 rows, which are left out." in err


def test_a_model_remembers_the_words_that_it_was_trained_with(run: Run) -> None:
    train = ("train", "-", "--target", "sex", *TRAIN)
    status, _, err = run(*train, "--missing", "", stdin=PENGUINS.encode())
    assert status == 0
    assert "are read as missing" not in err
    circuit = Circuit.load("m.json")
    assert circuit.classes == ("NA", "female", "male")
    assert circuit.origin is not None
    assert dict(circuit.origin.settings)["missing"] == ""
    out = run("evaluate", "m.json", "-", "--all-rows", stdin=PENGUINS.encode())[1]
    assert "on 60 rows" in out


@pytest.mark.parametrize(
    ("options", "origin_words", "expected"),
    [
        ((), None, ["yes", "yes", "no", "no"]),
        (("--missing", "-999"), None, ["yes", "no", "yes", "no"]),
        (("--missing", "-999,NA"), None, ["yes", "yes", "yes", "no"]),
        ((), "-999", ["yes", "no", "yes", "no"]),
        (("--missing", "NA"), "-999", ["yes", "yes", "no", "no"]),
    ],
)
def test_words_given_now_replace_the_words_of_training_and_the_default(
    run: Run, options: tuple[str, ...], origin_words: str | None, expected: list[str]
) -> None:
    from dln.cli.missing import remember_words
    from dln.core.origin import Origin

    words = None if origin_words is None else MissingWords.from_option(origin_words)
    origin = remember_words(Origin("t.csv", "", "y", 1, 0.25, 0, "0.1.0"), words)
    Circuit(
        (Column("x", "category", ("a", "b")),),
        (Missing(0),),
        (),
        (Rule(0, (0, 1)),),
        (0, 0),
        ("no", "yes"),
        origin=origin,
    ).save("m.json")
    table = b"x,y\n,1\nNA,1\n-999,1\na,1\n"
    status, out, _ = run("predict", "m.json", "-", *options, stdin=table)
    assert (status, out.splitlines()[1:]) == (0, expected)


def test_a_number_can_be_read_as_a_missing_value(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n-999,a\n5,b\nNA,a\n")
    layout = Layout(missing=MissingWords.from_option("-999,NA"))
    prepared = prepare(str(path), layout, "y", kinds=[], ignore=[])
    assert prepared.kinds == {"x": "integer"}
    assert prepared.X.column("x").to_pylist() == [None, 5, None]


def test_question_marks_read_as_missing_in_columns_of_numbers_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,c,y\n1,?,a\n?,red,b\n3,?,a\n?,blue,b\n")
    prepared = prepare(str(path), Layout(), "y", kinds=[], ignore=[])
    assert prepared.X.column("x").to_pylist() == [1, None, 3, None]
    assert prepared.X.column("c").to_pylist() == ["?", "red", "?", "blue"]
    assert prepared.notes[0] == "Column 'x': 2 values '?' are read as missing."
    assert prepared.notes[-1] == (
        "Column 'c' has the category '?'. If it means missing, add --missing '?,NA' "
        "(list every such word)."
    )


def test_one_value_is_written_in_the_singular(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n?,b\n3,a\n4,b\n")
    notes = prepare(str(path), Layout(), "y", kinds=[], ignore=[]).notes
    assert "Column 'x': 1 value '?' is read as missing." in notes


def test_the_note_on_text_uses_the_words_that_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + 9 * "1.5,a\n2.5,b\n" + "NA,a\n")
    layout = Layout(missing=MissingWords.from_option(""))
    prepared = prepare(str(path), layout, "y", kinds=[], ignore=[])
    assert prepared.kinds == {"x": "category"}
    assert prepared.notes == (
        "Column 'x' is read as text. 18 of 19 values are numbers, but not 'NA' (row 19). "
        "Correct such values, or add --kind x=category.",
    )


def test_a_word_that_is_a_category_of_the_model_is_not_missing(run: Run) -> None:
    Circuit(
        (Column("x", "category", ("NA", "b")),),
        (Among(0, (0,)),),
        (),
        (Rule(0, (0, 1)),),
        (0, 0),
        ("NA", "yes"),
    ).save("m.json")
    table = b"x,y\nNA,yes\nb,NA\n"
    assert run("predict", "m.json", "-", stdin=table)[1].splitlines() == ["prediction", "yes", "NA"]
    assert "Accuracy: 100.0 %" in run("evaluate", "m.json", "-", "-t", "y", stdin=table)[1]
