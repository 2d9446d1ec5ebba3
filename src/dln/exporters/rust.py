"""Program -> one Rust module that needs only `core`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from dln.core.literals import Above, Among, Literal, Missing
from dln.exporters.dialect import Dialect
from dln.exporters.fields import DATE_BITS, Field, column_note, make_fields
from dln.exporters.layout import Layout, Lines, chunk_lines, in_order, literal_chunks, make_layout
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.rust_answers import listed, rust_float, rust_string, write_answer
from dln.exporters.text import comment, fill, head

# No parentheses: rustc's lint about them takes time quadratic in the file. Operands are wires only,
# and !a ^ b equals !(a ^ b).
_DIALECT = Dialect(
    both="{a} & {b}",
    either="{a} | {b}",
    differ="{a} ^ {b}",
    invert="!{a}",
    never="false",
    always="true",
)
# Inlined chunks would be optimised as one long function.
_CHUNK = "#[inline(never)]\nfn "
_LINES = Lines(
    local="    let {name} = {value};", load="w[{slot}]", store="    w[{slot}] = {value};"
)
_RUST = """\
#![allow(dead_code, non_snake_case, unused_mut, unused_parens, unused_variables)]

pub const MODEL_ID: &str = @id@;
@tables@pub const RULES: [&str; @n_rules@] = [@rules@
];
const RULE_SLOTS: [usize; @n_rules@] = @slots@;

/// The values that the model reads.
pub struct Row@lifetime@ {@members@
}

@wires@
fn run(row: &Row) -> [bool; @n_slots@] {
    let mut w = [false; @n_slots@];
@run@
    w
}

@functions@"""


def export_rust(program: Program) -> Export:
    """Write Rust."""
    circuit, answer = program.circuit, write_answer(program)
    layout = make_layout(program, in_order(program))
    fields = make_fields(program, DATE_BITS, None)
    chunks = [chunk_lines(program, layout, c, _DIALECT, _LINES) for c in layout.chunks]
    literals = list(_literal_functions(program, fields, layout))
    run = [f"    literals{i}(row, &mut w);" for i in range(len(literals))]
    run += [f"    gates{i}(&mut w);" for i in range(len(chunks))]
    gates = [
        "\n".join([f"{_CHUNK}gates{i}(w: &mut [bool]) {{", *lines, "}"]) + "\n"
        for i, lines in enumerate(chunks)
    ]
    notes = (f"Save it as {program.name}.rs and declare `mod {program.name};`.", *answer.notes)
    text = comment(head(program, "Rust", notes), "", "// ") + fill(
        _RUST,
        id=rust_string(program.model_id),
        n_rules=len(circuit.rules),
        n_slots=max(1, layout.n_slots),
        tables=answer.tables,
        rules=listed([rust_string(text) for text in program.rule_texts]),
        slots=layout.rule_slots(program),
        lifetime="<'a>" if any("'a" in _type(field) for field in fields) else "",
        members="".join(map(_member, fields)),
        wires="\n".join([*literals, *gates]),
        run="\n".join(run),
        functions=answer.functions,
    )
    inputs = tuple(Input(x.column.name, x.name, _type(x)) for x in fields)
    files = {f"{program.name}.rs": text.encode("utf-8")}
    return Export("rust", program.name, program.model_id, files, inputs)


def _type(field: Field) -> str:
    if field.storage == "code":
        return "Option<f64>" if field.holds_numbers else "Option<&'a str>"
    names = {"float": "f64", "integer": "i64", "boolean": "bool"}
    return f"Option<{names[field.storage]}>"


def _member(field: Field) -> str:
    note = comment([column_note(field)], "", "    /// ")
    return f"\n{note}    pub {field.name}: {_type(field)},"


def _literal_functions(
    program: Program, fields: tuple[Field, ...], layout: Layout
) -> Iterator[str]:
    field_of = {field.index: field for field in fields}
    for number, chunk in enumerate(literal_chunks(program)):
        lines = [f"{_CHUNK}literals{number}(row: &Row, w: &mut [bool]) {{"]
        for wire, literal in chunk:
            value = _literal(literal, field_of[literal.column])
            lines.append(f"    w[{layout.slots[wire]}] = {value};")
        yield "\n".join([*lines, "}"]) + "\n"


def _literal(literal: Literal, field: Field) -> str:
    cell = f"row.{field.name}"
    match literal:
        case Above():
            return f"{cell}.map_or(false, |x| {_above(field, literal.cutoff)})"
        case Among():
            return f"{cell}.map_or(false, |x| {_among(field, literal)})"
        case Missing():
            may_be_nan = _type(field) == "Option<f64>"
            return f"{cell}.map_or(true, |x| {'x.is_nan()' if may_be_nan else 'false'})"
        case _:
            assert_never(literal)


def _above(field: Field, cutoff: float) -> str:
    if field.storage == "float":
        return f"x > {rust_float(cutoff)}"
    integer = field.cutoff(cutoff)
    if integer is None:
        return "false"
    if field.storage == "boolean":
        return "true" if integer < 0 else "x"
    return "true" if integer < -(2**63) else f"x > {integer}_i64"


def _among(field: Field, literal: Among) -> str:
    # An array, because rustc parses a long chain of || by recursion.
    if field.holds_numbers:
        return f"[{', '.join(map(rust_float, field.numbers(literal)))}].contains(&x)"
    texts = field.texts(literal)
    return f"[{', '.join(map(rust_string, texts))}].contains(&x)" if texts else "false"
