"""Licences of what users install: every requirement of every extra, and what these require."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.dependencies import (
    EXTRAS,
    OURS,
    PROJECT,
    licence_texts,
    licences_of,
    packages_of,
    required,
)

INSTALL = Path(__file__).parents[1] / "docs" / "install.md"
COPYLEFT = re.compile(
    # Libraries of GCC may be linked to anything.
    r"GPL(?![\w.-]* WITH GCC-exception)|General Public License|copyleft|SSPL|EUPL|CC-BY-SA",
    re.I,
)
NOT_TESTED = {"cuda"}  # NVIDIA's libraries are not installed for tests
# Programs and drivers that only tests run, and a part of Sphinx.
COPYLEFT_OF_DEVELOPERS = {"docutils", "jpmml-evaluator", "psycopg", "psycopg-binary"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_nothing_that_users_install_is_copyleft(extra: str) -> None:
    unknown, refused = [], {}
    for name, found in required(EXTRAS[extra]).items():
        if found is None:
            assert extra in NOT_TESTED or name.startswith(("nvidia", "cuda", "triton")), name
            continue
        said = licence_texts(found)
        if any(COPYLEFT.search(text) for text in said):
            refused[name] = said
        elif not licences_of(found):
            unknown.append((name, said))
    assert (refused, unknown) == ({}, [])


@pytest.mark.parametrize("extra", sorted(OURS))
def test_what_developers_install_has_few_copyleft_packages(extra: str) -> None:
    found = required(PROJECT["optional-dependencies"][extra])
    refused = {
        name
        for name, package in found.items()
        if package and any(COPYLEFT.search(text) for text in licence_texts(package))
    }
    assert refused <= COPYLEFT_OF_DEVELOPERS


def test_every_extra_is_for_users_or_for_developers() -> None:
    assert set(EXTRAS) | OURS == {"", *PROJECT["optional-dependencies"]}
    assert not set(EXTRAS) & OURS


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - NOT_TESTED))
def test_the_docs_name_the_licences_of_every_extra(extra: str) -> None:
    row = f"`{extra}`" if extra else "the library"
    (line,) = re.findall(rf"^\| {row} \|.*\| (.*) \|$", INSTALL.read_text("utf-8"), re.M)
    packages = packages_of(extra)
    assert packages
    found = set().union(*map(licences_of, packages.values()))
    assert found <= set(line.split(", "))


def test_copyleft_is_recognised() -> None:
    for text in ("GPL-2.0-or-later", "AGPL-3.0", "LGPL-2.1", "GNU General Public License (GPL)"):
        assert COPYLEFT.search(text)
    assert not COPYLEFT.search("BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1")
