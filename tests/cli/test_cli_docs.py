"""docs/reference/cli.md shows the help of every command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dln.cli import main
from dln.cli.app import app

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]
BLOCK = "### dln {command}\n\n```text\n{help}\n```\n"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def help_of(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == 0
    text = ANSI.sub("", capsys.readouterr().out)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


@pytest.fixture(scope="module", autouse=True)
def _write_docs() -> None:
    """Remove the help texts from the docs if DLN_WRITE_DOCS is set; the tests write them again."""
    if os.environ.get("DLN_WRITE_DOCS"):
        text = DOCS.read_text("utf-8")
        DOCS.write_text(text[: text.find("\n### dln ")].rstrip() + "\n", "utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_docs_show_the_help_of_each_command(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    block = BLOCK.format(command=command, help=help_of(command, capsys, monkeypatch))
    if os.environ.get("DLN_WRITE_DOCS"):
        with DOCS.open("a", encoding="utf-8") as docs:
            docs.write("\n" + block)
    assert block in DOCS.read_text("utf-8"), "DLN_WRITE_DOCS=1 pytest tests/cli/test_cli_docs.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_has_an_example(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"Example: dln {command}" in help_of(command, capsys, monkeypatch)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_quiet_and_its_help_fits_the_terminal(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = help_of(command, capsys, monkeypatch)
    assert "-q, --quiet" in text
    assert "<bool>" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_list_of_commands_is_not_truncated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    listed = capsys.readouterr().out.partition("Commands:")[2]
    assert "..." not in listed


def test_docs_show_only_commands_that_exist() -> None:
    assert re.findall(r"^### dln (\w+)$", DOCS.read_text("utf-8"), re.MULTILINE) == COMMANDS


def test_the_shell_completes_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_DLN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "dln pr")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.split() == ["predict", "prune", "prove"]


def test_importing_dln_does_not_import_the_command_line() -> None:
    code = "import sys, dln; print({'typer', 'dln.cli'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
