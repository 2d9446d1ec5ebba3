"""Program -> one Java class (Java 8 or later) without dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from dln.export.categories import holds_numbers, spelled_categories
from dln.export.dialect import C_LIKE
from dln.export.fields import DATE_BITS, Field, make_fields
from dln.export.layout import CHUNK, Layout, Lines, chunk_lines, in_order, make_layout
from dln.export.program import Program
from dln.export.text import comment, fill, has_utf8, head, label_words
from dln.export.value import Export, Input
from dln.literals import Above, Among, Literal

_DIALECT = replace(C_LIKE, invert="!{a}", never="false", always="true")
_LINES = Lines(
    local="        final boolean {name} = {value};",
    load="w[{slot}]",
    store="        w[{slot}] = {value};",
)
_NOTES = (
    "Fill a Row and call predict(row), which gives the number of a class in CLASSES; explain(row)",
    "also tells the votes and the rules that fired. null, and NaN, is a missing cell.",
)
_JAVA = """\
public final class @name@ {
    public static final String MODEL_ID = @id@;
    public static final String[] CLASSES = {@classes@
    };
    public static final String[] RULES = {@rules@
    };

    /** The cells that are read. */
    public static final class Row {@members@
    }

    public static final class Explanation {
        /** The number of the class with the most votes; ties go to the first. */
        public int classNumber;
        public final int[] votes = {@base@};
        /** Which rules fired. */
        public final boolean[] rules = new boolean[@n_rules@];
    }

    private @name@() {
    }

@functions@
    public static Explanation explain(Row row) {
        final boolean[] w = new boolean[@n_slots@];
        final Explanation e = new Explanation();
@run@
        for (int k = 1; k < e.votes.length; k++) {
            if (e.votes[k] > e.votes[e.classNumber]) {
                e.classNumber = k;
            }
        }
        return e;
    }

    public static int predict(Row row) {
        return explain(row).classNumber;
    }
}
"""


def export_java(program: Program) -> Export:
    """Write Java."""
    circuit = program.circuit
    layout = make_layout(program, in_order(program))
    fields = make_fields(program, DATE_BITS, None)
    chunks = [chunk_lines(program, layout, c, _DIALECT, _LINES) for c in layout.chunks]
    # A method may have 64 KB and a class file so many constants: everything comes in parts.
    parts = {
        "literals": list(_literal_lines(program, fields, layout)),
        "votes": list(_vote_lines(program, layout)),
    }
    functions, calls = [], []
    for kind, lines, arguments in (
        ("literals", parts["literals"], "Row row, boolean[] w"),
        ("gates", chunks, "boolean[] w"),
        ("votes", parts["votes"], "boolean[] w, Explanation e"),
    ):
        names = ", ".join(argument.split()[1] for argument in arguments.split(", "))
        for number, body in enumerate(lines):
            opening = f"    private static void {kind}{number}({arguments}) {{"
            functions.append("\n".join([opening, *body, "    }"]) + "\n")
            calls.append(f"        {kind}{number}({names});")
    name = program.name[0].upper() + program.name[1:]
    text = comment(head(program, "A classifier in Java", _NOTES), "/*", " * ", " */") + fill(
        _JAVA,
        name=name,
        id=java_string(program.model_id),
        n_rules=len(circuit.rules),
        n_slots=layout.n_slots,
        classes=_listed([java_string(label_words(label)) for label in circuit.classes]),
        rules=_listed([java_string(text) for text in program.rule_texts]),
        base=", ".join(map(str, circuit.base_votes)),
        members="".join(f"\n        public {_type(x)} {x.name};" for x in fields),
        functions="\n".join(functions),
        run="\n".join(calls),
    )
    inputs = tuple(Input(x.column.name, x.name, _type(x)) for x in fields)
    return Export("java", name, program.model_id, {f"{name}.java": text.encode("utf-8")}, inputs)


def _type(field: Field) -> str:
    if field.storage == "code":
        return "Double" if holds_numbers(field.column) else "String"
    return {"float": "Double", "integer": "Long", "boolean": "Boolean"}[field.storage]


def _listed(items: list[str]) -> str:
    return "".join(f"\n        {item}," for item in items)


def java_string(text: str) -> str:
    r"""Write a string literal in ASCII: octal for control characters, which \u would put there raw.

    >>> print(java_string('é"\n\\u000a'))
    "\u00e9\"\012\\u000a"
    """
    written = []
    for letter in text:
        if letter in '"\\':
            written.append(f"\\{letter}")
        elif " " <= letter <= "~":
            written.append(letter)
        elif letter < " ":
            written.append(f"\\{ord(letter):03o}")
        else:
            units = letter.encode("utf-16-be", "surrogatepass")
            written += [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
    return '"' + "".join(written) + '"'


def _java_double(value: float) -> str:
    if math.isinf(value):
        return "Double.POSITIVE_INFINITY" if value > 0 else "Double.NEGATIVE_INFINITY"
    return repr(value)


def _literal_lines(
    program: Program, fields: tuple[Field, ...], layout: Layout
) -> Iterator[list[str]]:
    field_of = {field.index: field for field in fields}
    literals = program.circuit.literals
    for start in range(0, len(literals), CHUNK):
        yield [
            f"        w[{layout.slots[wire]}] = {_literal(literal, field_of[literal.column])};"
            for wire, literal in enumerate(literals[start : start + CHUNK], start=start)
        ]


def _vote_lines(program: Program, layout: Layout) -> Iterator[list[str]]:
    rules = list(zip(program.circuit.rules, layout.rule_slots(program), strict=True))
    for start in range(0, len(rules), CHUNK):
        lines = []
        for number, (rule, slot) in enumerate(rules[start : start + CHUNK], start=start):
            votes = [f"e.votes[{k}] += {vote};" for k, vote in enumerate(rule.votes) if vote]
            body = " ".join([f"e.rules[{number}] = true;", *votes])
            lines.append(f"        if (w[{slot}]) {{ {body} }}")
        yield lines


def _literal(literal: Literal, field: Field) -> str:
    cell = f"row.{field.name}"
    if isinstance(literal, Above):
        return f"{cell} != null && {_above(field, literal.cutoff, cell)}"
    if isinstance(literal, Among):
        return f"{cell} != null && ({_among(field, literal, cell)})"
    nan = f" || {cell}.isNaN()" if _type(field) == "Double" else ""
    return f"{cell} == null{nan}"


def _above(field: Field, cutoff: float, cell: str) -> str:
    if field.storage == "float":
        return f"{cell} > {_java_double(cutoff)}"
    integer = field.cutoff(cutoff)
    if integer is None:
        return "false"
    if field.storage == "boolean":
        return "true" if integer < 0 else cell
    return "true" if integer < -(2**63) else f"{cell} > {integer}L"


def _among(field: Field, literal: Among, cell: str) -> str:
    if holds_numbers(field.column):
        numbers = [float(field.column.categories[code]) for code in literal.categories]
        return " || ".join(f"{cell} == {_java_double(number)}" for number in numbers)
    known = spelled_categories(field.column)
    texts = [known[code] for code in literal.categories if has_utf8(known[code])]
    return " || ".join(f"{cell}.equals({java_string(text)})" for text in texts) or "false"
