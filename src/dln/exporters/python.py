"""Program -> one Python module that needs only the standard library.

A wire is an integer with one bit for each row of a batch, so that a gate is one operation for all
rows. A single row is a batch of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from dln.core.literals import Above, Among, ColumnKind, Literal, Missing
from dln.core.readout import Votes
from dln.exporters.dialect import C_LIKE
from dln.exporters.layout import Layout, Lines, chunk_lines, in_order, literal_chunks, make_layout
from dln.exporters.program import Program
from dln.exporters.python_answers import label_value, listed, tuple_text, write_answer
from dln.exporters.python_runtime import READERS, RUNTIME
from dln.exporters.result import Export, Input
from dln.exporters.text import comment, fill, head

# Python's ~ would return a negative integer, so XOR with `ones` inverts only the bits of the rows.
_DIALECT = replace(C_LIKE, invert="({a} ^ ones)", always="ones")
_LINES = Lines(local="    {name} = {value}", load="w[{slot}]", store="    w[{slot}] = {value}")
_TYPES: dict[ColumnKind, str] = {
    "number": "float, int or Decimal; None or NaN if missing",
    "integer": "int; None if missing",
    "boolean": "bool; None if missing",
    "date": "date or datetime (UTC if without a zone), or seconds since 1970; None if missing",
    "category": "as in training; None if missing",
}
_READER: dict[ColumnKind, str] = {
    "number": "numbers",
    "integer": "numbers",
    "boolean": "numbers",
    "date": "dates",
    "category": "categories",
}


def export_python(program: Program) -> Export:
    """Write Python."""
    answer = write_answer(program)
    layout = make_layout(program, in_order(program))
    chunks = [chunk_lines(program, layout, c, _DIALECT, _LINES) for c in layout.chunks]
    literals = list(_literal_functions(program, layout))
    calls = [f"    _literals{index}(w, cells)" for index in range(len(literals))]
    calls += [f"    _gates{index}(w, ones)" for index in range(len(chunks))]
    kinds = {column.kind for column in program.columns}
    text = comment(head(program, "Python", answer.notes), "", "# ") + fill(
        RUNTIME,
        imports="\n".join(["import datetime"] * _needs_dates(program) + ["import math"]),
        id=ascii(program.model_id),
        tables=answer.tables,
        inputs=listed([ascii(column.name) for column in program.columns]),
        rules=listed([ascii(text) for text in program.rule_texts]),
        parts=listed([f"{name!a}: {text!a}" for name, text in program.parts]),
        n_slots=layout.n_slots,
        slots=tuple_text(layout.rule_slots(program)),
        readers="".join(READERS[kind] for kind in sorted({_READER[kind] for kind in kinds})),
        codes="".join(_codes(program)),
        cells="\n".join(_cell_lines(program)),
        literals="\n\n".join([*literals, *_gate_functions(chunks)]),
        run="\n".join(calls) or "    pass",
        functions=answer.functions,
    )
    inputs = tuple(Input(x.name, x.name, _TYPES[x.kind]) for x in program.columns)
    files = {f"{program.name}.py": text.encode("utf-8")}
    return Export("python", program.name, program.model_id, files, inputs)


def _needs_dates(program: Program) -> bool:
    labels = program.readout.classes if isinstance(program.readout, Votes) else ()
    dates = any(type(label).__module__ == "datetime" for label in labels)
    return dates or any(column.kind == "date" for column in program.columns)


def _codes(program: Program) -> Iterator[str]:
    for place, column in enumerate(program.columns):
        if column.kind == "category":
            known = [f"{label_value(name)}: {code}" for code, name in enumerate(column.categories)]
            yield f"_CODES{place} = {{{listed(known)}\n}}\n"


def _cell_lines(program: Program) -> Iterator[str]:
    for place, column in enumerate(program.columns):
        arguments = f"columns, {column.name!a}"
        more = f", _CODES{place}" if column.kind == "category" else ""
        yield f"        _read_{_READER[column.kind]}({arguments}{more}),"


def _literal_functions(program: Program, layout: Layout) -> Iterator[str]:
    for number, chunk in enumerate(literal_chunks(program)):
        lines = [f"def _literals{number}(w, c):"]
        for wire, literal in chunk:
            value = _literal(literal, f"c[{program.place[literal.column]}]")
            lines.append(f"    w[{layout.slots[wire]}] = {value}")
        yield "\n".join(lines) + "\n"


def _literal(literal: Literal, cells: str) -> str:
    match literal:
        case Above():
            return f"_above({cells}, {literal.cutoff!r})"
        case Among():
            codes = ", ".join(map(str, literal.categories))
            return f"_among({cells}, {{{codes}}})"
        case Missing():
            return f"_missing({cells})"
        case _:
            assert_never(literal)


def _gate_functions(chunks: list[list[str]]) -> Iterator[str]:
    for index, lines in enumerate(chunks):
        yield "\n".join([f"def _gates{index}(w, ones):", *lines]) + "\n"
