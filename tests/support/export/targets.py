"""The tools that run the exported code, for each target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.export.nasty import Answers, Case
from tests.support.export.run_c import run_clang, run_gcc
from tests.support.export.run_compiled import run_java, run_rustc
from tests.support.export.run_onnx import run_onnxruntime
from tests.support.export.run_pmml import run_jpmml, run_pmml4s
from tests.support.export.run_scripts import run_node, run_python
from tests.support.export.run_sql import (
    run_duckdb,
    run_mariadb,
    run_postgresql,
    run_spark,
    run_sqlite,
    run_translated,
    without_infinities,
    without_nul,
)
from tests.support.export.run_verilog import run_combinational, run_pipelined, to_ports

Runner = Callable[[Sequence[Case], Path], list[Answers]]


@dataclass(frozen=True)
class Tools:
    """The tools that execute a target.

    `fit` adapts a case to the values that the target can read. Slow tools run only every `every`-th
    random circuit, and no circuit of more than `most_gates` gates.
    """

    runners: tuple[Runner, ...]
    fit: Callable[[Case], Case] = lambda case: case
    every: int = 1
    most_gates: int = 10_000


TOOLS: dict[str, Tools] = {
    "c": Tools((run_gcc, run_clang), every=2),
    "verilog": Tools((run_combinational, run_pipelined), fit=to_ports),
    "onnx": Tools((run_onnxruntime,)),
    "python": Tools((run_python,)),
    "javascript": Tools((run_node,)),
    "rust": Tools((run_rustc,), every=2),
    "java": Tools((run_java,), every=3),
    "sqlite": Tools((run_sqlite,)),
    "duckdb": Tools((run_duckdb,)),
    "postgresql": Tools((run_postgresql,), fit=without_nul),
    "mysql": Tools((run_mariadb,), fit=without_infinities),
    "spark": Tools((run_spark,), every=12, most_gates=50),
    # These are services or have licences. Their SQL runs as sqlglot translates it.
    "bigquery": Tools((run_translated("bigquery", "bigquery"),), every=4, most_gates=50),
    "snowflake": Tools((run_translated("snowflake", "snowflake"),), every=4, most_gates=50),
    "tsql": Tools((run_translated("tsql", "tsql"),), without_infinities, every=4, most_gates=50),
    "pmml": Tools((run_pmml4s, run_jpmml), every=2),
}
"""The tools of each target that `dln.export` supports."""
