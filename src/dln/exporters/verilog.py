"""Program -> one synthesizable Verilog module (Verilog-2001), combinational or pipelined.

Each column is an integer port with a flag for a missing value. Numbers are in fixed point. Cutoffs
become integers with the same result for every integer of the port.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from dln.core.literals import Above, Among, Literal, Missing
from dln.core.readout import Readout, Votes
from dln.core.score import Score
from dln.errors import OptionError
from dln.exporters.answer import formula
from dln.exporters.dialect import Dialect
from dln.exporters.fields import Field, IntegerBits, make_fields
from dln.exporters.names import MISSING
from dln.exporters.pipeline import Pipeline, make_pipeline
from dln.exporters.ports import Ports, make_ports, port_bits
from dln.exporters.program import Program
from dln.exporters.result import Export, Input
from dln.exporters.testbench import write_testbench
from dln.exporters.text import comment, head

LOGIC = Dialect(
    both="({a} & {b})",
    either="({a} | {b})",
    differ="({a} ^ {b})",
    invert="~{a}",
    never="1'b0",
    always="1'b1",
)
_MOST_STAGES = 1000
TESTBENCH_END = "_tb.v"
"""The end of the name of the testbench, after the stem of the module's file."""


def export_verilog(
    program: Program,
    *,
    integer_bits: IntegerBits = 32,
    fraction_bits: int = 16,
    stages: int = 0,
    explain: bool = False,
    rows: Any = None,
) -> Export:
    """Write Verilog.

    Parameters
    ----------
    integer_bits
        The width of integer and number ports; dates always have 64 bits.
    fraction_bits
        Number ports hold the value times 2 to this power.
    stages
        Registers from input to output; 0 for a combinational module without a clock.
    explain
        Add the output `rules`: one bit for each rule.
    rows
        A table. The export then has a testbench that compares module and circuit on its rows.
    """
    if type(stages) is not int or not 0 <= stages <= _MOST_STAGES:
        raise OptionError(f"stages is {stages!r}, expected an integer from 0 to {_MOST_STAGES}")
    if fraction_bits is None:
        raise OptionError("fraction_bits is None, but Verilog has no floats; expected an integer")
    fields = make_fields(program, integer_bits, fraction_bits)
    ports = make_ports(program, fields, stages, explain)
    files = {f"{program.name}.v": _write(program, ports).encode("utf-8")}
    if rows is not None:
        bench = write_testbench(program, ports, rows)
        files[f"{program.name}{TESTBENCH_END}"] = bench.encode("utf-8")
    inputs = tuple(Input(x.column.name, x.name, _type(x)) for x in ports.fields)
    return Export("verilog", program.name, program.model_id, files, inputs)


def _type(field: Field) -> str:
    return f"{_range(field)} {field.describe()}".strip()


def _range(field: Field) -> str:
    if field.storage == "boolean":
        return ""
    return f"{'' if field.storage == 'code' else 'signed '}[{port_bits(field) - 1}:0]"


def constant(value: int, bits: int) -> str:
    """Write a signed constant in hexadecimal two's complement; it covers the least integer too."""
    return f"{bits}'sh{value % 2**bits:x}"


def _write(program: Program, ports: Ports) -> str:
    pipeline = make_pipeline(program, ports.stages)
    lines = [f"module {program.name} ("]
    lines += _port_lines(ports)
    lines += [");", *_literal_lines(program, ports), *_gate_lines(program, pipeline)]
    lines += _vote_lines(program, ports, pipeline)
    lines += [*_register_lines(pipeline), "endmodule"]
    return comment(_head(program, ports), "/*", " * ", " */") + "\n".join(lines) + "\n"


def _head(program: Program, ports: Ports) -> list[str]:
    notes = _answer_notes(program.readout, ports)
    if ports.stages:
        notes.append(
            f"The outputs for a row follow its inputs after {ports.stages} clock cycles. "
            "Every cycle can take a new row."
        )
    for field in ports.fields:
        notes.append(f"{field.name} is {field.column.name!r}: {_describe(field)}.")
    if ports.fields:
        notes.append(f"The input NAME{MISSING} is 1 if the value of NAME is missing.")
    return head(program, "Verilog", notes)


def _answer_notes(readout: Readout, ports: Ports) -> list[str]:
    match readout:
        case Votes():
            classes = (f"{k} is {label!r}" for k, label in enumerate(readout.classes))
            return [
                f"class_number counts from 0: {', '.join(classes)}",
                f"votes holds {ports.vote_bits} signed bits for each class, class 0 in the lowest "
                "bits.",
            ]
        case Score():
            return [f"points is a signed integer. The prediction is {formula(readout)}."]
        case _:
            assert_never(readout)


def _describe(field: Field) -> str:
    if field.storage != "code":
        return field.describe()
    known = ", ".join(f"{code} is {name!r}" for code, name in enumerate(field.column.categories))
    return f"{known}; larger codes are unknown categories"


def _port_lines(ports: Ports) -> list[str]:
    found = ["input wire clk"] if ports.stages else []
    for field in ports.fields:
        found.append(" ".join(f"input wire {_range(field)} {field.name}".split()))
        found.append(f"input wire {field.name}{MISSING}")
    kind = "reg" if ports.stages else "wire"
    for name, bits in ports.outputs.items():
        sign = "signed " if name == "points" else ""
        found.append(f"output {kind} {sign}[{bits - 1}:0] {name}")
    return [f"    {line}," for line in found[:-1]] + [f"    {found[-1]}"]


# -- logic ------------------------------------------------------------------------------------


def _literal_lines(program: Program, ports: Ports) -> Iterator[str]:
    field_of = {field.index: field for field in ports.fields}
    for wire, literal in enumerate(program.logic.literals):
        value = _literal(literal, field_of[literal.column])
        yield f"    wire {program.wire_name(wire)} = {value};"


def _literal(literal: Literal, field: Field) -> str:
    missing = f"{field.name}{MISSING}"
    match literal:
        case Above():
            return _above(field, literal.cutoff, missing)
        case Among():
            bits = port_bits(field)
            tests = [f"{field.name} == {bits}'d{code}" for code in literal.categories]
            return f"~{missing} & ({' || '.join(tests)})"
        case Missing():
            return missing
        case _:
            assert_never(literal)


def _above(field: Field, cutoff: float, missing: str) -> str:
    integer = field.cutoff(cutoff)
    if integer is None:
        return "1'b0"
    if field.storage == "boolean":
        return f"~{missing}" if integer < 0 else f"~{missing} & {field.name}"
    if integer < -(2 ** (field.bits - 1)):
        return f"~{missing}"
    return f"~{missing} & ({field.name} > {constant(integer, field.bits)})"


def _gate_lines(program: Program, pipeline: Pipeline) -> Iterator[str]:
    circuit = program.circuit
    for wire, (gate, a, b) in enumerate(circuit.nodes, start=circuit.n_literals):
        stage = pipeline.stages[wire]
        value = LOGIC.gate(gate, pipeline.at(a, stage), pipeline.at(b, stage))
        yield f"    wire {program.wire_name(wire)} = {value};"


def _vote_lines(program: Program, ports: Ports, pipeline: Pipeline) -> Iterator[str]:
    readout = program.readout
    rules = [pipeline.at(rule.wire, pipeline.last) for rule in readout.rules]
    yield from _sum_lines(program, rules, ports.vote_bits)
    match readout:
        case Votes():
            last = len(readout.classes) - 1
            yield from _winner_lines(ports, last)
            votes = ", ".join(f"v{place}" for place in range(last, -1, -1))
            outputs = {"class_number": f"k{last}", "votes": f"{{{votes}}}"}
        case Score():
            outputs = {"points": "v0"}
        case _:
            assert_never(readout)
    if "rules" in ports.outputs:
        outputs["rules"] = f"{{{', '.join(reversed(rules))}}}" if rules else "1'b0"
    if ports.stages:
        yield from _clocked_lines(outputs.items())
    else:
        yield from (f"    assign {name} = {value};" for name, value in outputs.items())


def _sum_lines(program: Program, rules: list[str], bits: int) -> Iterator[str]:
    """Add up the votes of each class, v0, v1 and so on, or the points, v0."""
    zero = constant(0, bits)
    for place, base in enumerate(program.readout.base_votes):
        terms = [
            f"({wire} ? {constant(rule.votes[place], bits)} : {zero})"
            for wire, rule in zip(rules, program.readout.rules, strict=True)
            if rule.votes[place]
        ]
        total = " + ".join([constant(base, bits), *terms])
        yield f"    wire signed [{bits - 1}:0] v{place} = {total};"


def _winner_lines(ports: Ports, last: int) -> Iterator[str]:
    """Find the best class of the first two, three and so on, and its votes: k1 and b1, k2, b2."""
    class_bits = ports.outputs["class_number"]
    best, number = f"wire signed [{ports.vote_bits - 1}:0]", f"wire [{class_bits - 1}:0]"
    yield f"    {best} b0 = v0;"
    yield f"    {number} k0 = {class_bits}'d0;"
    for place in range(1, last + 1):
        before = place - 1
        # A later class wins only with more votes than the best before it.
        ahead = f"v{place} > b{before}"
        if place < last:
            yield f"    {best} b{place} = {ahead} ? v{place} : b{before};"
        yield f"    {number} k{place} = {ahead} ? {class_bits}'d{place} : k{before};"


def _register_lines(pipeline: Pipeline) -> Iterator[str]:
    for name, _ in pipeline.registers:
        yield f"    reg {name};"
    if pipeline.registers:
        yield from _clocked_lines(pipeline.registers)


def _clocked_lines(values: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Write registers that take their values on the rising edge of the clock."""
    yield "    always @(posedge clk) begin"
    for name, value in values:
        yield f"        {name} <= {value};"
    yield "    end"
