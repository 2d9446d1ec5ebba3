"""Names in the docs, docstrings and comments resolve: files, modules, classes, options."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from dln.errors import ExtraMissingError
from tests.support.sources import (
    LANGUAGES,
    ROOT,
    SOURCES,
    definitions,
    find_files,
    members,
    read,
    split_remarks,
    words,
)

PAGES = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]  # it names what is gone
TEXTS = {path: read(path) for path in sorted([*PAGES, *ROOT.glob("docs/**/*.md")])}
"""The docs."""

SETTINGS = {path: read(path) for path in (ROOT / "Makefile", ROOT / "pyproject.toml")}

REMARKS = {path: split_remarks(path)[0] for path in [*SOURCES, *find_files("tests")]}
"""The docstrings and comments of source files."""

FOLDERS = ("src", "native", "tests", "benchmarks", "reproduction", "docs")
FILES = [
    f"/{path.relative_to(ROOT).as_posix()}"
    for path in find_files(*FOLDERS, suffixes=(*LANGUAGES, ".md", ".csv"))
]

OBJECTS = {
    "circuit": "Circuit",
    "circuit_": "Circuit",
    "curve": "PruneCurve",
    "model": "DLNClassifier",
    "origin": "Origin",
    "reason": "Reason",
    "share": "Share",
    "table": "RuleTable",
}
"""The class of each variable that examples use."""

LIBRARIES = {
    *("figure", "Figure", "manifest", "matplotlib", "mlflow", "nn", "np", "optuna", "pandas", "pd"),
    *("pyarrow", "pytest", "skl2onnx", "sklearn", "torch", "warnings"),
}
"""Their attributes belong to other projects."""

FOREIGN = {
    *("ARROW_DEFAULT_MEMORY_POOL", "cake_lpr"),
    *("CalibratedClassifierCV", "ENUM", "FixedThresholdClassifier", "RAY_ADDRESS", "String"),
    *("DoubleTensorType", "ModelInfo", "TunedThresholdClassifierCV"),
    *("partial_dependence", "permutation_importance"),
    *(
        "astimezone",
        "datetime64",
        "joblib",
        "us",
        "mapInPandas",
        "map_partitions",
        "pickle",
        "read_csv",
        "rustc",
        "set_column",
    ),
    *("set_output", "simplify_logic"),
    *("COLUMN_missing", "Grosse_cm", "NAME_code_COLUMN", "g12", "predict_batch"),
    *("DLN_DATA", "ablation_ranks", "excel"),
}
"""Names of other projects, of programs that `dln export` writes, of settings and data."""

EXAMPLE = re.compile(r"(heart|wine|model|risk|x2024_risk|stdio|age|Age|smoker)(_\w+)?(\.\w+)?")
"""Names of files, columns and functions of examples."""


def located(path: Path, names: Iterator[str]) -> dict[str, list[str]]:
    """Return the names under the path of the file that has them; empty if there are none."""
    found = sorted(set(names))
    return {path.relative_to(ROOT).as_posix(): found} if found else {}


# -- files and modules ------------------------------------------------------------------------


def missing_paths(text: str) -> Iterator[str]:
    """List the paths that a text names and the repository does not have."""
    below = re.findall(rf"(?<![\w/.~])(?:{'|'.join(FOLDERS)})/[\w/.-]*\w", text)
    named = re.findall(r"(?<![\w/.:-])[\w/]+\.(?:py|h|cpp|cu|js)\b(?!-)", text)
    for name in chain(below, named):
        if not EXAMPLE.fullmatch(name.rpartition("/")[2]) and not path_exists(name):
            yield name


def path_exists(name: str) -> bool:
    """Tell whether this is a path of the repository, or the end of the path of a file."""
    return (ROOT / name).exists() or any(file.endswith(f"/{name}") for file in FILES)


def missing_symbols(text: str) -> Iterator[str]:
    """List the names below `dln` that a text uses and that do not exist."""
    for name in re.findall(r"(?<![\w./\"-])dln(?:\.(?!jsonl?\b)[A-Za-z_]\w*)+", text):
        if not symbol_exists(name):
            yield name
    for module, names in re.findall(r"from (dln[\w.]*) import (\w+(?:, \w+)*)", text):
        yield from (name for name in names.split(", ") if not symbol_exists(f"{module}.{name}"))


def symbol_exists(name: str) -> bool:
    """Tell whether a dotted name is a module, or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    try:
        return bool(importlib.import_module(name))
    except ModuleNotFoundError:
        return bool(module) and symbol_exists(module) and has(module, attribute)


def has(name: str, attribute: str) -> bool:
    """Tell whether a module or a class has an attribute."""
    try:
        return hasattr(importlib.import_module(name), attribute)
    except ModuleNotFoundError:
        return attribute in members().get(name.rpartition(".")[2], ())
    except ExtraMissingError:  # the attribute is made only if its extra is installed
        return attribute in definitions()


@pytest.mark.parametrize("texts", [TEXTS, REMARKS, SETTINGS], ids=["docs", "sources", "settings"])
def test_files_and_symbols_exist(texts: dict[Path, str]) -> None:
    unknown: dict[str, list[str]] = {}
    for path, text in texts.items():
        unknown |= located(path, chain(missing_paths(text), missing_symbols(text)))
    assert unknown == {}


# -- code spans -------------------------------------------------------------------------------


def spans(text: str) -> Iterator[ast.expr]:
    """List the code spans that are names, attributes or calls; `a=1` is an argument of a call."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for span in re.findall(r"`([^`]+)`", re.sub(r"\s*\n[\s#/]*", " ", prose)):
        argument = re.match(r"\w+=[^=]", span)
        try:
            code = ast.parse(f"call({span})" if argument else span.strip(), mode="eval").body
        except SyntaxError:
            continue
        if span.isascii() and isinstance(code, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            yield code


def unknown_names(text: str, code: frozenset[str]) -> Iterator[str]:
    """List the code spans of a text with a name that is neither in this code nor defined."""
    for span in spans(text):
        if not all(resolves(node, code) for node in walk_without_variables(span)):
            yield ast.unparse(span)


def walk_without_variables(node: ast.AST) -> Iterator[ast.AST]:
    """List the nodes of an expression, but no plain names among the arguments of a call."""
    yield node
    for child in ast.iter_child_nodes(node):
        argument = isinstance(node, ast.keyword) or (
            isinstance(node, ast.Call) and child in node.args
        )
        if not (argument and isinstance(child, ast.Name)):
            yield from walk_without_variables(child)


def resolves(node: ast.AST, code: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name):
            known = code | definitions() | FOREIGN | LIBRARIES | set(dir(builtins)) | {"call"}
            return name in known or EXAMPLE.fullmatch(name) is not None
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return owner == "dln" or owner in LIBRARIES or attribute_resolves(owner, name, code)
        case ast.Attribute(attr=name):
            return name in definitions() or ast.unparse(node).split(".")[0] in LIBRARIES
        case ast.Call(func=function, keywords=keywords):
            name = ast.unparse(function).rpartition(".")[2]
            known = members().get(name, definitions() | code)
            return name in FOREIGN | LIBRARIES or all(word.arg in known for word in keywords)
    return True


def attribute_resolves(owner: str, name: str, code: frozenset[str]) -> bool:
    """Tell whether `owner.name` is a file, a module, a member of a class, or in the code itself."""
    dotted = f"{owner}.{name}"
    if EXAMPLE.fullmatch(dotted) or path_exists(dotted) or path_exists(f"{owner}/{name}.py"):
        return True
    kind = OBJECTS.get(owner, owner)
    return name in members()[kind] if kind in members() else {owner, name} <= code


def test_names_in_the_docs_are_in_the_code() -> None:
    code = frozenset(re.findall(r"def (test_\w+)", "".join(map(read, find_files("tests")))))
    code = code.union(*map(words, SOURCES))
    unknown: dict[str, list[str]] = {}
    for path, text in TEXTS.items():
        unknown |= located(path, chain(unknown_names(text, code), unknown_members(text)))
    assert unknown == {}


def unknown_members(text: str) -> Iterator[str]:
    """List the members of C++ classes that a text names and no native file defines."""
    native = "".join(read(path) for path in find_files("native", "src/dln/train/cuda"))
    for name in re.findall(r"`(\w+::\w+)", text):
        if f"{name}(" not in native:
            yield name


def test_names_in_docstrings_and_comments_are_in_the_code() -> None:
    unknown: dict[str, list[str]] = {}
    for path in SOURCES:
        unknown |= located(path, unknown_names(REMARKS[path], words(path)))
    assert unknown == {}


def test_what_is_gone_is_found() -> None:
    text = (
        "`Circuit.nothing` `dln.nothing` `src/dln/nothing.py` `DLNClassifier(nothing=1)` `nothing_`"
    )
    assert [*missing_paths(text)] == ["src/dln/nothing.py", "src/dln/nothing.py"]
    assert [*missing_symbols(text)] == ["dln.nothing"]
    assert len([*unknown_names(text, frozenset())]) == 3
