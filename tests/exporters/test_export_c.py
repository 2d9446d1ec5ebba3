"""C beyond the conformance suite: integers of every width, fixed point, large circuits, size."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dln
from dln import GATES, Above, Circuit, Column, Missing, Node, Rule
from dln.exporters.c_gates import MOST_STATEMENTS
from dln.exporters.fields import make_fields
from dln.exporters.program import make_program
from dln.exporters.testbench import representable
from tests.support.export.nasty import Case, drawn_cases, fixed_cases, nasty_rows
from tests.support.export.run_c import STRICT, run_c
from tests.support.tools import find_tool

INTEGERS = Circuit(
    (Column("n", "integer"), Column("x", "number"), Column("when", "date")),
    (
        *(Above(0, cutoff) for cutoff in (-129.0, -128.0, -0.5, 99.0, 127.0, 1e9, -1e300)),
        *(Above(1, cutoff) for cutoff in (-0.1, 0.0, 0.1, 3.0, 1e9, -1e9)),
        Above(2, 86400.25),
        Missing(0),
        Missing(1),
    ),
    (Node(GATES[6], 0, 9), Node(GATES[2], 4, 10)),
    tuple(Rule(wire, (wire, 1)) for wire in range(18)),
    (0, 60),
    (0, 1),
)


@pytest.mark.parametrize(
    "options",
    [
        {"integer_bits": 8, "fraction_bits": 4},
        {"integer_bits": 16, "fraction_bits": 0},
        {"integer_bits": 32, "fraction_bits": 16, "word_bits": 32},
        {"integer_bits": 64, "fraction_bits": 40},
    ],
    ids=str,
)
def test_integers_of_every_width_and_fixed_point_answer_like_the_circuit(
    options: dict[str, Any], tmp_path: Path
) -> None:
    # The program reads the integers, and the circuit reads the numbers that they stand for.
    fields = make_fields(
        make_program(INTEGERS, "m"), options["integer_bits"], options["fraction_bits"]
    )
    rows = nasty_rows(INTEGERS, 70)
    given, meant = [list(row) for row in rows], [list(row) for row in rows]
    for field in fields[:2]:
        cells = [np.nan if row[field.index] is None else float(row[field.index]) for row in rows]
        integers, numbers = representable(np.array(cells), field)
        for row, integer, number in zip(range(len(rows)), integers, numbers.tolist(), strict=True):
            given[row][field.index] = None if number != number else integer
            meant[row][field.index] = None if number != number else number
    compiler = (find_tool("gcc", package="gcc"), *STRICT, "-O1")
    (answers,) = run_c([Case(INTEGERS, given)], tmp_path, compiler, **options)
    assert answers == Case(INTEGERS, meant).answers()
    assert "double" not in dln.export(INTEGERS, to="c", **options).text


def test_a_large_circuit_is_a_table_and_answers_like_the_circuit(tmp_path: Path) -> None:
    mix = random.Random(7)
    n_gates = MOST_STATEMENTS + 500
    circuit = Circuit(
        tuple(Column(f"x{i}", "number") for i in range(6)),
        tuple(Above(i % 6, i / 10) for i in range(30)),
        tuple(
            Node(GATES[w % 16], w - mix.randrange(1, 30), mix.randrange(max(0, w - 300), w))
            for w in range(30, 30 + n_gates)
        ),
        # Rules read every gate, so that none is left out, not even constants and copies.
        tuple(Rule(wire, (wire % 7 - 3, 1)) for wire in range(30, 30 + n_gates)),
        (0, 0),
        ("a", "b"),
    )
    assert "model_net" in dln.export(circuit, to="c").text
    case = Case(circuit, nasty_rows(circuit, 130))
    (answers,) = run_c([case], tmp_path, (find_tool("gcc", package="gcc"), *STRICT, "-O1"))
    assert answers == case.answers()


def test_the_header_may_be_included_twice_and_left_unused(tmp_path: Path) -> None:
    dln.export(fixed_cases()[-1].circuit, to="c").save(tmp_path / "model.h")
    source = tmp_path / "main.c"
    source.write_text('#include "model.h"\n#include "model.h"\nint main(void) { return 0; }\n')
    for name in ("gcc", "clang"):
        compiler = find_tool(name, package=name)
        command = [compiler, *STRICT, "-O2", str(source), "-o", str(tmp_path / "main")]
        subprocess.run(command, check=True)


LANGUAGES = {
    "gcc": ("gcc", "-xc", "-std=c99"),
    "clang": ("clang", "-xc", "-std=c11"),
    "g++": ("g++", "-xc++", "-std=c++11"),
    "clang++": ("clang++", "-xc++", "-std=c++17"),
}


@pytest.mark.parametrize("command", LANGUAGES.values(), ids=LANGUAGES)
def test_a_header_compiles_alone_without_warnings(command: tuple[str, ...], tmp_path: Path) -> None:
    """The header is the whole program here, so that compilers warn about unused functions."""
    narrow = {"integer_bits": 8, "fraction_bits": 4}
    # No 8-bit integer exceeds 200, so that the flag of missing values is not read.
    beyond = Circuit(
        (Column("n", "integer"),), (Above(0, 200.0),), (), (Rule(0, (1,)),), (0,), ("a",)
    )
    circuits = [beyond, INTEGERS, *(case.circuit for case in (*fixed_cases(), *drawn_cases()[::5]))]
    files = []
    for number, circuit in enumerate(circuits):
        for options in ({}, narrow):
            files.append(tmp_path / f"model{number}_{len(options)}.h")
            dln.export(circuit, to="c", **options).save(files[-1])
    compiler = find_tool(command[0], package=command[0].replace("clang++", "clang"))
    flags = ("-Wall", "-Wextra", "-Wunused", "-Werror", "-pedantic", "-fsyntax-only")
    done = subprocess.run(
        [compiler, *command[1:], *flags, *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]


def test_columns_may_be_named_like_macros_and_keywords(tmp_path: Path) -> None:
    """Each macro of the standard headers is a column, and a program includes all headers."""
    includes = "".join(f"#include <{header}.h>\n" for header in STANDARD_HEADERS)
    gcc = find_tool("gcc", package="gcc")
    done = subprocess.run(
        [gcc, "-std=c11", "-dM", "-E", "-"],
        input=includes,
        capture_output=True,
        text=True,
        check=True,
    )
    macros = re.findall(r"#define ([A-Za-z]\w*)", done.stdout)
    assert {"EOF", "I", "NULL", "INT_MAX", "complex", "errno"} <= set(macros)
    macros += ["linux", "unix"]  # of gcc itself, without a standard
    circuit = Circuit(
        tuple(Column(name, "number") for name in macros),
        tuple(Above(place, 0.5) for place in range(len(macros))),
        (),
        tuple(Rule(place, (1,)) for place in range(len(macros))),
        (0,),
        ("a",),
    )
    export = dln.export(circuit, to="c")
    export.save(tmp_path / "model.h")
    filled = "".join(f"    row.{column.name} = 1;\n" for column in export.inputs)
    source = tmp_path / "main.c"
    source.write_text(
        f'{includes}#include "model.h"\nint main(void)\n{{\n    model_row row;\n{filled}'
        "    return model_predict(&row);\n}\n"
    )
    for standard in ("c99", "c11", "gnu11"):
        subprocess.run([gcc, f"-std={standard}", "-fsyntax-only", str(source)], check=True)


STANDARD_HEADERS = (
    *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
    *("locale", "math", "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool"),
    *("stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string", "time", "uchar", "wchar"),
    "wctype",
)


def test_a_trained_circuit_fits_a_microcontroller(tmp_path: Path) -> None:
    circuit = fixed_cases()[-1].circuit
    flash, ram = cortex_m0_size(circuit, tmp_path)
    assert 0 < flash < 8 * 1024
    assert ram == 0  # only the stack is used


def cortex_m0_size(circuit: Circuit, folder: Path) -> tuple[int, int]:
    """Return the bytes of flash and of RAM that predicting one row takes on a Cortex-M0."""
    options = {"integer_bits": 16, "fraction_bits": 8, "word_bits": 32}
    dln.export(circuit, to="c", **options).save(folder / "model.h")
    source, built = folder / "main.c", folder / "main.o"
    source.write_text(
        '#include "model.h"\nint predict(const model_row *row);\n'
        "int predict(const model_row *row) { return model_predict(row); }\n"
    )
    gcc = find_tool("arm-none-eabi-gcc", package="gcc-arm-none-eabi")
    size = find_tool("arm-none-eabi-size", package="binutils-arm-none-eabi")
    command = [
        gcc,
        "-mcpu=cortex-m0",
        "-mthumb",
        "-ffreestanding",
        "-Os",
        *STRICT,
        "-c",
        str(source),
    ]
    subprocess.run([*command, "-o", str(built)], check=True)
    said = subprocess.run([size, str(built)], check=True, capture_output=True, text=True).stdout
    text, data, bss = map(int, re.findall(r"\d+", said.splitlines()[1])[:3])
    return text + data, data + bss
