"""Rows -> a Verilog testbench that prints PASS or FAIL.

Values are first rounded to what the ports can hold. The expected answers are those of the circuit
for the rounded values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from dln.core.readout import Votes
from dln.core.score import Score
from dln.data.codes import MISSING_CODE, encode_cells, places_of
from dln.data.table import RawColumn, Table, read_table
from dln.exporters.fields import Field, meaning_of, signed_range
from dln.exporters.ports import Ports, port_bits
from dln.exporters.program import Program
from dln.exporters.text import comment, fill

_TESTBENCH = """\
`timescale 1ns / 1ps
module @name@_tb;
    reg [@in_top@:0] given [0:@last@];
    reg [@out_top@:0] expected [0:@last@];
    reg [@in_top@:0] now;
    reg clk;
    integer row, failed;
@nets@
    @name@ dut (
@connections@
    );
    wire [@out_top@:0] answer = {@outputs@};

    task check(input integer at);
        begin
            if ($test$plusargs("verbose")) $display("@name@ %0d %b", at, answer);
            if (answer !== expected[at]) begin
                failed = failed + 1;
                $display("@name@: row %0d: FAIL, got %b, expected %b", at, answer, expected[at]);
            end
        end
    endtask

    initial begin
@memory@
        failed = 0;
        clk = 0;
        for (row = 0; row < @n_rows@ + @stages@; row = row + 1) begin
            now = given[row < @n_rows@ ? row : @last@];
            #1;
            if (@stages@ == 0) check(row);
            clk = 1;
            #1;
            clk = 0;
            #1;
            if (@stages@ > 0 && row >= @stages@ - 1 && row - @stages@ + 1 < @n_rows@)
                check(row - @stages@ + 1);
        end
        if (failed == 0) $display("@name@: PASS, @n_rows@ rows");
        else $display("@name@: FAIL, %0d of @n_rows@ rows", failed);
    end
endmodule
"""


def representable(raw: NDArray[np.float64], field: Field) -> tuple[list[int], NDArray[np.float64]]:
    """Round numbers to the integers of a port; return the integers and the numbers they mean.

    Ties go to the even integer, and values out of range become the nearest integer in range. A
    missing number is 0 with its flag set.
    """
    low, high = (0, 1) if field.storage == "boolean" else signed_range(field.bits)
    meaning = meaning_of(field.column, field.fraction_bits)
    integers = []
    for value in raw.tolist():
        if math.isnan(value):
            integers.append(0)
        elif math.isinf(value):
            integers.append(high if value > 0 else low)
        else:
            scaled = value * 1e6 if field.column.kind == "date" else _scaled(value, field)
            integers.append(min(max(round(scaled), low), high))
    stood_for = np.array([meaning(x) for x in integers], dtype=np.float64)
    stood_for[np.isnan(raw)] = np.nan
    return integers, stood_for


def _scaled(value: float, field: Field) -> float:
    try:
        return math.ldexp(value, field.fraction_bits)
    except OverflowError:
        return math.copysign(2.0**1000, value)


def write_testbench(program: Program, ports: Ports, rows: Any) -> str:
    """Write the testbench."""
    table = read_table(rows)
    given, as_read = _encode(program, ports, table)
    expected = _expected(program, ports, as_read, table.n_rows)
    in_bits = max(1, sum(port_bits(x) + 1 for x in ports.fields))
    out_bits = sum(ports.outputs.values())
    nets, connections, at = [], ["        .clk(clk),"] * bool(ports.stages), 0
    for field in ports.fields:
        bits = port_bits(field)
        nets.append(f"    wire [{bits - 1}:0] p_{field.name} = now[{at + bits - 1}:{at}];")
        nets.append(f"    wire m_{field.name} = now[{at + bits}];")
        connections.append(f"        .{field.name}(p_{field.name}),")
        connections.append(f"        .{field.name}_missing(m_{field.name}),")
        at += bits + 1
    outputs = ports.outputs
    nets += [f"    wire [{bits - 1}:0] o_{name};" for name, bits in outputs.items()]
    connections += [f"        .{name}(o_{name})," for name in outputs]
    connections[-1] = connections[-1].rstrip(",")
    memory = [
        f"        given[{row}] = {in_bits}'h{bits:x}; expected[{row}] = {out_bits}'h{answer:x};"
        for row, (bits, answer) in enumerate(zip(given, expected, strict=True))
    ]
    note = [f"Compares the module {program.name} with model {program.model_id} on sample rows."]
    return comment(note, "/*", " * ", " */") + fill(
        _TESTBENCH,
        name=program.name,
        n_rows=table.n_rows,
        last=max(0, table.n_rows - 1),
        stages=ports.stages,
        in_top=in_bits - 1,
        out_top=out_bits - 1,
        nets="\n".join(nets),
        connections="\n".join(connections),
        outputs=", ".join(f"o_{name}" for name in outputs),
        memory="\n".join(memory),
    )


def _encode(program: Program, ports: Ports, table: Table) -> tuple[list[int], Table]:
    """Return the bits of all ports for each row, and the table with the rounded values."""
    circuit = program.circuit
    places = places_of(table, circuit.columns, [field.index for field in ports.fields])
    packed = [0] * table.n_rows
    at = 0
    columns: dict[int, RawColumn] = {}
    for field in ports.fields:
        raw = table.read(places[field.index])
        cells = encode_cells(raw, field.column)
        bits = port_bits(field)
        if field.storage == "code":
            other = len(field.column.categories)
            missing = cells == MISSING_CODE
            integers = [code if code >= 0 else other for code in cells.tolist()]
            columns[field.index] = raw
        else:
            numbers = np.asarray(cells, dtype=np.float64)
            integers, stood_for = representable(numbers, field)
            missing = np.isnan(numbers)
            columns[field.index] = RawColumn(field.column.kind, stood_for)
        for row, value in enumerate(integers):
            packed[row] |= (value % 2**bits) << at | int(missing[row]) << at + bits
        at += bits + 1
    nothing = RawColumn("number", np.full(table.n_rows, np.nan))
    read = Table(
        table.n_rows, len(circuit.columns), None, lambda index: columns.get(index, nothing)
    )
    return packed, read


def _expected(program: Program, ports: Ports, table: Table, n_rows: int) -> list[int]:
    circuit = program.circuit
    evaluation = circuit.evaluate(table, wires=circuit.readout.wires)
    found = {"rules": [_packed(row, 1) for row in evaluation.fired.tolist()]}
    match circuit.readout:
        case Votes():
            found["class_number"] = evaluation.winners.tolist()
            found["votes"] = [_packed(row, ports.vote_bits) for row in evaluation.votes.tolist()]
        case Score():
            found["points"] = evaluation.votes[:, 0].tolist()
        case _:
            assert_never(circuit.readout)
    answers = [0] * n_rows
    for name, bits in ports.outputs.items():
        for row, value in enumerate(found[name]):
            answers[row] = answers[row] << bits | value % 2**bits
    return answers


def _packed(values: Sequence[int], bits: int) -> int:
    """Pack integers into one, the first in the lowest bits."""
    return sum(value % 2**bits << place * bits for place, value in enumerate(values))
