"""Compile exported C with strict warnings and run it."""

from __future__ import annotations

import datetime
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dln
from dln.core.literals import Column
from dln.exporters.result import Export
from dln.exporters.text import c_string
from tests.support.export.nasty import Answers, Case
from tests.support.strategies import Rows
from tests.support.tools import find_tool

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
_EPOCH = datetime.datetime(1970, 1, 1)


def run_gcc(cases: Sequence[Case], folder: Path) -> list[Answers]:
    """Compile with gcc, optimised."""
    return run_c(cases, folder, (find_tool("gcc", package="gcc"), *STRICT, "-O1"))


def run_clang(cases: Sequence[Case], folder: Path) -> list[Answers]:
    """Compile with clang and 32-bit words; undefined behaviour stops the program."""
    checks = ("-fsanitize=undefined", "-fsanitize-trap=undefined")
    compiler = (find_tool("clang", package="clang"), *STRICT, "-O0", *checks)
    return run_c(cases, folder, compiler, word_bits=32)


def run_c(
    cases: Sequence[Case], folder: Path, compiler: Sequence[str], **options: Any
) -> list[Answers]:
    """Compile all circuits into one program, with their rows as arrays, and run it."""
    main = ["#include <math.h>", "#include <stdio.h>", "#include <stdlib.h>"]
    calls = []
    for number, case in enumerate(cases):
        export = dln.export(case.circuit, to="c", name=f"model{number}", **options)
        export.save(folder / f"model{number}.h")
        main += [f'#include "model{number}.h"', *_check(case, export, number)]
        calls.append(f"    check{number}();")
    main += ["int main(void)", "{", *calls, "    return 0;", "}", ""]
    (folder / "main.c").write_text("\n".join(main), encoding="utf-8")
    program = folder / "main"
    _run([*compiler, str(folder / "main.c"), "-o", str(program), "-lm"])
    lines = iter(_run([str(program)]).splitlines())
    return [read_answers([next(lines) for _ in case.rows], case) for case in cases]


def read_answers(lines: Sequence[str], case: Case) -> Answers:
    """Read `answer batch-answer | votes | fired | probabilities` of each row.

    Both answers must be the same. Circuits without a calibration may have no probabilities.
    """
    predicted, votes, fired, probabilities = [], [], [], []
    for line in lines:
        first, second, third, fourth = line.split("|")
        probabilities.append([float(share) for share in fourth.split()])
        alone, batch = first.split()
        assert alone == batch, (alone, batch)
        predicted.append(float(alone) if case.predicts_number else int(alone))
        votes.append([int(vote) for vote in second.split()])
        fired.append([rule for rule, bit in enumerate(third.split()) if bit == "1"])
    if case.has_table:
        assert all(map(len, probabilities))
    return Answers(predicted, votes, fired, probabilities if all(map(len, probabilities)) else None)


def _check(case: Case, export: Export, number: int) -> list[str]:
    """Write a function that prints the answers of the exported code for its rows."""
    p, n_rows = f"model{number}", len(case.rows)
    n_votes, n_rules = case.circuit.readout.n_outputs, len(case.circuit.rules)
    kind, shown = ("double", "%.17g") if case.predicts_number else ("int32_t", "%d")
    index_of = {column.name: index for index, column in enumerate(case.circuit.columns)}
    lines = [f"static void check{number}(void)", "{", f"    static {kind} batch[{n_rows}], one;"]
    lines += [f"    {p}_columns c;", f"    {p}_row row;", f"    int32_t votes[{n_votes}];"]
    lines += [f"    uint8_t fired[{max(1, n_rules)}];", "    int i, k;"]
    more = []
    if case.predicts_number:
        more.append(f"        if ({p}_points(&row) != votes[0]) abort();")
        more.append(f"        if (!({p}_predict(&row) == one)) abort();")
    if case.has_table:
        lines.append(f"    double shares[{n_votes}];")
        more.append(f"        {p}_probabilities(votes, shares);")
        more.append(f'        for (k = 0; k < {n_votes}; k++) printf(" %.17g", shares[k]);')
    fill, copy = [], []
    for field in export.inputs:
        index = index_of[field.column]
        column = case.circuit.columns[index]
        cells = [_cell(row[index], column, field.type) for row in case.rows]
        listed = ", ".join(cells)
        lines.append(f"    static {field.type} {field.name}_cells[{n_rows}] = {{{listed}}};")
        if column.kind == "category":
            fill += _look_up(case.rows, index, column, field.name, p)
        fill.append(f"    c.{field.name} = {field.name}_cells;")
        copy.append(f"        row.{field.name} = {field.name}_cells[i];")
        if field.type.startswith("int") and column.kind not in ("boolean", "category"):
            flags = ", ".join(str(int(is_missing(row[index]))) for row in case.rows)
            lines.append(f"    static uint8_t {field.name}_flags[{n_rows}] = {{{flags}}};")
            fill.append(f"    c.{field.name}_missing = {field.name}_flags;")
            copy.append(f"        row.{field.name}_missing = {field.name}_flags[i];")
    if not export.inputs:
        fill.append("    c.unused = 0; row.unused = 0;")
    return [
        *lines,
        *fill,
        f"    {p}_predict_batch(&c, {n_rows}, batch);",
        f"    for (i = 0; i < {n_rows}; i++) {{",
        *copy,
        f"        one = {p}_explain(&row, votes, fired);",
        f'        printf("{shown} {shown} |", one, batch[i]);',
        f'        for (k = 0; k < {n_votes}; k++) printf(" %d", (int)votes[k]);',
        '        printf(" |");',
        f'        for (k = 0; k < {n_rules}; k++) printf(" %d", (int)fired[k]);',
        '        printf(" |");',
        *more,
        '        printf("\\n");',
        "    }",
        "}",
    ]


def is_missing(cell: Any) -> bool:
    return cell is None or cell != cell


def integer_cell(cell: Any, column: Column) -> int:
    """Write a number, date or boolean as an integer; 0 if it is missing."""
    if is_missing(cell):
        return 0
    if column.kind == "date":
        return (cell - _EPOCH) // datetime.timedelta(microseconds=1)
    return int(cell)


def _cell(cell: Any, column: Column, type_: str) -> str:
    if column.kind == "category":
        return "-1"  # until it is looked up
    if type_ == "double":
        return _double(math.nan if cell is None else cell)
    if column.kind == "boolean":
        return "-1" if cell is None else str(int(cell))
    value = integer_cell(cell, column)
    return f"INT64_C({value})" if value > -(2**63) else "INT64_MIN"


def _look_up(rows: Rows, index: int, column: Column, name: str, p: str) -> list[str]:
    """Write the statements that look up the codes of categories with the exported functions."""
    lines = []
    for number, row in enumerate(rows):
        cell = row[index]
        if is_missing(cell):
            continue
        if isinstance(cell, str):
            call = f"{p}_code_{name}({c_string(cell)}, {len(cell.encode())})"
        else:
            call = f"{p}_code_{name}_number({_double(cell)})"
        lines.append(f"    {name}_cells[{number}] = {call};")
    return lines


def _double(value: float) -> str:
    if value != value:
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return float(value).hex()


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, (done.stderr or done.stdout)[:3000]
    return done.stdout
