"""The gates of a program in C: statements for small circuits, a table for large ones.

Statements keep wires in registers, but compilers take a third of a millisecond for each. Circuits
of more than 2,000 gates are a table instead: gates of one depth and kind follow each other, each
with the slots that it writes and reads, and one loop runs all gates of a kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from dln.core.gates import GATE_BY_NAME, Gate
from dln.core.parts import Node
from dln.exporters.dialect import C_LIKE
from dln.exporters.layout import Layout, Lines, by_depth, chunk_lines, in_order, make_layout
from dln.exporters.program import Program

MOST_STATEMENTS = 2000
"""The most gates that are written as statements."""


@dataclass(frozen=True)
class Gates:
    """Functions and tables, and the statements that run them on the array `w`."""

    tables: tuple[str, ...]
    statements: tuple[str, ...]


def write_gates(program: Program, most_statements: int = MOST_STATEMENTS) -> tuple[Layout, Gates]:
    """Write the gates, and return where the wires are stored."""
    if program.logic.n_gates > most_statements:
        layout = make_layout(program, by_depth(program))
        return layout, _write_table(program, layout)
    layout = make_layout(program, in_order(program))
    return layout, _write_statements(program, layout)


def _write_statements(program: Program, layout: Layout) -> Gates:
    p = program.name
    dialect = replace(C_LIKE, never=f"({p}_word)0", always=f"~({p}_word)0")
    lines = Lines(
        local=f"    const {p}_word {{name}} = {{value}};",
        load="w[{slot}]",
        store="    w[{slot}] = {value};",
    )
    functions = []
    for number, chunk in enumerate(layout.chunks):
        body = "\n".join(chunk_lines(program, layout, chunk, dialect, lines))
        functions.append(f"static void {p}_gates{number}({p}_word *w)\n{{\n{body}\n}}\n\n")
    calls = tuple(f"{p}_gates{number}(w);" for number in range(len(functions)))
    return Gates(tuple(functions), calls)


# -- tables -----------------------------------------------------------------------------------


def _write_table(program: Program, layout: Layout) -> Gates:
    p = program.name
    runs = [
        (gate, [slots for _, slots in run])
        for chunk in layout.chunks
        for gate, run in groupby(
            sorted(_entries(program, layout, chunk), key=lambda entry: entry[0].code),
            key=lambda entry: entry[0],
        )
    ]
    kind = "uint16_t" if layout.n_slots <= 2**16 else "uint32_t"
    rows = [f"{{{out}, {a}, {b}}}" for _, entries in runs for out, a, b in entries]
    listed = ",\n    ".join(", ".join(rows[at : at + 8]) for at in range(0, len(rows), 8))
    codes = ", ".join(str(gate.code) for gate, _ in runs)
    sizes = ", ".join(str(len(entries)) for _, entries in runs)
    tables = (
        "/* For each gate: the slot that it writes and the two that it reads. Gates of one kind\n"
        " * follow each other; run_gates holds the kind of each run, run_sizes its length. */\n",
        f"static const {kind} {p}_net[][3] = {{\n    {listed}\n}};\n",
        f"static const uint8_t {p}_run_gates[] = {{{codes}}};\n",
        f"static const int32_t {p}_run_sizes[] = {{{sizes}}};\n\n",
    )
    cases = [
        f"        case {gate.code}: for (; g < end; g++) w[(*g)[0]] = "
        f"{C_LIKE.gate(gate, 'w[(*g)[1]]', 'w[(*g)[2]]')}; break;"
        for gate in sorted({gate for gate, _ in runs}, key=lambda gate: gate.code)
    ]
    statements = (
        f"const {kind} (*g)[3] = {p}_net;",
        "int r;",
        f"for (r = 0; r < {len(runs)}; r++) {{",
        f"    const {kind} (*const end)[3] = g + {p}_run_sizes[r];",
        f"    switch ({p}_run_gates[r]) {{",
        *cases,
        "    }",
        "}",
    )
    return Gates(tables, statements)


def _entries(
    program: Program, layout: Layout, chunk: Sequence[int]
) -> Iterator[tuple[Gate, tuple[int, int, int]]]:
    circuit, slots = program.circuit, layout.slots
    for number in chunk:
        gate, a, b = _with_both_inputs(circuit.nodes[number])
        yield gate, (slots[circuit.n_literals + number], slots[a], slots[b])


def _with_both_inputs(node: Node) -> Node:
    """Rewrite a gate so that it reads both inputs and never inverts only the first one.

    This leaves fewer kinds of gates, and so fewer loops in the C code.
    """
    gate, a, b = node
    if not (gate.reads_a and gate.reads_b):
        read = b if gate.reads_b else a
        # A constant or a single input: a gate with the same result if it reads that input twice.
        names = {(0, 1): "AND", (1, 0): "NOR", (0, 0): "A_AND_NOT_B", (1, 1): "A_OR_NOT_B"}
        name = names[gate.table[0], gate.table[3]]
        return Node(GATE_BY_NAME[name], read, read)
    if gate.form.negate_a and not gate.form.negate_b:
        return Node(gate.swap(), b, a)
    return node
