"""Program -> Pipeline: which stage computes each wire, and the registers between stages."""

from __future__ import annotations

from dataclasses import dataclass

from dln.exporters.program import Program


@dataclass(frozen=True)
class Pipeline:
    """The stages of all wires.

    Attributes
    ----------
    program
        The program.
    stages
        The stage that computes each wire, from 0.
    last
        The stage that counts votes.
    registers
        Each register, with the wire or register whose value it takes one clock later.
    """

    program: Program
    stages: tuple[int, ...]
    last: int
    registers: tuple[tuple[str, str], ...]

    def at(self, wire: int, stage: int) -> str:
        """Return the name of a wire's value in a stage."""
        return _name(self.program, wire, stage - self.stages[wire])


def make_pipeline(program: Program, stages: int) -> Pipeline:
    """Distribute the gates by depth over all stages except the last, which counts the votes."""
    circuit = program.circuit
    depth = max(program.depths, default=0) or 1
    spread = max(stages - 1, 1)
    stage_of = tuple(max(level - 1, 0) * spread // depth for level in program.depths)
    last = max(stages - 1, 0)
    if last == 0:
        stage_of = (0,) * circuit.n_wires
    needed = list(stage_of)
    for wire, node in enumerate(circuit.nodes, start=circuit.n_literals):
        for source in node.sources:
            needed[source] = max(needed[source], stage_of[wire])
    for rule in circuit.rules:
        needed[rule.wire] = last
    registers = [
        (_name(program, wire, delay), _name(program, wire, delay - 1))
        for wire in range(circuit.n_wires)
        for delay in range(1, needed[wire] - stage_of[wire] + 1)
    ]
    return Pipeline(program, stage_of, last, tuple(registers))


def _name(program: Program, wire: int, delay: int) -> str:
    name = program.wire_name(wire)
    return f"{name}_{delay}" if delay > 0 else name
