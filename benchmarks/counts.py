"""Count what the design should keep small: lines, files, places that repeat a fact, wrong imports.

    python -m benchmarks.counts                 # the working tree
    python -m benchmarks.counts a07c385 HEAD    # two commits, side by side

For a repeated fact, this counts the files in which its pattern occurs; the patterns are below. The
experiment of the paper is left out: in version 0.1 it was part of the package, in the folders bench
and datasets. Only the standard library is needed.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

Tree = dict[str, str]
"""The text of each tracked file; empty for a file that is not source code."""

SOURCE = re.compile(r"(?:src|native)/.*\.(?:py|pyi|h|cpp|cu)")
EXPERIMENT = re.compile(r"src/dln/(?:bench|datasets)/")

OPTIONS = {
    "batch_size": "batch_size",
    "concatenation": "concatenation",
    "eval_every": "eval_every",
    "final_rate": "final_rate",
    "freezing": "freezing",
    "gate_gradient": "gate_gradient|mixture_gradient",
    "grad_factor": "grad_factor",
    "keep_best": "keep_best",
    "learning_rate": r"learning_rate|(?:options_?|plan|o)\.rate|(?:float|double) rate|rate: float",
    "pruning": "pruning",
    "relaxation": "relaxation",
    "tau": "tau",
    "threshold_rate": "threshold_rate",
    "trace_every": "trace_every",
    "vote_density": "vote_density",
    "vote_threshold": "vote_threshold|vote_limit",
}
"""Training options, with all spellings that mean nothing else."""

FACTS = {
    "the AND/OR/XOR form of a gate": r"(?:sum|bit in enumerate)\((?:\w+\.)*table\)|table\.index\(",
    "the numbers of literal kinds": r"[Aa]bove(?: = |: )0|enum class LiteralKind|ABOVE, \w+, \w+ =",
    "literal kinds by isinstance": r"isinstance\(.*\b(?:Above|Among|Missing)\b",
    "a vote is on": r"vote_logits? >=|>= \w+[.>-]+(?:vote_)?limit|std::log\(threshold",
    "a file is written atomically": r"os\.replace\(|unfinished\.replace\(",
    "balanced accuracy": r"(?:def|double) _?balanced_accuracy\b|balanced_accuracy_score\(",
    "the next value above a cutoff": r"nextafter\([\w.]+, (?:math\.)?inf",
    "the loss": r"\bcross_entropy\(|log1pf?\((?:others|row_loss)",
    "a share as a percentage": r"\{100 \* [^}]*f\} ?%|:\.\d%\}",
}
"""What each fact looks like in code."""

LAYERS = (
    *("errors", "_util", "core", "data", "evaluate", "encode", "train", "prove", "costs", "shrink"),
    *("explain", "draw", "exporters", "report", "estimators", "search", "cli"),
)
"""The layers of tests/test_layers.py, from the lowest to the highest."""

OLDER = {
    **dict.fromkeys(["builder", "checks", "circuit", "conditions", "decimals", "gates"], "core"),
    **dict.fromkeys(["labels", "literals", "origin", "parts", "store", "cells"], "core"),
    **dict.fromkeys(["table", "target", "codes"], "data"),
    **dict.fromkeys(["cores", "progress", "whole", "wording"], "_util"),
    **dict.fromkeys(["predict", "ranking", "scores"], "evaluate"),
    **dict.fromkeys(["simplify", "prune"], "shrink"),
    **dict.fromkeys(["estimator", "manners", "planning"], "estimators"),
    "cost": "costs",
    "export": "exporters",
}
"""The layer in which each module or folder of version 0.1 is now."""


def read_tree(commit: str) -> Tree:
    """Read the tracked files of a commit, or of the working tree if it is "."."""
    if commit == ".":
        names = _git("ls-files", "-z").decode().split("\0")[:-1]
        paths = [Path(name) for name in names if Path(name).is_file()]
        return {str(path): _decode(str(path), path.read_bytes()) for path in paths}
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", commit))) as archive:
        members = [member for member in archive if member.isfile()]
        return {m.name: _decode(m.name, archive.extractfile(m).read()) for m in members}  # type: ignore[union-attr]


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], check=True, capture_output=True).stdout


def _decode(name: str, data: bytes) -> str:
    return data.decode() if SOURCE.fullmatch(name) else ""


def count(tree: Tree) -> Iterator[tuple[str, int]]:
    """Yield the name and the value of each count."""
    code = {name: text for name, text in tree.items() if text and not EXPERIMENT.match(name)}
    python = {name: text for name, text in code.items() if name.endswith(".py")}
    every = sum(_lines(text) for name, text in tree.items() if name.endswith(".py"))
    yield "tracked files", len(tree)
    yield "lines of Python in src/", every
    yield "  without the experiment", sum(map(_lines, python.values()))
    yield (
        "lines of C++ and CUDA",
        sum(map(_lines, code.values())) - sum(map(_lines, python.values())),
    )
    yield "modules in the root of the package", sum(map(_is_root_module, python))
    wrong = [found for item in python.items() for found in _wrong_imports(*item)]
    yield "imports against the layers, at import", wrong.count(False)
    yield "imports against the layers, in methods or types", wrong.count(True)
    for option, pattern in OPTIONS.items():
        yield f"files that name {option}", _files(code, rf"\b(?:{pattern})\b")
    for fact, pattern in FACTS.items():
        yield f"files that state {fact}", _files(code, pattern)


def _lines(text: str) -> int:
    return text.count("\n")


def _is_root_module(name: str) -> bool:
    return re.fullmatch(r"src/dln/(?!__)\w+\.py", name) is not None


def _files(code: Tree, pattern: str) -> int:
    return sum(re.search(pattern, text) is not None for text in code.values())


def _wrong_imports(name: str, text: str) -> Iterator[bool]:
    """List the imports of a higher layer; true for those that only a method or mypy makes."""
    own = _layer(name.removeprefix("src/dln/").split("/")[0].removesuffix(".py"))
    for module, later in sorted(set(_imports(ast.parse(text), later=False))):
        layer = _layer(module.split(".")[1])
        if own is not None and layer is not None and layer > own:
            yield later


def _imports(tree: ast.AST, *, later: bool) -> Iterator[tuple[str, bool]]:
    for node in ast.iter_child_nodes(tree):
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        inside = later or typing or isinstance(node, ast.FunctionDef)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dln":
            whole = node.module == "dln"
            modules = [f"dln.{alias.name}" for alias in node.names] if whole else [node.module]
            yield from ((str(module), inside) for module in modules)
        yield from _imports(node, later=inside)


def _layer(unit: str) -> int | None:
    """Return the number of the layer of a folder or root module; None if it has none."""
    unit = OLDER.get(unit, unit)
    return LAYERS.index(unit) if unit in LAYERS else None


def main() -> None:
    """Print one column for each commit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commits", nargs="*", default=["."], help="commits; . is the working tree")
    commits = parser.parse_args().commits
    columns = [dict(count(read_tree(commit))) for commit in commits]
    print(f"{'':52}", *(f"{commit[:12]:>12}" for commit in commits))
    for name in columns[0]:
        print(f"{name:52}", *(f"{column[name]:12,}" for column in columns))


if __name__ == "__main__":
    main()
