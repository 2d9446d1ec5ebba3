"""Print the oldest supported version of each dependency, as requirements for pip.

Included are the dependencies of the library, its extras for users, and the data frames that tests
use. Left out are onnx, and the extras that need gigabytes or a GPU.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
EXTRAS = PROJECT["optional-dependencies"]
TESTED = ("cli", "plots", "prove", "search", "sympy")
# Later ones warn about what scikit-learn 1.7 and matplotlib 3.9 use.
# DuckDB 1.1 hands over tables in a way that Arrow does not allow; tests use a later one.
WITH_THEM = ("scipy<1.16", "pyparsing<3.3", "duckdb>1.1")
FOR_TESTS = ("pandas", "polars")

if __name__ == "__main__":
    wanted = [*PROJECT["dependencies"], *(each for name in TESTED for each in EXTRAS[name])]
    wanted += [each for each in EXTRAS["test"] if each.partition(">=")[0] in FOR_TESTS]
    for requirement in dict.fromkeys([*wanted, *WITH_THEM]):
        print(requirement.replace(">=", "=="))  # 15 and 15.0.0 are the same version
