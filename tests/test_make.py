"""What the targets of the Makefile install."""

import subprocess
from pathlib import Path

from tests.support.tools import find_tool

ROOT = Path(__file__).parents[1]


def commands_of(target: str, folder: Path) -> str:
    """List the commands that a target runs in a new clone, without running them."""
    make = find_tool("make", package="make")
    arguments = [make, "--dry-run", target, f"VENV={folder / 'venv'}"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_demo_installs_only_the_command(tmp_path: Path) -> None:
    commands = commands_of("demo", tmp_path)
    assert commands.count("pip install") == 2
    assert '".[cli]"' in commands
    assert "torch" not in commands
    assert '".[dev]"' not in commands


def test_tests_install_the_rest_on_top(tmp_path: Path) -> None:
    commands = commands_of("check", tmp_path)
    assert commands.index('".[cli]"') < commands.index("torch==") < commands.index('".[dev]"')
