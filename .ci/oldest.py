"""Print the oldest supported version of each dependency, as constraints for pip."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
EXTRAS = PROJECT["optional-dependencies"]
TESTED = ("numpy", "scikit-learn", "narwhals", "jinja2", "pandas", "polars", "pyarrow")

if __name__ == "__main__":
    for requirement in dict.fromkeys([*PROJECT["dependencies"], *EXTRAS["cli"], *EXTRAS["test"]]):
        name, _, bound = requirement.partition(">=")
        if name in TESTED:
            print(f"{name}=={bound}")  # 15 and 15.0.0 are the same version
