"""The conda recipe says what pyproject.toml says. `make conda` builds it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")


def section(name: str) -> set[str]:
    """Return the list below a name of the recipe."""
    (lines,) = re.findall(rf"^  {name}:\n((?:    - .*\n)+)", RECIPE, re.M)
    return {line.removeprefix("    - ").replace(" ", "") for line in lines.splitlines()}


def test_the_version_is_that_of_the_project() -> None:
    assert f'version: "{PROJECT["project"]["version"]}"' in RECIPE


def test_the_package_requires_what_the_wheel_requires() -> None:
    python = "python" + PROJECT["project"]["requires-python"]
    assert section("run") == {python, *PROJECT["project"]["dependencies"]}


def test_the_build_requires_what_the_wheel_requires() -> None:
    assert section("host") == {"python", "pip", *PROJECT["build-system"]["requires"]}
