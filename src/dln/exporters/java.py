"""Program -> one Java class (Java 8 or later) without dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from dln.core.literals import Above, Among, Literal, Missing
from dln.exporters.dialect import C_LIKE
from dln.exporters.fields import DATE_BITS, Field, column_note, make_fields
from dln.exporters.layout import CHUNK, Layout, Lines, chunk_lines, in_order, make_layout
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.text import comment, fill, head, label_words

_DIALECT = replace(C_LIKE, invert="!{a}", never="false", always="true")
_LINES = Lines(
    local="        final boolean {name} = {value};",
    load="w[{slot}]",
    store="        w[{slot}] = {value};",
)
_GROUP = 10
"""The most functions of one kind in one class."""
_PIECE = 100
"""The most comparisons or votes in one statement. javac parses long ones by recursion."""
_LONGEST = 10_000
"""The most characters in one string literal."""
_NOTES = (
    "Fill a Row and call predict(row). It returns the index of a class in CLASSES. explain(row)",
    "also returns the votes and the rules that fired. probabilities(votes) turns votes into",
    "probabilities. null and NaN are missing values.",
)
_JAVA = """\
public final class @name@ {
    public static final String MODEL_ID = @id@;
    public static final String[] CLASSES = joined(@classes@);
    public static final String[] RULES = joined(@rules@);

    /** The values that the model reads. */
    public static final class Row {@members@
    }

    public static final class Explanation {
        /** The index of the class with the most votes; the first one if classes are tied. */
        public int classNumber;
        public final int[] votes = {@base@};
        /** For each rule, whether it fired. */
        public final boolean[] rules = new boolean[@n_rules@];
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

@probabilities@}
"""
_SOFTMAX = """\
    /** Return the probability of each class from its votes: the softmax of votes / temperature. */
    public static double[] probabilities(int[] votes) {
        int most = votes[0];
        for (int vote : votes) {
            most = Math.max(most, vote);
        }
        final double[] shares = new double[votes.length];
        double total = 0.0;
        for (int k = 0; k < votes.length; k++) {
            shares[k] = Math.exp(((double) votes[k] - most) / @temperature@);
            total += shares[k];
        }
        for (int k = 0; k < votes.length; k++) {
            shares[k] /= total;
        }
        return shares;
    }
"""
_TABLE = """\
    private static final long[] LEADS = {@leads@};
    private static final double[][] VALUES = {
        @values@
    };

    /** Interpolate linearly between two leads of the table. */
    private static double lookUp(long lead, double[] values) {
        if (lead < LEADS[0]) {
            return values[0];
        }
        for (int k = 1; k < LEADS.length; k++) {
            if (lead < LEADS[k]) {
                final double step = (values[k] - values[k - 1]) * (lead - LEADS[k - 1]);
                return values[k - 1] + step / (LEADS[k] - LEADS[k - 1]);
            }
        }
        return values[LEADS.length - 1];
    }

    /** Return the probability of each class from the votes of an explanation. */
    public static double[] probabilities(int[] votes) {
        if (votes.length == 2) {
            final double second = lookUp((long) votes[1] - votes[0], VALUES[0]);
            return new double[] {1.0 - second, second};
        }
        final double[] shares = new double[votes.length];
        double total = 0.0;
        for (int k = 0; k < votes.length; k++) {
            long most = Long.MIN_VALUE;
            for (int other = 0; other < votes.length; other++) {
                if (other != k) {
                    most = Math.max(most, votes[other]);
                }
            }
            shares[k] = lookUp(votes[k] - most, VALUES[k % VALUES.length]);
            total += shares[k];
        }
        for (int k = 0; k < votes.length; k++) {
            shares[k] /= total;
        }
        return shares;
    }
"""


def export_java(program: Program) -> Export:
    """Write Java."""
    circuit = program.circuit
    layout = make_layout(program, in_order(program))
    fields = make_fields(program, DATE_BITS, None)
    chunks = [chunk_lines(program, layout, c, _DIALECT, _LINES) for c in layout.chunks]
    literals = _parts(_literal_lines(program, fields, layout))
    votes = _parts(_vote_lines(program, layout))
    steps = (
        _functions("void", "literals", "Row row, boolean[] w", literals),
        _functions("void", "gates", "boolean[] w", chunks),
        _functions("void", "votes", "boolean[] w, Explanation e", votes),
    )
    classes = _text_functions("classes", map(label_words, circuit.classes))
    rules = _text_functions("rules", program.rule_texts)
    name = program.name[0].upper() + program.name[1:]
    text = comment(head(program, "A classifier in Java", _NOTES), "/*", " * ", " */") + fill(
        _JAVA,
        name=name,
        id=java_string(program.model_id),
        n_rules=len(circuit.rules),
        n_slots=layout.n_slots,
        classes=", ".join(classes.calls),
        rules=", ".join(rules.calls),
        base=", ".join(map(str, circuit.base_votes)),
        members="".join(map(_member, fields)),
        functions="\n".join(part.text for part in (*steps, classes, rules) if part.text),
        run="\n".join(f"        {call};" for part in steps for call in part.calls),
        probabilities=_probabilities(program),
    )
    inputs = tuple(Input(x.column.name, x.name, _type(x)) for x in fields)
    return Export("java", name, program.model_id, {f"{name}.java": text.encode("utf-8")}, inputs)


def _probabilities(program: Program) -> str:
    calibration = program.readout.calibration
    if calibration is None:
        return fill(_SOFTMAX, temperature=_java_double(program.readout.temperature))
    tables = (", ".join(map(_java_double, table)) for table in calibration.values)
    return fill(
        _TABLE,
        leads=", ".join(f"{lead}L" for lead in calibration.leads),
        values=",\n        ".join(f"{{{table}}}" for table in tables),
    )


def _type(field: Field) -> str:
    if field.storage == "code":
        return "Double" if field.holds_numbers else "String"
    return {"float": "Double", "integer": "Long", "boolean": "Boolean"}[field.storage]


def _member(field: Field) -> str:
    note = comment([column_note(field)], "", "        /** ").rstrip()
    return f"\n{note} */\n        public {_type(field)} {field.name};"


# -- parts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Functions:
    """Functions that share one task, and the calls to them."""

    text: str
    calls: tuple[str, ...]


def _functions(
    kind: str, stem: str, parameters: str, bodies: Iterable[Sequence[str]]
) -> _Functions:
    """Write each body as a function, because Java limits a function to 64 KB of code.

    All but the first few are in nested classes, because a class is limited to 65,535 constants.
    """
    arguments = ", ".join(parameter.split()[1] for parameter in parameters.split(", ") if parameter)
    groups: list[list[str]] = []
    calls = []
    for number, body in enumerate(bodies):
        if number % _GROUP == 0:
            groups.append([])
        opening = f"    private static {kind} {stem}{number}({parameters}) {{"
        groups[-1].append("\n".join([opening, *body, "    }"]) + "\n")
        holder = f"{_holder(stem, len(groups) - 1)}." if len(groups) > 1 else ""
        calls.append(f"{holder}{stem}{number}({arguments})")
    written = ["\n".join(group) for group in groups]
    for number, text in enumerate(written[1:], start=1):
        opening = f"    private static final class {_holder(stem, number)} {{"
        written[number] = f"{opening}\n{text}    }}\n"
    return _Functions("\n".join(written), tuple(calls))


def _holder(stem: str, number: int) -> str:
    return f"{stem.capitalize()}${number}"  # names that a user chose never contain $


def _text_functions(stem: str, texts: Iterable[str]) -> _Functions:
    """Write functions that return arrays of strings."""
    lines = ((1, f"            {_java_text(text)},") for text in texts)
    bodies = (["        return new String[] {", *part, "        };"] for part in _parts(lines))
    return _functions("String[]", stem, "", bodies)


def _parts(lines: Iterable[tuple[int, str]]) -> Iterator[list[str]]:
    """Split statements, each with its weight, into parts that fit in one function."""
    part: list[str] = []
    total = 0
    for weight, line in lines:
        if part and total + weight > CHUNK:
            yield part
            part, total = [], 0
        part.append(line)
        total += weight
    if part:
        yield part


def _cut(items: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split a long list into pieces that fit in one statement."""
    return (items[at : at + _PIECE] for at in range(0, len(items), _PIECE))


def java_string(text: str) -> str:
    r"""Write a string literal in ASCII.

    Control characters are octal: Java replaces \u escapes before it parses, so that \u000a would be
    a line break inside the literal.

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


def _java_text(text: str) -> str:
    """Write text of any length. Java limits a string literal to 65,535 bytes."""
    starts = range(0, len(text), _LONGEST)
    if len(starts) <= 1:
        return java_string(text)
    pieces = ", ".join(java_string(text[at : at + _LONGEST]) for at in starts)
    return f'String.join("", {pieces})'


def _literal_lines(
    program: Program, fields: tuple[Field, ...], layout: Layout
) -> Iterator[tuple[int, str]]:
    field_of = {field.index: field for field in fields}
    for wire, literal in enumerate(program.logic.literals):
        pieces = _literal(literal, field_of[literal.column])
        for place, (weight, value) in enumerate(pieces):
            sign = "|=" if place else "="
            yield weight, f"        w[{layout.slots[wire]}] {sign} {value};"


def _vote_lines(program: Program, layout: Layout) -> Iterator[tuple[int, str]]:
    rules = zip(program.readout.rules, layout.rule_slots(program), strict=True)
    for number, (rule, slot) in enumerate(rules):
        votes = [f"e.votes[{k}] += {vote};" for k, vote in enumerate(rule.votes) if vote]
        for piece in _cut([f"e.rules[{number}] = true;", *votes]):
            yield len(piece), f"        if (w[{slot}]) {{ {' '.join(piece)} }}"


def _literal(literal: Literal, field: Field) -> Iterator[tuple[int, str]]:
    """Write a literal as expressions, each with its weight; it is true if any of them is."""
    cell = f"row.{field.name}"
    match literal:
        case Above():
            yield 1, f"{cell} != null && {_above(field, literal.cutoff, cell)}"
        case Among():
            for piece in _cut(_matches(field, literal, cell)):
                yield len(piece), f"{cell} != null && ({' || '.join(piece)})"
        case Missing():
            nan = f" || {cell}.isNaN()" if _type(field) == "Double" else ""
            yield 1, f"{cell} == null{nan}"
        case _:
            assert_never(literal)


def _above(field: Field, cutoff: float, cell: str) -> str:
    if field.storage == "float":
        return f"{cell} > {_java_double(cutoff)}"
    integer = field.cutoff(cutoff)
    if integer is None:
        return "false"
    if field.storage == "boolean":
        return "true" if integer < 0 else cell
    return "true" if integer < -(2**63) else f"{cell} > {integer}L"


def _matches(field: Field, literal: Among, cell: str) -> list[str]:
    if field.holds_numbers:
        return [f"{cell} == {_java_double(number)}" for number in field.numbers(literal)]
    return [f"{cell}.equals({_java_text(text)})" for text in field.texts(literal)] or ["false"]
