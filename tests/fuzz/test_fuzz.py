"""A short, deterministic run of every fuzzer; `make fuzz` runs them for minutes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from .__main__ import FUZZERS, run_round

ROUNDS = {
    "predictors": 12,
    "files": 12,
    "equality": 15,
    "monotone": 10,
    "changes": 15,
    "change-options": 15,
    "reasons": 6,
    "native-program": 60,
    "native-training": 60,
    # tests/search/test_search_resume.py kills searches at chosen moments.
    "killed-searches": 0,
}


def test_every_fuzzer_has_a_short_version() -> None:
    assert list(ROUNDS) == list(FUZZERS)


@pytest.mark.parametrize("name", [name for name, rounds in ROUNDS.items() if rounds])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_is_found(name: str) -> None:
    assert sum(run_round(name, 0, number) for number in range(ROUNDS[name])) > 0


def test_the_reader_is_independent() -> None:
    """It imports nothing but the standard library."""
    tree = ast.parse((Path(__file__).parent / "reader.py").read_text("utf-8"))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add((node.module or "").split(".")[0])
    assert imported <= sys.stdlib_module_names
