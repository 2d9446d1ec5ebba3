"""Program -> Layout: gates in chunks over a small array of words.

Compilers take more than linear time for long functions, and some refuse them. Gates are therefore
written as functions of a few hundred gates. Values that a later chunk reads are stored in an array.
A slot of the array is reused after the last reader of its wire.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dln.core.literals import Literal
from dln.exporters.dialect import Dialect
from dln.exporters.program import Program

CHUNK = 300
"""The most literals or gates in one function."""


Chunks = tuple[Sequence[int], ...]
"""Gates by number, in the order in which they are computed."""


@dataclass(frozen=True)
class Layout:
    """Where wires are stored.

    Attributes
    ----------
    chunks
        The gates of each chunk.
    slots
        The index in the array of each stored wire: literals, and gates that another chunk or a rule
        reads.
    n_slots
        The length of the array.
    """

    chunks: Chunks
    slots: dict[int, int]
    n_slots: int

    def rule_slots(self, program: Program) -> list[int]:
        """Return the slot of each rule, after the last chunk."""
        return [self.slots[rule.wire] for rule in program.readout.rules]


def in_order(program: Program, size: int = CHUNK) -> Chunks:
    """Split the gates into chunks of one size, in the order of the circuit."""
    n_gates = program.logic.n_gates
    return tuple(range(at, min(at + size, n_gates)) for at in range(0, n_gates, size))


def literal_chunks(program: Program) -> Iterator[list[tuple[int, Literal]]]:
    """Split the literals into chunks, each literal with its wire."""
    numbered = list(enumerate(program.logic.literals))
    return (numbered[at : at + CHUNK] for at in range(0, len(numbered), CHUNK))


def by_depth(program: Program) -> Chunks:
    """Put gates of the same depth into one chunk. No gate reads another of its chunk."""
    found: dict[int, list[int]] = {}
    n_literals = program.logic.n_literals
    for gate, depth in enumerate(program.depths[n_literals:]):
        found.setdefault(depth, []).append(gate)
    return tuple(found[depth] for depth in sorted(found))


def make_layout(program: Program, chunks: Chunks) -> Layout:
    """Assign the slots."""
    n_literals = program.logic.n_literals
    last_read = _last_chunk_that_reads(program, chunks)
    slots = {wire: wire for wire in range(n_literals)}
    n_slots = n_literals
    free: list[int] = []
    leaving: list[list[int]] = [[] for _ in range(len(chunks) + 1)]
    for wire in range(n_literals):
        leaving[last_read[wire]].append(wire)
    for index, gates in enumerate(chunks):
        for gate in gates:
            wire = n_literals + gate
            if last_read[wire] <= index:
                continue
            if free:
                slots[wire] = heapq.heappop(free)
            else:
                slots[wire] = n_slots
                n_slots += 1
            leaving[last_read[wire]].append(wire)
        # Only now, because later gates of the same chunk may still read the slot.
        for wire in leaving[index]:
            heapq.heappush(free, slots[wire])
    return Layout(chunks, slots, n_slots)


def _last_chunk_that_reads(program: Program, chunks: Chunks) -> list[int]:
    """Return for each wire the last chunk that reads it. Rules read after all chunks."""
    circuit = program.circuit
    last = [0] * circuit.n_wires
    for index, gates in enumerate(chunks):
        for gate in gates:
            _, a, b = circuit.nodes[gate]
            last[a] = max(last[a], index)
            last[b] = max(last[b], index)
    for rule in circuit.rules:
        last[rule.wire] = len(chunks)
    return last


@dataclass(frozen=True)
class Lines:
    """How a language writes the statements of a chunk.

    Attributes
    ----------
    local
        Declares a local value: `{name}` and `{value}`.
    load, store
        Read and write the array: `{slot}`, and `{value}`.
    """

    local: str
    load: str
    store: str


def chunk_lines(
    program: Program, layout: Layout, chunk: Sequence[int], dialect: Dialect, lines: Lines
) -> list[str]:
    """Write the gates of a chunk, and store the values that later chunks read."""
    circuit = program.circuit
    own = {circuit.n_literals + gate for gate in chunk}

    def source(wire: int) -> str:
        if wire in own:
            return program.wire_name(wire)
        return lines.load.format(slot=layout.slots[wire])

    written = []
    for number in chunk:
        gate, a, b = circuit.nodes[number]
        wire = circuit.n_literals + number
        value = dialect.gate(gate, source(a), source(b))
        name = program.wire_name(wire)
        written.append(lines.local.format(name=name, value=value))
        if wire in layout.slots:
            written.append(lines.store.format(slot=layout.slots[wire], value=name))
    return written
