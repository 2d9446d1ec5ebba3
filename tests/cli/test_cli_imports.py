"""Commands import large packages only if they need them, so that they start fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dln

PROGRAM = """
import sys
from dln.cli import main
status = main(sys.argv[1:])
large = {"matplotlib", "optuna", "pandas", "scipy", "sklearn", "torch"} & set(sys.modules)
print(status, *sorted(large), file=sys.stderr)
"""
CIRCUIT = dln.Circuit(
    (dln.Column("age", "integer"), dln.Column("ward", "category", ("north", "south"))),
    (dln.Above(0, 54.0), dln.Among(1, (1,))),
    (),
    (dln.Rule(0, (0, 1)), dln.Rule(1, (0, 1))),
    (1, 0),
    ("well", "ill"),
)
# pyarrow itself imports pandas, if it is installed, as soon as it converts a value.
READ_A_TABLE = {
    "predict": ["model.json", "table.csv", "--output", "-"],
    "explain": ["model.json", "table.csv", "--row", "1"],
    "evaluate": ["model.json", "table.csv", "--target", "state"],
}
READ_NO_TABLE = {
    "--help": [],
    "train": ["--help"],
    "search": ["--help"],
    "rules": ["model.json"],
    "export": ["model.json", "--to", "c"],
    "cost": ["model.json"],
}


@pytest.mark.parametrize("command", [*READ_A_TABLE, *READ_NO_TABLE])
def test_a_command_imports_only_what_it_needs(command: str, tmp_path: Path) -> None:
    CIRCUIT.save(tmp_path / "model.json")
    (tmp_path / "table.csv").write_text("age,ward,state\n60,south,ill\n30,north,well\n")
    arguments = READ_A_TABLE.get(command) or READ_NO_TABLE[command]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, command, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    status, *imported = done.stderr.splitlines()[-1].split()
    assert status == "0", done.stderr
    assert set(imported) <= ({"pandas"} if command in READ_A_TABLE else set())
