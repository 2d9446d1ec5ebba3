"""Licences of what users install: every requirement of every extra, and what these require."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
# For working on dln itself.
OURS = {"bench", "dev", "docs", "reproduction", "test", "test-autogluon", "test-spark"}
EXTRAS = {"": PROJECT["dependencies"]} | {
    name: requirements
    for name, requirements in PROJECT["optional-dependencies"].items()
    if name not in OURS
}
COPYLEFT = re.compile(
    # Libraries of GCC may be linked to anything.
    r"GPL(?![\w.-]* WITH GCC-exception)|General Public License|copyleft|SSPL|EUPL|CC-BY-SA",
    re.I,
)
PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Mozilla|HPND|Unlicense|0BSD|CC0|NVIDIA"
)
NOT_TESTED = {"cuda"}  # NVIDIA's libraries are not installed for tests


def texts(found: Distribution) -> Iterator[str]:
    """List what the metadata of a package says about its licence."""
    metadata = found.metadata
    yield metadata.get("License-Expression") or ""
    yield (metadata.get("License") or "").partition("\n")[0]
    for classifier in metadata.get_all("Classifier") or []:
        if classifier.startswith("License ::"):
            yield classifier.rpartition(":: ")[2]


def required(requirements: list[str]) -> dict[str, Distribution | None]:
    """Return the packages that these requirements install, directly or not; None if missing."""
    found: dict[str, Distribution | None] = {}
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        marked = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
        )
        if not marked or name in found:
            continue
        try:
            found[name] = own = distribution(name)
            waiting += [Requirement(each) for each in own.requires or []]
        except PackageNotFoundError:
            found[name] = None
    return found


@pytest.mark.parametrize("extra", EXTRAS)
def test_nothing_that_users_install_is_copyleft(extra: str) -> None:
    unknown, refused = {}, {}
    for name, found in required(EXTRAS[extra]).items():
        if found is None:
            assert extra in NOT_TESTED or name.startswith(("nvidia", "cuda", "triton")), name
            continue
        said = [text for text in texts(found) if text]
        if any(COPYLEFT.search(text) for text in said):
            refused[name] = said
        elif not any(PERMISSIVE.search(text) for text in said):
            unknown[name] = said
    assert (refused, unknown) == ({}, {})


def test_copyleft_is_recognised() -> None:
    for text in ("GPL-2.0-or-later", "AGPL-3.0", "LGPL-2.1", "GNU General Public License (GPL)"):
        assert COPYLEFT.search(text)
    assert not COPYLEFT.search("BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1")
