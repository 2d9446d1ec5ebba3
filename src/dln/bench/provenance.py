"""Where a result comes from: version, commit and processor."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

from dln.cores import count_cores

_IN_REPOSITORY = "src/dln/bench/provenance.py"
"""This module, as the repository of dln tracks it."""


@cache
def provenance() -> dict[str, str | int]:
    """Name what made a result; asked once, while the sources are those that were loaded."""
    return {
        "version": version("dln"),
        "commit": commit_of(Path(__file__)),
        "processor": _processor(),
        "cores": count_cores(),
    }


def commit_of(module: Path) -> str:
    """Name the commit of this module's sources; a + marks changes.

    Nothing is said outside the repository of dln, such as where it is installed into a folder of
    another one.
    """
    git = ["git", "-C", str(module.parent)]
    if _output([*git, "ls-files", "--full-name", "--", module.name]) != _IN_REPOSITORY:
        return ""
    name = _output([*git, "rev-parse", "--short", "HEAD"])
    return name + ("+" if _output([*git, "status", "--porcelain", "--", ".."]) else "")


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:  # there is no git here
        return ""


def _processor() -> str:
    """Name the processor as Linux does, or as Python does elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
