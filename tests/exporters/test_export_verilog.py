"""Verilog beyond the conformance suite: testbenches that fail, pipelines, synthesis by yosys."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import dln
from tests.support.export.nasty import Case, fixed_cases
from tests.support.export.run_verilog import run_verilog, simulate, to_ports
from tests.support.tools import find_tool

TRAINED = to_ports(fixed_cases()[-1])


@pytest.mark.parametrize("stages", [1, 2, 5, 40])
def test_a_pipeline_of_any_length_answers_one_row_per_clock(stages: int, tmp_path: Path) -> None:
    cases = [TRAINED, to_ports(fixed_cases()[2])]
    answers = run_verilog(cases, tmp_path, stages=stages)
    assert answers == [case.answers() for case in cases]


@pytest.mark.parametrize("stages", [0, 2])
def test_the_testbench_detects_another_circuit(stages: int, tmp_path: Path) -> None:
    circuit = TRAINED.circuit
    other = replace(circuit, base_votes=(circuit.base_votes[0] + 1, *circuit.base_votes[1:]))
    right = dln.export(circuit, to="verilog", stages=stages, rows=TRAINED.table)
    wrong = dln.export(other, to="verilog", stages=stages)
    (tmp_path / "bench.v").write_bytes(right.files["model_tb.v"])
    for export, verdict in ((right, "PASS"), (wrong, "FAIL")):
        (tmp_path / "model.v").write_bytes(export.data)
        said = simulate([tmp_path / "model.v", tmp_path / "bench.v"], tmp_path)
        assert f"model: {verdict}, " in said


def test_the_netlist_of_yosys_answers_like_the_circuit(tmp_path: Path) -> None:
    export = dln.export(TRAINED.circuit, to="verilog", explain=True, rows=TRAINED.table)
    export.save(tmp_path / "model.v")
    cells, depth = synthesise(tmp_path / "model.v", tmp_path / "netlist.v")
    assert cells > 0
    assert 0 < depth < cells
    said = simulate([tmp_path / "netlist.v", tmp_path / "model_tb.v"], tmp_path)
    assert f"model: PASS, {len(TRAINED.rows)} rows" in said


def test_numbers_are_rounded_to_the_ports_before_they_are_compared(tmp_path: Path) -> None:
    case = fixed_cases()[0]
    (answers,) = run_verilog([Case(case.circuit, case.rows)], tmp_path)
    assert answers == to_ports(case).answers()


def synthesise(source: Path, netlist: Path) -> tuple[int, int]:
    """Return the number of cells (AND, OR, XOR, multiplexers, inverters) and the longest path."""
    yosys = find_tool("yosys", package="yosys")
    steps = f"read_verilog {source}; synth -flatten -top model; ltp -noff; stat; "
    steps += f"write_verilog -noattr {netlist}"
    done = subprocess.run([yosys, "-p", steps], capture_output=True, text=True, check=True)
    cells = int(re.findall(r"Number of cells:\s+(\d+)", done.stdout)[-1])
    depth = int(re.findall(r"Longest topological path in \w+ \(length=(\d+)\)", done.stdout)[-1])
    return cells, depth
