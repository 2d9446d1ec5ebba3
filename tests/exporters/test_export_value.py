"""What all targets share: ids, names, cutoffs on integers, options, files."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dln
from dln import Above, Circuit, Column, Rule
from dln.core.integers import integer_cutoff
from dln.core.moments import seconds_at
from dln.errors import OptionError
from dln.exporters.export import TARGETS
from dln.exporters.fields import fixed_point
from dln.exporters.identity import circuit_id
from dln.exporters.names import check_name, identifiers, name_after
from dln.exporters.text import comment
from tests.support.export.nasty import fixed_cases
from tests.support.strategies import NUMBERS, circuits, law

CIRCUIT = Circuit(
    (Column("age (years)", "integer"), Column("unread", "number")),
    (Above(0, 54.0), Above(1, 1.0)),
    (),
    (Rule(0, (0, 1)),),
    (0, 0),
    ("healthy", "ill"),
)
SIMPLER = replace(CIRCUIT, columns=(Column("age", "integer"), Column("unread", "number")))


def nameable(target: str) -> Circuit:
    """Return the circuit with names that a target allows; BigQuery has no parentheses in them."""
    return SIMPLER if target == "bigquery" else CIRCUIT


@law
@given(circuits())
def test_equal_circuits_have_one_id(circuit: Circuit) -> None:
    assert circuit_id(circuit) == circuit_id(replace(circuit))
    other = replace(circuit, base_votes=(circuit.base_votes[0] + 1, *circuit.base_votes[1:]))
    assert circuit_id(circuit) != circuit_id(other)


@pytest.mark.parametrize("target", TARGETS)
def test_every_export_contains_its_id_and_its_rules(target: str) -> None:
    circuit = nameable(target)
    export = dln.export(circuit, to=target)
    assert export.model_id == circuit_id(circuit)
    content = export.data.decode("utf-8", "replace")
    assert export.model_id in content
    assert f"{circuit.columns[0].name} > 54" in content
    assert "a tie goes to healthy" in content


@pytest.mark.parametrize("target", ["c", "verilog", "rust", "java"])
def test_comments_state_the_column_of_each_identifier_and_the_unit_of_dates(target: str) -> None:
    date = replace(CIRCUIT, columns=(Column("seen (UTC)", "date"), Column("unread", "number")))
    text = dln.export(date, to=target).text
    assert "'seen (UTC)': microseconds since 1970-01-01, UTC" in text


@pytest.mark.parametrize("target", TARGETS)
def test_columns_that_no_rule_reads_are_not_inputs(target: str) -> None:
    circuit = nameable(target)
    assert [x.column for x in dln.export(circuit, to=target).inputs] == [circuit.columns[0].name]


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_circuit_gives_the_same_bytes(target: str) -> None:
    circuit = SIMPLER if target == "bigquery" else fixed_cases()[-1].circuit
    assert dln.export(circuit, to=target).files == dln.export(circuit, to=target).files


def test_all_files_of_an_export_are_saved(tmp_path: Path) -> None:
    export = dln.export(CIRCUIT, to="verilog", rows=[[60, 0.0], [50, 0.0]])
    paths = export.save(tmp_path / "heart.v")
    assert [path.name for path in paths] == ["heart.v", "heart_tb.v"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["heart.v", "heart_tb.v"]
    assert paths[0].read_bytes() == export.data == export.text.encode() == str(export).encode()
    assert "to verilog: model.v" in repr(export)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        export.save(tmp_path / "none" / "heart.v")


def test_mistakes_have_a_message_of_one_line() -> None:
    with pytest.raises(OptionError, match="to is 'cobol', expected one of 'c', 'verilog'"):
        dln.export(CIRCUIT, to="cobol")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="python has no option 'stages'; its options are: none"):
        dln.export(CIRCUIT, to="python", stages=2)
    with pytest.raises(OptionError, match=r"c has no option 'rows'; .*integer_bits, fraction_bits"):
        dln.export(CIRCUIT, to="c", rows=[])
    for name in ("7up", "a b", "", "é", "x; int y", "x\n"):
        with pytest.raises(OptionError, match="expected an identifier"):
            dln.export(CIRCUIT, to="c", name=name)
    with pytest.raises(OptionError, match="a word that a target uses itself"):
        dln.export(CIRCUIT, to="c", name="while")
    with pytest.raises(OptionError, match="a word that a target uses itself"):
        dln.export(CIRCUIT, to="java", name="String")
    with pytest.raises(OptionError, match="integer_bits is 12, expected 8, 16, 32 or 64"):
        dln.export(CIRCUIT, to="c", integer_bits=12)
    with pytest.raises(OptionError, match="word_bits is 16, expected 32 or 64"):
        dln.export(CIRCUIT, to="c", word_bits=16)
    with pytest.raises(OptionError, match="fraction_bits is -1, expected an integer from 0 to 62"):
        dln.export(CIRCUIT, to="c", fraction_bits=-1)
    with pytest.raises(OptionError, match="stages is -1, expected an integer from 0 to 1000"):
        dln.export(CIRCUIT, to="verilog", stages=-1)
    with pytest.raises(OptionError, match="Verilog has no floats"):
        dln.export(CIRCUIT, to="verilog", fraction_bits=None)


@law
@given(st.lists(st.one_of(st.text(max_size=8), st.sampled_from(["a", "A", "a_missing", "int"]))))
def test_identifiers_are_unique_and_ascii(names: list[str]) -> None:
    found = identifiers(names)
    flags = {f"{name.lower()}_missing" for name in found}
    assert len({name.lower() for name in found}) == len(names)
    assert not flags & {name.lower() for name in found}
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) for name in found)


@law
@given(st.one_of(st.text(max_size=8), st.sampled_from(["a", "int", "String", "_row_", "l0", "7"])))
def test_every_file_name_becomes_a_valid_name(stem: str) -> None:
    name = name_after(stem)
    assert check_name(name) == name
    assert name_after(name) == name


MEANINGS = {"integers": float, "dates": seconds_at, "fixed point": fixed_point(16)}


@pytest.mark.parametrize("meaning", MEANINGS.values(), ids=MEANINGS)
@law
@given(cutoff=NUMBERS, near=st.integers(-3, 3), bits=st.sampled_from([8, 16, 32, 64]))
def test_integers_are_compared_like_the_numbers_they_stand_for(
    meaning: object, cutoff: float, near: int, bits: int
) -> None:
    assert callable(meaning)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    found = integer_cutoff(cutoff, meaning, low, high)
    for value in {low, high, 0, min(max(found + near, low), high)}:
        assert (value > found) == (meaning(value) > cutoff)


@law
@given(st.text())
def test_no_text_ends_a_comment(text: str) -> None:
    for opening, each, closing in (("/*", " * ", " */"), ("", "# ", ""), ("", "-- ", "")):
        written = comment([text, "*/", "x\\"], opening, each, closing)
        lines = written.rstrip("\n").split("\n")
        assert len(lines) == 3 + 2 * bool(opening)
        assert written.isascii() or written.replace("\n", "").isprintable()
        if opening:
            assert written.count("*/") == written.count("/*") == 1


def test_exports_need_neither_training_nor_an_optional_library() -> None:
    code = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("onnx", "pandas", "pyarrow", "torch", "typer"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import dln
circuit = dln.Circuit((dln.Column("x", "number"),), (dln.Above(0, 1.0),), (),
                      (dln.Rule(0, (0, 1)),), (0, 0), ("no", "yes"))
for target in ("c", "verilog", "python", "javascript", "rust", "java", "sqlite", "duckdb", "pmml"):
    dln.export(circuit, to=target)
try:
    dln.export(circuit, to="onnx")
except dln.ExtraMissingError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    message = "exporting to ONNX requires onnx; install with: pip install onnx\n"
    assert done.stdout == message, done.stderr


def test_infinite_labels_are_kept() -> None:
    circuit = Circuit((), (), (), (), (0, 1), (1.5, math.inf))
    assert "float('inf')" in dln.export(circuit, to="python").text
    assert "Infinity" in dln.export(circuit, to="javascript").text
    assert "CAST('Infinity' AS DOUBLE)" in dln.export(circuit, to="duckdb").text
