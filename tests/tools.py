"""The programs that tests run: found by name, and told by name where one is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest


def find_tool(name: str, *, package: str, folders: Sequence[str | Path] = ()) -> str:
    """Give the path of a program, looked for on the PATH and then in more folders.

    Where it is missing the test is skipped, with the name of the program and of the Debian
    package that brings it; where the environment variable CI is "true" the test fails instead.
    """
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders)))
    return found or lacking(f"{name} is not installed (Debian: apt-get install {package})")


def find_module(name: str, *, package: str | None = None) -> None:
    """Skip or fail in the same way where a Python package is missing."""
    try:
        __import__(name)
    except ImportError:
        lacking(f"{name} is not installed (PyPI: pip install {package or name})")


def lacking(reason: str) -> NoReturn:
    """Skip the test for want of something; fail where CI promises to have it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, but CI expects it")
    pytest.skip(reason)
