"""Kinds of literals: each is stated once, and code that treats them differently knows all."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import Phase, find, settings

from dln.core.literals import Literal, LiteralKind
from tests.support.strategies import circuits, law

ROOT = Path(__file__).parent.parent.parent
KINDS = {kind.__name__ for kind in get_args(Literal)}
SOURCES = [
    path for path in (ROOT / "src/dln").rglob("*.py") if "literals import" in path.read_text()
]

FOURTH = """
@dataclass(frozen=True)
class Fourth:
    column: int
    kind: ClassVar = LiteralKind.FOURTH
    cutoffs: ClassVar[tuple[float, ...]] = ()
    categories: ClassVar[tuple[int, ...]] = ()
    true_if_missing: ClassVar = False

    def describe(self, columns: tuple[Column, ...], *, negated: bool = False) -> str:
        return "fourth"

"""
"""A kind of literal that dln does not have."""


def test_every_kind_has_the_number_of_its_name() -> None:
    assert {kind.kind.name: kind.__name__.upper() for kind in get_args(Literal)} == {
        kind.name: kind.name for kind in LiteralKind
    }


def test_native_code_and_cuda_number_the_kinds_alike() -> None:
    header = (ROOT / "src/dln/train/headers/literal_kinds.h").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)[,\s]", header)}
    assert numbers == {kind.name.lower(): kind.value for kind in LiteralKind}
    assert re.findall(r"kLiteralKinds = (\d+);", header) == [str(len(LiteralKind))]


@pytest.mark.parametrize("kind", get_args(Literal), ids=lambda kind: kind.__name__)
def test_random_circuits_have_every_kind(kind: type) -> None:
    any_one = settings(law, phases=[Phase.generate])
    find(circuits(), lambda circuit: kind in map(type, circuit.literals), settings=any_one)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_choice_between_kinds_is_a_match_of_all(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            assert not KINDS & _names(node.args[1]), f"line {node.lineno}: use match"
        if isinstance(node, ast.Match) and any(
            KINDS & _names(case.pattern) or "LiteralKind" in _names(case.pattern)
            for case in node.cases
        ):
            (last,) = node.cases[-1].body
            assert ast.unparse(last) == f"assert_never({ast.unparse(node.subject)})"


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def test_mypy_lists_the_files_that_a_new_kind_must_be_added_to(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("_native*.so"))
    path = tmp_path / "src/dln/core/literals.py"
    text = path.read_text()
    text = text.replace("    MISSING = 2\n", "    MISSING = 2\n    FOURTH = 3\n")
    text = text.replace("\nLiteral = ", FOURTH + "\nLiteral = Fourth | ")
    path.write_text(text)
    # Only the files that import literals are checked. This takes seconds, not a minute.
    checked = ["src/dln/core/literals.py", *(str(path.relative_to(ROOT)) for path in SOURCES)]
    options = ["--config-file=", "--follow-imports=skip", "--cache-dir=/dev/null"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *checked],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    found = re.findall(r'^(\S+\.py):\d+: error: .*"assert_never"', done.stdout, re.M)
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text.split("To add a kind of literal")[1].split("\n\n")[1]
    listed = set(re.findall(r"`(src/dln/\S+\.py)`", table))
    assert sorted(set(found)) == sorted(listed - {"src/dln/core/literals.py"})
