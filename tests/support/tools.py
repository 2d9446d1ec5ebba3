"""Find the programs that tests run, and name those that are missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest


def find_tool(name: str, *, package: str, folders: Sequence[str | Path] = ()) -> str:
    """Return the path of a program, from the PATH or further folders.

    If it is missing the test is skipped, with the names of the program and its Debian package. If
    the environment variable CI is "true", the test fails instead.
    """
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, folders)))
    return found or skip_or_fail(f"{name} is not installed (Debian: apt-get install {package})")


def find_module(name: str, *, package: str | None = None) -> None:
    """Skip or fail in the same way if a Python package is missing."""
    try:
        __import__(name)
    except ImportError:
        skip_or_fail(f"{name} is not installed (PyPI: pip install {package or name})")


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test because something is missing; fail in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, but CI expects it")
    pytest.skip(reason)
