"""What the README shows is what the command prints."""

from __future__ import annotations

from pathlib import Path

from dln.cli.demo import train_demo

README = Path(__file__).parent.parent / "README.md"


def test_the_readme_shows_the_two_commands_that_do_everything() -> None:
    commands = [line.partition("#")[0].strip() for line in README.read_text("utf-8").splitlines()]
    assert {"make demo", "make test"} <= set(commands)


def test_the_readme_shows_what_the_demo_prints() -> None:
    # Training gives the same bits on every machine, so this holds everywhere.
    text = README.read_text("utf-8")
    shown = text.split("$ make demo\n")[1].split("```")[0]
    assert train_demo().text().strip() == shown.strip()
