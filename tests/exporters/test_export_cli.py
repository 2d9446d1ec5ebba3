"""`dln export`: files, standard output, options and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dln
from dln import Above, Circuit, Column, Logic, Rule, Score

Run = Callable[..., tuple[int, str, str]]
CIRCUIT = Circuit(
    (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),), (0, 0), ("no", "yes")
)
PRICE = Circuit(
    logic=Logic((Column("age", "integer"),), (Above(0, 54.0),), ()),
    readout=Score((Rule(0, (32,)),), (125,), digits=1, name="price"),
)
WIDE = Circuit(
    (Column("age", "integer"), Column("dose", "number"), Column("day", "date")),
    (Above(0, 54.0), Above(0, 200.0), Above(1, 4e4), Above(2, 1e9)),
    (),
    tuple(Rule(wire, (0, 1)) for wire in range(4)),
    (0, 0),
    ("no", "yes"),
)


@pytest.fixture(autouse=True)
def _model(run: Run) -> None:
    CIRCUIT.save("model.json")


def test_the_file_equals_the_result_of_the_function(run: Run) -> None:
    status, out, err = run("export", "model.json", "--to", "c", "-o", "heart.h", "--name", "heart")
    assert (status, out, err) == (0, "", "wrote heart.h\n")
    assert Path("heart.h").read_text() == dln.export(CIRCUIT, to="c", name="heart").text


@pytest.mark.parametrize(
    ("file", "name"),
    [("heart.h", "heart"), ("2024-risk (old).h", "x2024_risk_old"), ("while.h", "while_")],
)
def test_code_is_named_after_its_file(run: Run, file: str, name: str) -> None:
    assert run("export", "model.json", "--to", "c", "-o", file)[0] == 0
    assert Path(file).read_text() == dln.export(CIRCUIT, to="c", name=name).text
    assert f"{name}_row" in Path(file).read_text()


def test_the_name_option_has_priority_and_standard_output_uses_model(run: Run) -> None:
    to_rust = ("export", "model.json", "--to", "rust")
    assert run(*to_rust)[1] == dln.export(CIRCUIT, to="rust").text
    assert run("export", "model.json", "--to", "c", "--name", "b", "-o", "a.h")[0] == 0
    assert Path("a.h").read_text() == dln.export(CIRCUIT, to="c", name="b").text


def test_a_java_file_with_another_name_prints_the_right_name(run: Run) -> None:
    to_java = ("export", "model.json", "--to", "java")
    expected = "Rename the file to Heart.java before you compile it, or use --name.\n"
    assert run(*to_java, "-o", "heart.java")[2] == f"wrote heart.java\n{expected}"
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


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (("--to", "c"), ""),
        (("--to", "python"), ""),
        (
            ("--to", "verilog"),
            "always have the same result: dose > 40000, because 32 bits, 16 after",
        ),
        (("--to", "verilog", "--fraction-bits", "8"), ""),
        (
            ("--to", "c", "--integer-bits", "8"),
            "age > 200, because 8 bits hold -128 to 127; use more",
        ),
        (
            ("--to", "c", "--fraction-bits", "62"),
            "because 64 bits, 62 after the point, hold -2 to 2",
        ),
    ],
)
def test_cutoffs_out_of_range_are_reported(run: Run, options: tuple[str, ...], note: str) -> None:
    WIDE.save("wide.json")
    status, _, err = run("export", "wide.json", *options, "-o", "wide")
    assert status == 0
    assert note in err
    assert ("note:" in err) == bool(note)


def test_the_notes_are_those_of_the_function(run: Run) -> None:
    WIDE.save("wide.json")
    notes = dln.export(WIDE, to="c", integer_bits=8, fraction_bits=2).notes
    assert len(notes) == 2
    narrow = ("--to", "c", "--integer-bits", "8", "--fraction-bits", "2", "-o", "wide.h")
    expected = [*(f"note: {note}" for note in notes), "wrote wide.h"]
    assert run("export", "wide.json", *narrow)[2].splitlines() == expected
    assert dln.export(WIDE, to="c").notes == dln.export(WIDE, to="python").notes == ()


def test_rows_make_a_testbench_beside_the_module(run: Run) -> None:
    Path("rows.csv").write_text("age,more\n54,1\n55,2\n,3\n")
    arguments = ("export", "model.json", "--to", "verilog", "--rows", "rows.csv", "--stages", "2")
    status, _, err = run(*arguments, "-o", "heart.v")
    assert (status, err) == (0, "wrote heart.v\nwrote heart_tb.v\n")
    assert "PASS, 3 rows" in Path("heart_tb.v").read_text()
    status, _, err = run(*arguments)
    assert (status, err) == (
        2,
        "dln: --rows writes two files; name the first with --output\n",
    )


def test_no_output_overwrites_an_input(run: Run) -> None:
    """The testbench is an output too: heart_tb.v comes with heart.v."""
    rows = "age,more\n54,1\n55,2\n"
    for name in ("heart_tb.v", "heart.v"):
        Path(name).write_text(rows)
        arguments = ("--to", "verilog", "--rows", name, "-o", "heart.v")
        status, out, message = run("export", "model.json", *arguments)
        assert (status, out) == (2, "")
        assert f"the output {name} is the same file as {name}" in message
        assert Path(name).read_text() == rows
        Path(name).unlink()
    CIRCUIT.save("heart_tb.v")
    Path("rows.csv").write_text(rows)
    arguments = ("--to", "verilog", "--rows", "rows.csv", "-o", "heart.v")
    assert run("export", "heart_tb.v", *arguments)[0] == 2
    assert dln.Circuit.load("heart_tb.v") == CIRCUIT
    assert not Path("heart.v").exists()


def test_a_model_of_a_number_is_exported_with_its_testbench(run: Run) -> None:
    PRICE.save("price.json")
    Path("rows.csv").write_text("age,more\n54,1\n55,2\n,3\n")
    to_verilog = ("--to", "verilog", "--rows", "rows.csv", "-o", "price.v")
    assert run("export", "price.json", *to_verilog)[0] == 0
    assert "output wire signed [8:0] points" in Path("price.v").read_text()
    assert "The prediction is points / 10." in Path("price.v").read_text()
    assert "PASS, 3 rows" in Path("price_tb.v").read_text()
    status, out, _ = run("export", "price.json", "--to", "python")
    assert status == 0
    code: dict[str, Any] = {}
    exec(out, code)
    assert code["predict"]({"age": 60}) == PRICE.predict([[60]])[0] == 15.7
    assert code["points"]({"age": 60}) == 157
    proba = run("export", "price.json", "--to", "sqlite", "--proba")
    assert proba == (
        2,
        "",
        "dln: the circuit predicts a number and has no probabilities; leave out proba\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "python", "--stages", "2"), "python has no option 'stages'"),
        (("--to", "c", "--name", "a b"), "expected an identifier"),
        (("--to", "c", "--name", ""), "expected an identifier"),
        (("--to", "cobol"), "'cobol' is not one of 'c', 'verilog'"),
        (("--to", "sql"), "for SQL, choose a database: sqlite, duckdb, postgresql, mysql, spark, "),
        (("--to", "c", "-o", "none/x.h"), "there is no folder"),
    ],
)
def test_mistakes_are_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = run("export", "model.json", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
