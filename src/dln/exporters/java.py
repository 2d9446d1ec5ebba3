"""Program -> one Java class (Java 8 or later) without dependencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from dln.core.literals import Above, Among, Literal, Missing
from dln.exporters.dialect import C_LIKE
from dln.exporters.fields import DATE_BITS, Field, column_note, make_fields
from dln.exporters.java_answers import write_answer
from dln.exporters.java_parts import (
    cut,
    functions,
    java_double,
    java_string,
    java_text,
    parts_of,
    text_functions,
)
from dln.exporters.layout import Layout, Lines, chunk_lines, in_order, make_layout
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import comment, fill, head

_DIALECT = replace(C_LIKE, invert="!{a}", never="false", always="true")
_LINES = Lines(
    local="        final boolean {name} = {value};",
    load="w[{slot}]",
    store="        w[{slot}] = {value};",
)
_JAVA = """\
public final class @name@ {
    public static final String MODEL_ID = @id@;
@tables@    public static final String[] RULES = joined(@rules@);

    /** The values that the model reads. */
    public static final class Row {@members@
    }

    private @name@() {
    }

    private static String[] joined(String[]... parts) {
        final java.util.List<String> all = new java.util.ArrayList<String>();
        for (String[] part : parts) {
            all.addAll(java.util.Arrays.asList(part));
        }
        return all.toArray(new String[0]);
    }

@wires@
    private static boolean[] run(Row row) {
        final boolean[] w = new boolean[@n_slots@];
@run@
        return w;
    }

@functions@}
"""


def export_java(program: Program) -> Export:
    """Write Java."""
    layout = make_layout(program, in_order(program))
    fields = make_fields(program, DATE_BITS, None)
    chunks = [chunk_lines(program, layout, c, _DIALECT, _LINES) for c in layout.chunks]
    literals = parts_of(_literal_lines(program, fields, layout))
    answer = write_answer(program, layout.rule_slots(program))
    steps = (
        functions("void", "literals", "Row row, boolean[] w", literals),
        functions("void", "gates", "boolean[] w", chunks),
    )
    rules = text_functions("rules", program.rule_texts)
    name = program.name[0].upper() + program.name[1:]
    text = comment(head(program, "Java", answer.notes), "/*", " * ", " */") + fill(
        _JAVA,
        name=name,
        id=java_string(program.model_id),
        n_slots=layout.n_slots,
        tables=answer.tables,
        rules=", ".join(rules.calls),
        members="".join(map(_member, fields)),
        wires="\n".join(part.text for part in (*steps, rules) if part.text),
        run="\n".join(f"        {call};" for part in steps for call in part.calls),
        functions=answer.functions,
    )
    inputs = tuple(Input(x.column.name, x.name, _type(x)) for x in fields)
    return Export("java", name, program.model_id, {f"{name}.java": text.encode("utf-8")}, inputs)


def _type(field: Field) -> str:
    if field.storage == "code":
        return "Double" if field.holds_numbers else "String"
    return {"float": "Double", "integer": "Long", "boolean": "Boolean"}[field.storage]


def _member(field: Field) -> str:
    note = comment([column_note(field)], "", "        /** ").rstrip()
    return f"\n{note} */\n        public {_type(field)} {field.name};"


def _literal_lines(
    program: Program, fields: tuple[Field, ...], layout: Layout
) -> Iterator[tuple[int, str]]:
    field_of = {field.index: field for field in fields}
    for wire, literal in enumerate(program.logic.literals):
        pieces = _literal(literal, field_of[literal.column])
        for place, (weight, value) in enumerate(pieces):
            sign = "|=" if place else "="
            yield weight, f"        w[{layout.slots[wire]}] {sign} {value};"


def _literal(literal: Literal, field: Field) -> Iterator[tuple[int, str]]:
    """Write a literal as expressions, each with its weight; it is true if any of them is."""
    cell = f"row.{field.name}"
    match literal:
        case Above():
            yield 1, f"{cell} != null && {_above(field, literal.cutoff, cell)}"
        case Among():
            for piece in cut(_matches(field, literal, cell)):
                yield len(piece), f"{cell} != null && ({' || '.join(piece)})"
        case Missing():
            nan = f" || {cell}.isNaN()" if _type(field) == "Double" else ""
            yield 1, f"{cell} == null{nan}"
        case _:
            assert_never(literal)


def _above(field: Field, cutoff: float, cell: str) -> str:
    if field.storage == "float":
        return f"{cell} > {java_double(cutoff)}"
    integer = field.cutoff(cutoff)
    if integer is None:
        return "false"
    if field.storage == "boolean":
        return "true" if integer < 0 else cell
    return "true" if integer < -(2**63) else f"{cell} > {integer}L"


def _matches(field: Field, literal: Among, cell: str) -> list[str]:
    if field.holds_numbers:
        return [f"{cell} == {java_double(number)}" for number in field.numbers(literal)]
    return [f"{cell}.equals({java_text(text)})" for text in field.texts(literal)] or ["false"]
