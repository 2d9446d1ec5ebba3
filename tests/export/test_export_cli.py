"""`dln export`: files, standard output, options and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import dln
from dln import Above, Circuit, Column, Rule

Run = Callable[..., tuple[int, str, str]]
CIRCUIT = Circuit(
    (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),), (0, 0), ("no", "yes")
)


@pytest.fixture(autouse=True)
def _model(run: Run) -> None:
    CIRCUIT.save("model.json")


def test_a_file_is_what_the_function_gives(run: Run) -> None:
    status, out, talk = run("export", "model.json", "--to", "c", "-o", "heart.h", "--name", "heart")
    assert (status, out, talk) == (0, "", "wrote heart.h\n")
    assert Path("heart.h").read_text() == dln.export(CIRCUIT, to="c", name="heart").text


def test_a_java_file_of_another_name_is_told_the_right_one(run: Run) -> None:
    to_java = ("export", "model.json", "--to", "java")
    told = "its name has to be Model.java before it is compiled: rename it, or say --name\n"
    assert run(*to_java, "-o", "heart.java")[2] == f"wrote heart.java\n{told}"
    assert run(*to_java, "-o", "Model.java")[2] == "wrote Model.java\n"
    assert run(*to_java, "--name", "heart", "-o", "Heart.java")[2] == "wrote Heart.java\n"


def test_options_reach_the_target(run: Run) -> None:
    options = ("--table", "patients", "--view", "classes", "--explain")
    status, out, _ = run("export", "model.json", "--to", "duckdb", *options, "-o", "view.sql")
    text = Path("view.sql").read_text()
    assert (status, out) == (0, "")
    assert 'CREATE VIEW "classes" AS' in text
    assert 'FROM "patients" AS ' in text
    assert "explanation" in text
    options = ("--integer-bits", "16", "--fraction-bits", "4", "--word-bits", "32")
    assert run("export", "model.json", "--to", "c", *options, "-o", "small.h")[0] == 0
    assert "int16_t age;" in Path("small.h").read_text()


def test_rows_make_a_testbench_beside_the_module(run: Run) -> None:
    Path("rows.csv").write_text("age,more\n54,1\n55,2\n,3\n")
    arguments = ("export", "model.json", "--to", "verilog", "--rows", "rows.csv", "--stages", "2")
    status, _, talk = run(*arguments, "-o", "heart.v")
    assert (status, talk) == (0, "wrote heart.v\nwrote heart_tb.v\n")
    assert "PASS, 3 rows" in Path("heart_tb.v").read_text()
    status, _, talk = run(*arguments)
    assert (status, talk) == (
        2,
        "dln: with --rows two files are written; say where with --output\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "python", "--stages", "2"), "python has no option 'stages'"),
        (("--to", "c", "--name", "a b"), "expected an identifier"),
        (("--to", "cobol"), "'cobol' is not one of 'c', 'verilog'"),
        (("--to", "c", "-o", "none/x.h"), "there is no folder"),
    ],
)
def test_mistakes_are_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, out, talk = run("export", "model.json", *arguments)
    assert (status, out) == (2, "")
    assert message in talk
    assert talk.count("\n") == 1
