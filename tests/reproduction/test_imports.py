"""The reproduction and the benchmarks use dln as any user does: through its public names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dln

ROOT = Path(__file__).parents[2]
PUBLIC = {*dln.__all__, "__version__"}
PACKAGES = {"dln.draw", "dln.report", "dln.search"}
"""Public packages besides dln itself."""
# These measure one part of dln, build circuits by hand, or train a network that is not a DLN.
INTERNAL = {
    "benchmarks/builds.py",
    "benchmarks/certificates.py",
    "benchmarks/engines.py",
    "benchmarks/forests.py",
    "benchmarks/gpu_floors.py",
    "benchmarks/path_effort.py",
    "benchmarks/train_speed.py",
    "reproduction/models/gate_network.py",
    "reproduction/run/refits.py",
}
FILES = sorted(
    str(path.relative_to(ROOT))
    for folder in ("benchmarks", "reproduction")
    for path in (ROOT / folder).rglob("*.py")
)


def internals(source: str) -> set[str]:
    """Return what a module reads of dln that is not public."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dln":
            names = {alias.name for alias in node.names}
            found |= names - PUBLIC if node.module == "dln" else {node.module or ""}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("dln.")}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.attr} - PUBLIC if node.value.id == "dln" else set()
    return found - PACKAGES


def test_the_walk_finds_every_way_to_an_internal() -> None:
    assert internals("from dln import Circuit, cost\nimport dln\ndln.DLNClassifier()") == set()
    assert internals("from dln.data.table import read_table") == {"dln.data.table"}
    assert internals("from dln import cores") == {"cores"}
    assert internals("import dln._util.cores") == {"dln._util.cores"}
    assert internals("import dln\ndln.cores.count_cores()") == {"cores"}


@pytest.mark.parametrize("file", FILES)
def test_only_public_names_are_used(file: str) -> None:
    found = internals((ROOT / file).read_text("utf-8"))
    assert bool(found) == (file in INTERNAL), found


@pytest.mark.parametrize("file", FILES)
def test_modules_are_imported_by_their_full_name(file: str) -> None:
    # `python -m benchmarks.engines` finds benchmarks.train_speed, but not train_speed.
    stems = {Path(other).stem for other in FILES}
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        assert not (isinstance(node, ast.ImportFrom) and node.module in stems), node.lineno
