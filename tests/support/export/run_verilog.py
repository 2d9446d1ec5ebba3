"""Simulate exported Verilog with Icarus, with the exported testbenches."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dln
from dln.exporters.fields import make_fields
from dln.exporters.program import make_program
from dln.exporters.testbench import representable
from tests.support.export.nasty import Answers, Case
from tests.support.tools import find_tool

INTEGER_BITS, FRACTION_BITS = 32, 16


def run_combinational(cases: Sequence[Case], folder: Path) -> list[Answers]:
    return run_verilog(cases, folder)


def run_pipelined(cases: Sequence[Case], folder: Path) -> list[Answers]:
    return run_verilog(cases, folder, stages=3)


def to_ports(case: Case) -> Case:
    """Round numbers and integers to what the ports hold."""
    circuit = case.circuit
    fields = make_fields(make_program(circuit, "model"), INTEGER_BITS, FRACTION_BITS)
    rows = [list(row) for row in case.rows]
    for field in fields:
        if field.column.kind in ("number", "integer"):
            cells = [row[field.index] for row in rows]
            raw = np.array([np.nan if cell is None else float(cell) for cell in cells])
            _, numbers = representable(raw, field)
            for row, number in zip(rows, numbers.tolist(), strict=True):
                row[field.index] = None if number != number else number
    return Case(circuit, rows)


def run_verilog(cases: Sequence[Case], folder: Path, **options: Any) -> list[Answers]:
    """Simulate all modules in one run; each testbench must print PASS."""
    for number, case in enumerate(cases):
        name = f"model{number}"
        export = dln.export(
            case.circuit, to="verilog", name=name, rows=case.table, explain=True, **options
        )
        export.save(folder / f"{name}.v")
    files = sorted(folder.glob("*.v"))
    said = simulate(files, folder, "+verbose")
    lines: dict[str, list[str]] = {}
    for found in re.finditer(r"^(model\d+) \d+ ([01x]+)$", said, re.MULTILINE):
        lines.setdefault(found[1], []).append(found[2])
    answers = []
    for number, case in enumerate(cases):
        assert f"model{number}: PASS, {len(case.rows)} rows" in said
        answers.append(_read(lines[f"model{number}"], case))
    return answers


def simulate(files: Sequence[Path], folder: Path, *arguments: str) -> str:
    """Compile with warnings and run."""
    iverilog = find_tool("iverilog", package="iverilog")
    vvp = find_tool("vvp", package="iverilog")
    program = folder / "simulation"
    command = [iverilog, "-g2001", "-Wall", "-Wno-timescale", "-o", str(program), *map(str, files)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 0, built.stderr[:2000]
    assert not built.stderr, built.stderr[:2000]
    done = subprocess.run(
        [vvp, "-n", str(program), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def _read(lines: Sequence[str], case: Case) -> Answers:
    """Unpack the index of the class, the votes or points, and the rules, from bits of each row."""
    readout = case.circuit.readout
    n_rules, n_votes = max(1, len(readout.rules)), readout.n_outputs
    class_bits = 0 if case.predicts_number else max(1, (n_votes - 1).bit_length())
    winners, votes, fired = [], [], []
    for bits in lines:
        vote_bits = (len(bits) - n_rules - class_bits) // n_votes
        if class_bits:
            winners.append(int(bits[:class_bits], 2))
        packed = bits[class_bits : len(bits) - n_rules]
        counts = [packed[at : at + vote_bits] for at in range(0, len(packed), vote_bits)]
        votes.append([_signed(count) for count in reversed(counts)])
        fired.append([rule for rule, bit in enumerate(reversed(bits[-n_rules:])) if bit == "1"])
    return Answers(winners, votes, fired)


def _signed(bits: str) -> int:
    return int(bits, 2) - (2 ** len(bits) if bits[0] == "1" else 0)
