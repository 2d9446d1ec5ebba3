"""Write a circuit for another language or machine."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from typing import Literal as OneOf

from dln.core.circuit import Circuit, check_is_circuit
from dln.errors import OptionError
from dln.exporters.c import export_c
from dln.exporters.databases import DATABASES
from dln.exporters.java import export_java
from dln.exporters.javascript import export_javascript
from dln.exporters.names import check_name
from dln.exporters.onnx import export_onnx
from dln.exporters.pmml import export_pmml
from dln.exporters.program import make_program
from dln.exporters.python import export_python
from dln.exporters.result import Export
from dln.exporters.rust import export_rust
from dln.exporters.sql import write_sql
from dln.exporters.verilog import export_verilog
from dln.exporters.widths import cutoff_notes

TargetName = OneOf[
    "c",
    "verilog",
    "onnx",
    "python",
    "javascript",
    "rust",
    "java",
    "sqlite",
    "duckdb",
    "postgresql",
    "mysql",
    "spark",
    "bigquery",
    "snowflake",
    "tsql",
    "pmml",
]


@dataclass(frozen=True)
class Target:
    """A target: a description, and the function that writes it.

    `write` takes the program and, by keyword, the options of this target. With `fixed_name`, a
    file only compiles under its name in `Export.files`.
    """

    what: str
    write: Callable[..., Export]
    fixed_name: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options."""
        return tuple(inspect.signature(self.write).parameters)[1:]


TARGETS: dict[TargetName, Target] = {
    "c": Target("C99, one header", export_c),
    "verilog": Target("Verilog, combinational or pipelined", export_verilog),
    "onnx": Target("ONNX, standard operators only", export_onnx),
    "python": Target("Python, standard library only", export_python),
    "javascript": Target("JavaScript, an ES module", export_javascript),
    "rust": Target("Rust, a module", export_rust),
    "java": Target("Java, a class", export_java, fixed_name=True),
    "sqlite": Target("SQL for SQLite", write_sql("sqlite")),
    "duckdb": Target("SQL for DuckDB", write_sql("duckdb")),
    "postgresql": Target("SQL for PostgreSQL", write_sql("postgresql")),
    "mysql": Target("SQL for MySQL and MariaDB", write_sql("mysql")),
    "spark": Target("SQL for Spark and Databricks", write_sql("spark")),
    "bigquery": Target("SQL for BigQuery", write_sql("bigquery")),
    "snowflake": Target("SQL for Snowflake", write_sql("snowflake")),
    "tsql": Target("SQL for SQL Server", write_sql("tsql")),
    "pmml": Target("PMML 4.4, a rule set or a regression", export_pmml),
}
"""A target in this table is documented, offered on the command line and tested."""


_SQL = ("sql", "mariadb", "postgres", "databricks", "mssql", "sqlserver", "redshift", "oracle")
"""What users may ask for who want SQL."""


def hint_of_database(to: str) -> str:
    """Return a hint for a target that is SQL, but no database of `TARGETS`."""
    return f"; for SQL, choose a database: {', '.join(DATABASES)}" if to in _SQL else ""


def export(circuit: Circuit, to: TargetName, *, name: str = "model", **options: Any) -> Export:
    """Write a circuit for another language, database or machine.

    The export predicts the same class or number as the circuit for every row, including rows with
    missing values, unknown categories, infinities, ties and integers beyond 2**53. Probabilities
    are the same too, in every target except Verilog. A number is the same float64 with the identity
    link; with a log or logit link, the points are the same and the prediction differs by at most 4
    units in the last place. Verilog returns the points. `docs/guides/export.md` describes how each
    target expects its input. The circuit is not simplified: call `simplify` first if size matters.

    Parameters
    ----------
    to
        "c", "verilog", "onnx", "python", "javascript", "rust", "java", "sqlite", "duckdb",
        "postgresql", "mysql", "spark", "bigquery", "snowflake", "tsql" or "pmml".
    name
        The name of the module, of the class, or the prefix of the functions: an identifier.
    options
        c: `integer_bits` (8, 16, 32 or 64), `fraction_bits` (numbers in fixed point), `word_bits`
        (32 or 64). verilog: `integer_bits`, `fraction_bits`, `stages` (of a pipeline), `explain`,
        `rows` (a table, for a testbench). onnx: `explain`. The targets for databases: `table` (to
        read), `view` (to create), `explain`, `proba`. pmml: `explain`. With `explain`, the export
        also returns the rules that fired, with `proba` also probabilities of classes. The other
        targets always have functions for this.

    Returns
    -------
    Export
        Its `notes` list tests that always have the same result because integers are too narrow.

    Raises
    ------
    OptionError
        If the target or an option is unknown, or the target cannot express the circuit, for
        example because a database does not allow the name of a column.
    ExtraMissingError
        If a required library is not installed. The message names the extra to install.

    Examples
    --------
    >>> from dln import Above, Column, Rule
    >>> circuit = Circuit(
    ...     (Column("age", "integer"),), (Above(0, 54.0),), (), (Rule(0, (0, 1)),),
    ...     (0, 0), ("healthy", "ill"),
    ... )
    >>> code = export(circuit, to="python")
    >>> print(code.text[:66])
    # A classifier in Python, made by dln from model 304dbd142a762c9e.
    """
    check_is_circuit(circuit, "export")
    if to not in TARGETS:
        names = ", ".join(map(repr, TARGETS))
        raise OptionError(f"to is {to!r}, expected one of {names}{hint_of_database(to)}")
    target = TARGETS[to]
    for option in options:
        if option not in target.options:
            known = ", ".join(target.options) or "none"
            raise OptionError(f"{to} has no option {option!r}; its options are: {known}")
    program = make_program(circuit, check_name(name))
    written = target.write(program, **options)
    return replace(written, notes=tuple(cutoff_notes(program, target.write, options)))
