"""What the source files define, and what their docstrings and comments say."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGES = (".py", ".h", ".cpp", ".cu", ".js", ".jinja")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\{#.*?#\}", re.DOTALL)


def find_files(*folders: str, suffixes: tuple[str, ...] = LANGUAGES) -> list[Path]:
    """List the files below folders of the repository."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.*"))]
    return [path for path in found if path.suffix in suffixes and path.is_file()]


SOURCES = find_files("src", "native", "benchmarks", "reproduction")
PYTHON = [path for path in SOURCES if path.suffix == ".py"]


@cache
def read(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def walk(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(read(path))))


@cache
def split_remarks(path: Path) -> tuple[str, str]:
    """Return the docstrings and comments of a source file, and its code without them."""
    if path.suffix != ".py":
        text = read(path)
        return "\n".join(COMMENT.findall(text)), COMMENT.sub("", text)
    lines = {node.lineno for node in walk(path) if is_docstring(node)}
    said, code = [], []
    for token in tokenize.generate_tokens(io.StringIO(read(path)).readline):
        docstring = token.type == tokenize.STRING and token.start[0] in lines
        kind = said if docstring or token.type == tokenize.COMMENT else code
        kind.append(token.string)
    return "\n".join(said), " ".join(code)


def is_docstring(node: ast.AST) -> bool:
    """Tell whether a statement is a string: a docstring, or the description of a constant."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


@cache
def words(path: Path) -> frozenset[str]:
    """Return the words of a file's code."""
    return frozenset(re.findall(r"\w+", split_remarks(path)[1]))


def defined(node: ast.AST) -> Iterator[str]:
    """List what a statement, an import or a parameter defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name


@cache
def definitions() -> frozenset[str]:
    """Return what the Python files define, the structs of C++, and the names of all modules."""
    names = {name for path in PYTHON for node in walk(path) for name in defined(node)}
    names.update(*(re.findall(r"(?:struct|class) (\w+)", read(path)) for path in SOURCES))
    return frozenset(names.union(*({path.stem, path.parent.name} for path in SOURCES)))


@cache
def members() -> dict[str, set[str]]:
    """Return what each Python class or function defines: attributes, methods, parameters."""
    own: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for path in PYTHON:
        for node in walk(path):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                own[node.name] |= {name for inner in ast.walk(node) for name in defined(inner)}
            if isinstance(node, ast.ClassDef):
                bases[node.name] |= {base.id for base in node.bases if isinstance(base, ast.Name)}
    for _ in range(4):  # longer than any chain of bases
        for name, above in bases.items():
            own[name].update(*(own[base] for base in above if base in own))
    return own
