"""Program -> one Rust module that needs only `core`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import assert_never

from dln.core.literals import Above, Among, Literal, Missing
from dln.exporters.dialect import Dialect
from dln.exporters.fields import DATE_BITS, Field, column_note, make_fields
from dln.exporters.layout import Layout, Lines, chunk_lines, in_order, literal_chunks, make_layout
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import comment, fill, head, label_words

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
_NOTES = (
    "predict(&row) returns the index of a class in CLASSES; explain(&row) also returns the votes",
    "and the rules that fired. probabilities(&votes), if there, turns the votes of explain into",
    "probabilities. None and NaN are missing values.",
)
_RUST = """\
#![allow(dead_code, non_snake_case, unused_mut, unused_parens, unused_variables)]

pub const MODEL_ID: &str = @id@;
pub const CLASSES: [&str; @n_classes@] = [@classes@
];
pub const RULES: [&str; @n_rules@] = [@rules@
];
const BASE_VOTES: [i32; @n_classes@] = @base@;
const RULE_SLOTS: [usize; @n_rules@] = @slots@;
const RULE_VOTES: [[i32; @n_classes@]; @n_rules@] = [@votes@
];

/// The values that the model reads.
pub struct Row@lifetime@ {@members@
}

pub struct Explanation {
    /// The index of the class with the most votes; the first one if classes are tied.
    pub class_number: usize,
    pub votes: [i32; @n_classes@],
    /// For each rule, whether it fired.
    pub rules: [bool; @n_rules@],
}

@functions@
pub fn explain(row: &Row) -> Explanation {
    let mut w = [false; @n_slots@];
@run@
    let mut votes = BASE_VOTES;
    let mut rules = [false; @n_rules@];
    for (rule, &slot) in RULE_SLOTS.iter().enumerate() {
        rules[rule] = w[slot];
        if w[slot] {
            for (count, more) in votes.iter_mut().zip(RULE_VOTES[rule].iter()) {
                *count += more;
            }
        }
    }
    let mut class_number = 0;
    for (place, count) in votes.iter().enumerate() {
        if *count > votes[class_number] {
            class_number = place;
        }
    }
    Explanation { class_number, votes, rules }
}

pub fn predict(row: &Row) -> usize {
    explain(row).class_number
}
@probabilities@"""

_TABLE = """\

const LEADS: [i64; @n_leads@] = @leads@;
const VALUES: [[f64; @n_leads@]; @n_tables@] = [@values@
];

/// Interpolate linearly between two leads of the table.
fn look_up(lead: i64, values: &[f64; @n_leads@]) -> f64 {
    if lead < LEADS[0] {
        return values[0];
    }
    for k in 1..LEADS.len() {
        if lead < LEADS[k] {
            let step = (values[k] - values[k - 1]) * (lead - LEADS[k - 1]) as f64;
            return values[k - 1] + step / (LEADS[k] - LEADS[k - 1]) as f64;
        }
    }
    values[LEADS.len() - 1]
}

/// Return the probability of each class from the votes of `explain`.
pub fn probabilities(votes: &[i32; @n_classes@]) -> [f64; @n_classes@] {
@body@
}
"""
_TABLE_OF_TWO = """\
    let second = look_up(votes[1] as i64 - votes[0] as i64, &VALUES[0]);
    [1.0 - second, second]"""
_TABLE_OF_MORE = """\
    let mut shares = [0.0; @n_classes@];
    let mut total = 0.0;
    for (k, share) in shares.iter_mut().enumerate() {
        let mut most = i64::MIN;
        for (other, &count) in votes.iter().enumerate() {
            if other != k && count as i64 > most {
                most = count as i64;
            }
        }
        *share = look_up(votes[k] as i64 - most, &VALUES[k % @n_tables@]);
        total += *share;
    }
    for share in shares.iter_mut() {
        *share /= total;
    }
    shares"""


def export_rust(program: Program) -> Export:
    """Write Rust."""
    circuit = program.circuit
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
    notes = (f"Save it as {program.name}.rs and declare `mod {program.name};`.", *_NOTES)
    text = comment(head(program, "A classifier in Rust", notes), "", "// ") + fill(
        _RUST,
        id=rust_string(program.model_id),
        n_classes=circuit.n_classes,
        n_rules=len(circuit.rules),
        n_slots=max(1, layout.n_slots),
        classes=_listed([rust_string(label_words(label)) for label in circuit.classes]),
        rules=_listed([rust_string(text) for text in program.rule_texts]),
        base=list(circuit.base_votes),
        slots=layout.rule_slots(program),
        votes=_listed([str(list(rule.votes)) for rule in circuit.rules]),
        lifetime="<'a>" if any("'a" in _type(field) for field in fields) else "",
        members="".join(map(_member, fields)),
        functions="\n".join([*literals, *gates]),
        run="\n".join(run),
        probabilities=_probabilities(program),
    )
    inputs = tuple(Input(x.column.name, x.name, _type(x)) for x in fields)
    files = {f"{program.name}.rs": text.encode("utf-8")}
    return Export("rust", program.name, program.model_id, files, inputs)


def _probabilities(program: Program) -> str:
    calibration = program.readout.calibration
    if calibration is None:
        return ""
    sizes = {"n_classes": program.circuit.n_classes, "n_tables": len(calibration.values)}
    body = _TABLE_OF_TWO if program.circuit.n_classes == 2 else _TABLE_OF_MORE
    return fill(
        _TABLE,
        **sizes,
        n_leads=len(calibration.leads),
        leads=list(calibration.leads),
        values=_listed([f"[{', '.join(map(_rust_float, x))}]" for x in calibration.values]),
        body=fill(body, **sizes),
    )


def _type(field: Field) -> str:
    if field.storage == "code":
        return "Option<f64>" if field.holds_numbers else "Option<&'a str>"
    names = {"float": "f64", "integer": "i64", "boolean": "bool"}
    return f"Option<{names[field.storage]}>"


def _member(field: Field) -> str:
    note = comment([column_note(field)], "", "    /// ")
    return f"\n{note}    pub {field.name}: {_type(field)},"


def _listed(items: list[str]) -> str:
    return "".join(f"\n    {item}," for item in items)


def rust_string(text: str) -> str:
    r"""Write a string literal in ASCII; half a surrogate pair is shown as an escape.

    >>> print(rust_string('é"\\'))
    "\u{e9}\"\\"
    """
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    letters = [
        f"\\{letter}"
        if letter in '"\\'
        else (letter if " " <= letter <= "~" else f"\\u{{{ord(letter):x}}}")
        for letter in shown
    ]
    return '"' + "".join(letters) + '"'


def _rust_float(value: float) -> str:
    if math.isinf(value):
        return "f64::INFINITY" if value > 0 else "f64::NEG_INFINITY"
    return f"{value!r}_f64"


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
        return f"x > {_rust_float(cutoff)}"
    integer = field.cutoff(cutoff)
    if integer is None:
        return "false"
    if field.storage == "boolean":
        return "true" if integer < 0 else "x"
    return "true" if integer < -(2**63) else f"x > {integer}_i64"


def _among(field: Field, literal: Among) -> str:
    # An array, because rustc parses a long chain of || by recursion.
    if field.holds_numbers:
        return f"[{', '.join(map(_rust_float, field.numbers(literal)))}].contains(&x)"
    texts = field.texts(literal)
    return f"[{', '.join(map(rust_string, texts))}].contains(&x)" if texts else "false"
