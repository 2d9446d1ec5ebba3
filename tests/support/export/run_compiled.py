"""Compile and run exported Rust and Java."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dln
from dln.core.literals import Column
from dln.exporters.categories import holds_numbers, spell
from dln.exporters.java_parts import java_string
from dln.exporters.rust_answers import rust_string
from tests.support.export.nasty import Answers, Case
from tests.support.export.run_c import integer_cell, is_missing, read_answers
from tests.support.tools import find_tool


def run_rustc(cases: Sequence[Case], folder: Path) -> list[Answers]:
    rustc = find_tool("rustc", package="rustc")
    main, calls = [], []
    for number, case in enumerate(cases):
        name = f"model{number}"
        export = dln.export(case.circuit, to="rust", name=name)
        export.save(folder / f"{name}.rs")
        rows = [
            f"{name}::Row {{ {', '.join(cells)} }}" for cells in _rows(case, export, _rust_cell)
        ]
        main += [
            f"mod {name};",
            f"fn check{number}() {{",
            f"    let rows: [{name}::Row; {len(rows)}] = [\n        {', '.join(rows)}\n    ];",
            "    for row in rows.iter() {",
            f"        let said = {name}::explain(row);",
            *_rust_answer(case, name),
            '        print!(" |");',
            '        for &bit in said.rules.iter() { print!(" {}", bit as u8); }',
            '        print!(" |");',
            *_rust_shares(case, name),
            "        println!();",
            "    }",
            "}",
        ]
        calls.append(f"    check{number}();")
    main += ["fn main() {", *calls, "}", ""]
    (folder / "main.rs").write_text("\n".join(main), encoding="utf-8")
    program = folder / "main"
    _run([rustc, "--edition=2018", "-Dwarnings", "-o", str(program), str(folder / "main.rs")])
    return _read(_run([str(program)]), cases)


def run_java(cases: Sequence[Case], folder: Path) -> list[Answers]:
    javac = find_tool("javac", package="default-jdk-headless")
    java = find_tool("java", package="default-jdk-headless")
    main, calls = ["public class Main {"], []
    for number, case in enumerate(cases):
        export = dln.export(case.circuit, to="java", name=f"model{number}")
        name = export.name
        export.save(folder / f"{name}.java")
        main.append(f"    static void check{number}() {{ {name}.Row r;")
        for cells in _rows(case, export, _java_cell):
            given = " ".join(f"r.{cell};" for cell in cells)
            main.append(f"        r = new {name}.Row(); {given} show{number}(r);")
        main += [
            "    }",
            f"    static void show{number}({name}.Row row) {{",
            f"        {name}.Explanation e = {name}.explain(row);",
            *_java_answer(case, name),
            '        System.out.print(" |");',
            '        for (boolean bit : e.rules) System.out.print(bit ? " 1" : " 0");',
            '        System.out.print(" |");',
            *_java_shares(case, name),
            "        System.out.println();",
            "    }",
        ]
        calls.append(f"        check{number}();")
    main += ["    public static void main(String[] arguments) {", *calls, "    }", "}", ""]
    (folder / "Main.java").write_text("\n".join(main), encoding="utf-8")
    files = [str(path) for path in sorted(folder.glob("*.java"))]
    _run([javac, "-Xlint:all", "-Werror", "-encoding", "UTF-8", "-d", str(folder), *files])
    return _read(_run([java, "-Xshare:auto", "-cp", str(folder), "Main"]), cases)


def _rust_answer(case: Case, name: str) -> list[str]:
    if case.predicts_number:
        return [
            f'        print!("{{:?}} {{:?}} |", said.prediction, {name}::predict(row));',
            "        assert_eq!(said.points, " + f"{name}::points(row));",
            '        print!(" {}", said.points);',
        ]
    return [
        f'        print!("{{}} {{}} |", said.class_number, {name}::predict(row));',
        '        for vote in said.votes.iter() { print!(" {}", vote); }',
    ]


def _java_answer(case: Case, name: str) -> list[str]:
    if case.predicts_number:
        return [
            f'        System.out.print(e.prediction + " " + {name}.predict(row) + " |");',
            f'        System.out.print(" " + {name}.points(row));',
        ]
    return [
        f'        System.out.print(e.classNumber + " " + {name}.predict(row) + " |");',
        '        for (int vote : e.votes) System.out.print(" " + vote);',
    ]


def _java_shares(case: Case, name: str) -> list[str]:
    if case.predicts_number:
        return []
    return [
        f"        for (double share : {name}.probabilities(e.votes)) {{",
        '            System.out.print(" " + share);',
        "        }",
    ]


def _rust_shares(case: Case, name: str) -> list[str]:
    if not case.has_table:
        return []
    each = f"{name}::probabilities(&said.votes).iter()"
    return [f'        for share in {each} {{ print!(" {{:?}}", share); }}']


def _rows(case: Case, export: dln.Export, write: Callable[[Any, Column], str]) -> list[list[str]]:
    """Write the values of each row as `name: value` or `name = value`."""
    index_of = {column.name: index for index, column in enumerate(case.circuit.columns)}
    sign = ": " if export.target == "rust" else " = "
    return [
        [
            f"{x.name}{sign}{write(row[index_of[x.column]], case.circuit.columns[index])}"
            for x in export.inputs
            for index in [index_of[x.column]]
        ]
        for row in case.rows
    ]


def _rust_cell(cell: Any, column: Column) -> str:
    if cell is None:
        return "None"
    if column.kind == "category":
        if not holds_numbers(column):
            return f"Some({rust_string(spell(cell))})"
        return "None" if isinstance(cell, str) else f"Some({_float(cell, 'f64::INFINITY')})"
    if column.kind == "boolean":
        return f"Some({str(cell).lower()})"
    if column.kind == "number":
        return f"Some({'f64::NAN' if is_missing(cell) else _float(cell, 'f64::INFINITY')})"
    return f"Some({integer_cell(cell, column)})"


def _java_cell(cell: Any, column: Column) -> str:
    infinity = "Double.POSITIVE_INFINITY"
    if cell is None:
        return "null"
    if column.kind == "category":
        if not holds_numbers(column):
            return java_string(spell(cell))
        return "null" if isinstance(cell, str) else _float(cell, infinity)
    if column.kind == "boolean":
        return str(cell).lower()
    if column.kind == "number":
        return "Double.NaN" if is_missing(cell) else _float(cell, infinity)
    return f"{integer_cell(cell, column)}L"


def _float(value: float, infinity: str) -> str:
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity}"
    return repr(float(value))


def _read(said: str, cases: Sequence[Case]) -> list[Answers]:
    lines = iter(said.splitlines())
    return [read_answers([next(lines) for _ in case.rows], case) for case in cases]


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, (done.stderr or done.stdout)[:3000]
    return done.stdout
