"""The provenance of a result: version, commit and processor."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

from dln import __version__

_IN_REPOSITORY = "reproduction/run/provenance.py"
"""Path of this module in the dln repository."""

_SOURCES = (":/src", ":/native", ":(top,glob)reproduction/**/*.py")
"""What results depend on, as git names it."""


def count_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def provenance() -> dict[str, str | int]:
    """Return version, commit and processor; cached, so that later edits do not matter."""
    return {
        "version": __version__,
        "commit": commit_of(Path(__file__)),
        "processor": _processor(),
        "cores": count_cores(),
    }


def commit_of(module: Path) -> str:
    """Return the commit of this module's sources; "+" marks uncommitted changes.

    Return None outside the dln repository, for example if dln is installed inside another one.
    """
    git = ["git", "-C", str(module.parent)]
    if _output([*git, "ls-files", "--full-name", "--", module.name]) != _IN_REPOSITORY:
        return ""
    name = _output([*git, "rev-parse", "--short", "HEAD"])
    return name + ("+" if _output([*git, "status", "--porcelain", "--", *_SOURCES]) else "")


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:  # git is not installed
        return ""


def _processor() -> str:
    """Return the name of the processor, from Linux or else from Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
