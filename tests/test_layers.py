"""Imports point one way: a module imports only from its own layer and from layers below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dln

PACKAGE = Path(dln.__file__).parent
LAYERS = (
    "errors",
    "_util",
    "core",
    "language",
    "data",
    "evaluate",
    "decisions",
    "encode",
    "train",
    "prove",
    "costs",
    "shrink",
    "explain",
    "paths",
    "draw",
    "exporters",
    "edits",
    "report",
    "estimators",
    "search",
    "integrations",
    "cli",
)
"""From the lowest to the highest."""

FACADE = {
    "core/circuit.py": {"evaluate", "explain", "language", "prove"},
    "core/parts.py": {"explain"},
}
"""What methods of a circuit import when they are called: users write `circuit.predict(X)`."""


def imported(tree: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """List the modules of dln that a module imports, and whether only a function or mypy does."""
    for node in ast.iter_child_nodes(tree):
        later = inside or isinstance(node, ast.FunctionDef)
        later = later or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dln":
            assert node.module is not None
            names = [node.module] if "." in node.module else [f"dln.{a.name}" for a in node.names]
            yield from ((name, later) for name in names)
        yield from imported(node, later)


MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE and path.relative_to(PACKAGE).parts[0] in LAYERS
]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    own = LAYERS.index(name.split("/")[0])
    for module, later in imported(ast.parse(path.read_text("utf-8"))):
        layer = module.split(".")[1]
        if layer not in LAYERS or (later and layer in FACADE.get(name, ())):
            continue  # a public name or the native extension; or a method of the facade
        assert LAYERS.index(layer) <= own, f"{name} imports {module}, a higher layer"


def test_every_folder_is_a_layer() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders | {"errors"} == set(LAYERS)


@pytest.mark.parametrize("name", sorted(set(dln.__all__)))
def test_no_public_name_hides_a_module(name: str) -> None:
    assert not (PACKAGE / name).exists()
    assert not (PACKAGE / f"{name}.py").exists()
