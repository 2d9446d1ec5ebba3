"""Program -> one ES module without dependencies; it runs in browsers and in Node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from dln.core.literals import Above, Among, ColumnKind, Literal, Missing
from dln.exporters.dialect import C_LIKE
from dln.exporters.javascript_answers import label_value, listed, write_answer
from dln.exporters.javascript_runtime import READERS, RUNTIME
from dln.exporters.layout import Layout, Lines, chunk_lines, in_order, literal_chunks, make_layout
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import ascii_json, comment, fill, head

# Wires are the numbers 0 and 1.
_DIALECT = replace(C_LIKE, invert="({a} ^ 1)", always="1")
_LINES = Lines(local="  const {name} = {value};", load="w[{slot}]", store="  w[{slot}] = {value};")
_READER: dict[ColumnKind, str] = {
    "number": "readNumber",
    "integer": "readNumber",
    "boolean": "readNumber",
    "date": "readDate",
    "category": "readCategory",
}
_TYPES: dict[ColumnKind, str] = {
    "number": "Number; null, undefined or NaN if missing",
    "integer": "Number or BigInt; null, undefined or NaN if missing",
    "boolean": "Boolean; null or undefined if missing",
    "date": "Date, or seconds since 1970 as a Number; null or undefined if missing",
    "category": "as in training; null, undefined or NaN if missing",
}


def export_javascript(program: Program) -> Export:
    """Write JavaScript."""
    answer = write_answer(program)
    layout = make_layout(program, in_order(program))
    chunks = [chunk_lines(program, layout, c, _DIALECT, _LINES) for c in layout.chunks]
    literals = list(_literal_functions(program, layout))
    calls = [f"  literals{index}(cells, w);" for index in range(len(literals))]
    calls += [f"  gates{index}(w);" for index in range(len(chunks))]
    text = comment(head(program, "JavaScript", answer.notes), "/*", " * ", " */") + fill(
        RUNTIME,
        id=ascii_json(program.model_id),
        tables=answer.tables,
        inputs=listed([ascii_json(column.name) for column in program.columns]),
        rules=listed([ascii_json(text) for text in program.rule_texts]),
        parts=listed([f"[{ascii_json(name)}, {ascii_json(text)}]" for name, text in program.parts]),
        functions=answer.functions,
        n_slots=layout.n_slots,
        slots=layout.rule_slots(program),
        readers="".join(
            READERS[name] for name in sorted({_READER[x.kind] for x in program.columns})
        ),
        codes="".join(_codes(program)),
        cells="\n".join(_cell_lines(program)),
        wires="\n".join([*literals, *_gate_functions(chunks)]),
        run="\n".join(calls),
    )
    inputs = tuple(Input(x.name, x.name, _TYPES[x.kind]) for x in program.columns)
    files = {f"{program.name}.mjs": text.encode("utf-8")}
    return Export("javascript", program.name, program.model_id, files, inputs)


def _category_key(category: str | int | float | bool) -> str:
    """Write a category as `readCategory` looks it up; true is 1, as in Python."""
    if isinstance(category, str):
        return ascii_json(category)
    value = int(category) if isinstance(category, bool) else category
    if isinstance(value, int) and abs(value) < 2**1023 and int(float(value)) == value:
        value = float(value)
    return label_value(value)


def _codes(program: Program) -> Iterator[str]:
    for place, column in enumerate(program.columns):
        if column.kind == "category":
            known = [f"[{_category_key(c)}, {code}]" for code, c in enumerate(column.categories)]
            yield f"const codes{place} = new Map([{listed(known)}\n]);\n"


def _cell_lines(program: Program) -> Iterator[str]:
    for place, column in enumerate(program.columns):
        more = f", codes{place}" if column.kind == "category" else ""
        yield f"    {_READER[column.kind]}(row, {ascii_json(column.name)}{more}),"


def _literal_functions(program: Program, layout: Layout) -> Iterator[str]:
    for number, chunk in enumerate(literal_chunks(program)):
        lines = [f"function literals{number}(c, w) {{"]
        for wire, literal in chunk:
            value = _literal(literal, f"c[{program.place[literal.column]}]")
            lines.append(f"  w[{layout.slots[wire]}] = {value} ? 1 : 0;")
        yield "\n".join([*lines, "}"]) + "\n"


def _literal(literal: Literal, cell: str) -> str:
    match literal:
        case Above():
            return f"{cell} > {literal.cutoff!r}"
        case Among():
            return f"{list(literal.categories)}.includes({cell})"
        case Missing():
            return f"Number.isNaN({cell})"
        case _:
            assert_never(literal)


def _gate_functions(chunks: list[list[str]]) -> Iterator[str]:
    for index, lines in enumerate(chunks):
        yield "\n".join([f"function gates{index}(w) {{", *lines, "}"]) + "\n"
