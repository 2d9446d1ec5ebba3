"""Add an option as CONTRIBUTING.md says: two files by hand and what is generated from them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dln._util.option import options_of
from dln.train.options import TrainOptions
from tests.support.tools import find_tool

ROOT = Path(__file__).parents[2]
TABLE = "src/dln/train/options.py"
CONSTRUCTOR = "src/dln/estimators/classifier.py"
HEADER = "src/dln/train/headers/options.h"

CHECK = """
import pytest

import dln
from dln import DLNClassifier, OptionError
from dln.estimators.plan import read_parameters
from dln.search.space import Between, check_space
from dln.train.compiled import RECORD
from dln.train.cuda.gpu import define, include
from dln.train.cuda.layout import PLAN, THREADS, Variant
from dln.train.recipe import make_candidates
from tests.support.option_files import docs_table, header

assert dln.__file__.startswith({root!r})
assert "dropout : float\\n    Fraction of the rules" in DLNClassifier.__doc__
assert "| `dropout` | a number from 0 to 0.9 | `0.25` | Fraction of the rules" in docs_table()
check_space({{"dropout": Between(0.0, 0.9)}})
with pytest.raises(OptionError, match="dropout is 1.0, expected a number from 0 to 0.9"):
    check_space({{"dropout": [1.0]}})
with pytest.raises(OptionError, match="dropout is 2, expected a number from 0 to 0.9"):
    read_parameters(DLNClassifier(dropout=2))
recipe = make_candidates(read_parameters(DLNClassifier(dropout=0.5)), 100, 2, 3).usual
assert recipe.options.dropout == 0.5
assert RECORD["dropout"] == PLAN["dropout"] == "f4"
open({header!r}, "w").write(header())
print(*define(Variant(THREADS[1], 1, 1, 0)), *include())
"""

KERNEL = """
#define __device__
#include "records.h"
float read(const Plan& plan) { return plan.dropout; }
"""
NATIVE = """
#include "trainer.h"
float read(const dln::Job& job) { return job.options.dropout; }
"""


@pytest.fixture(name="tree")
def copied(tmp_path: Path) -> Path:
    """A copy of the sources in which the table and the constructor have one more option."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.so", "build")
    for folder in ("src", "native", "tests/support"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=unwanted)
    text = '        0.25, "Fraction of the rules that a batch leaves out.", low=0.0, high=0.9\n'
    insert(
        tmp_path / TABLE,
        "    grad_factor: float = option(",
        f"    dropout: float = option(\n{text}    )\n",
    )
    constructor = tmp_path / CONSTRUCTOR
    insert(constructor, "        grad_factor: float = 1.0,", "        dropout: float = 0.25,\n")
    insert(
        constructor, "        self.grad_factor = grad_factor", "        self.dropout = dropout\n"
    )
    return tmp_path


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text("utf-8")
    assert source.count(before) == 1
    path.write_text(source.replace(before, text + before), "utf-8")


def test_an_option_needs_its_table_and_the_constructor(tree: Path) -> None:
    # Without `site`, Python does not find the installed dln.
    paths = [tree / "src", tree, *(path for path in sys.path if "site-packages" in path)]
    done = subprocess.run(
        [sys.executable, "-S", "-c", CHECK.format(root=str(tree), header=str(tree / HEADER))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    compiler = find_tool("c++", package="g++")
    native = [
        f"-I{tree / 'native' / 'train'}",
        f"-I{(tree / HEADER).parent}",
        "-DDLN_LEVEL=generic",
    ]
    for source, options in ((KERNEL, done.stdout.split()), (NATIVE, native)):
        (tree / "read.cpp").write_text(source)
        command = [compiler, "-std=c++20", "-fsyntax-only", *options, str(tree / "read.cpp")]
        subprocess.run(command, check=True, timeout=120)


@pytest.mark.parametrize(
    "file",
    [
        "src/dln/_native.pyi",
        "src/dln/estimators/plan.py",
        "src/dln/train/cuda/layout.py",
        "src/dln/train/native.py",
        "native/train/bound.h",
    ],
)
def test_files_that_pass_options_on_do_not_list_them(file: str) -> None:
    words = set(re.findall(r"\w+", (ROOT / file).read_text("utf-8")))
    assert len(words & options_of(TrainOptions).keys()) <= 2


SOURCES = [
    path
    for folder in ("src", "native")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".pyi", ".h", ".cpp", ".cu"}
]
OWN_NAMES = options_of(TrainOptions).keys() - {"epochs", "seed", "tau", "temperature", "pruning"}
"""Options whose names mean nothing else."""

ELSEWHERE = {"batch_size": "src/dln/search/"}
"""Where the name of an option has another meaning: a search has batches of trials."""


@pytest.mark.parametrize("name", sorted(OWN_NAMES))
def test_few_files_name_an_option(name: str) -> None:
    # The table, the two constructors and the header state it. The other files use it: three
    # engines, and what sets it to a value (`python -m benchmarks.counts`).
    named = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if re.search(rf"\b{name}\b", path.read_text("utf-8"))
    }
    found = {path for path in named if not path.startswith(ELSEWHERE.get(name, "nowhere"))}
    assert TABLE in found
    assert len(found) <= 15, sorted(found)
